import type { V1 } from '../../src/index.js'
import { HostPort } from './host-port.js'
import { holdLock } from './locks.js'
import { type FromWorker, hostLock, isName, type ToWorker, unwrap, wrap } from './messages.js'
import { broadcastLoads } from './progress.js'
import type { HostScope } from './scope.js'

let running: { readonly services: V1[]; readonly channel: BroadcastChannel } | undefined

/** Answers for all tabs, in a worker that `install` started: once this worker is the one that holds the lock. */
export function host(v1: V1, scope: HostScope): void {
  // The engine has started this script once more, as one of its threads.
  if (scope.name.endsWith(' thread')) return
  running ??= start(scope)
  running.services.push(v1)
  broadcastLoads(v1, running.channel)
}

function start(scope: HostScope) {
  const { name } = scope
  if (!isName(name)) {
    throw new TypeError(
      'serviceWorker: a worker with this script is started by install() of the same version of local-v1, in a page.',
    )
  }
  const services: V1[] = []
  const tell = (message: FromWorker) => scope.postMessage(wrap(message))
  const line = new AbortController()
  scope.addEventListener('message', ({ data, ports }) => {
    const message = unwrap<ToWorker>(data)
    if (message?.type === 'link' && ports[0]) new HostPort(ports[0], name, services)
    if (message?.type === 'take-over') void takeOver(name, line, tell)
  })
  void beHost(name, { signal: line.signal }, tell)
  // Asked behind the request for the lock: from here on the service worker sees it too.
  void navigator.locks.query().then(() => tell({ type: 'ready', basePath: services[0]!.basePath }))
  return { services, channel: new BroadcastChannel(name) }
}

/** Holds the lock until this worker ends, or until another takes it. */
async function beHost(name: string, options: LockOptions, tell: (message: FromWorker) => void): Promise<void> {
  let began = false
  try {
    await navigator.locks.request(name, options, async () => {
      began = true
      const host = crypto.randomUUID()
      await holdLock(hostLock(name, host))
      tell({ type: 'host', host })
      await new Promise(() => {})
    })
  } catch (error) {
    if (began) tell({ type: 'lost' })
    else if (!options.signal?.aborted) throw error
  }
}

/** The host holds its lock and says nothing: it is frozen, with its page. One of those that wait takes its place. */
async function takeOver(name: string, line: AbortController, tell: (message: FromWorker) => void): Promise<void> {
  await navigator.locks.request(`${name} take-over`, { ifAvailable: true }, async (lock) => {
    if (!lock || line.signal.aborted) return
    line.abort()
    await new Promise<void>((resolve) => {
      void beHost(name, { steal: true }, (message) => {
        resolve()
        tell(message)
      })
    })
  })
}
