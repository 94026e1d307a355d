import type { LoadProgress, V1 } from '../../src/index.js'
import { HostPort } from './host-port.js'
import { holdLock } from './locks.js'
import {
  ALONE,
  type Broadcast,
  type FromWorker,
  hostLock,
  isName,
  type PageToWorker,
  unwrap,
  wrap,
} from './messages.js'
import { tellLoads } from './progress.js'
import type { HostScope } from './scope.js'

/** Longer than a browser takes that grants locks. */
const LOCK_MS = 1000

interface Running {
  readonly services: V1[]
  /** Settles once this worker runs the engine. */
  readonly hosting: Promise<void>
  tellLoad(progress: LoadProgress): void
}

let running: Running | undefined

/**
 * Answers for all tabs, in a worker that `install` started: once this worker is the one that holds the lock. Or for its
 * page alone, where that has no service worker.
 */
export function host(v1: V1, scope: HostScope, preload?: string): void {
  // The engine has started this script once more, as one of its threads.
  if (scope.name.endsWith(' thread')) return
  running ??= scope.name === ALONE ? startAlone(scope) : start(scope)
  running.services.push(v1)
  tellLoads(v1, running.tellLoad)
  // Whoever asks for it hears what went wrong.
  if (preload !== undefined) void running.hosting.then(() => v1.load(preload)).catch(() => {})
}

function start(scope: HostScope): Running {
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
    const message = unwrap<PageToWorker>(data)
    if (message?.type === 'link' && ports[0]) new HostPort(ports[0], name, services)
    if (message?.type === 'take-over') void takeOver(name, line, tell)
  })
  const hosting = new Promise<void>((resolve) => {
    void beHost(name, { signal: line.signal }, (message) => {
      if (message.type === 'host') resolve()
      tell(message)
    })
  })
  // Asked behind the request for the lock: from here on the service worker sees it too.
  void navigator.locks.query().then(() => tell({ type: 'ready', basePath: services[0]!.basePath }))
  const channel = new BroadcastChannel(name)
  const tellLoad = (progress: LoadProgress) => channel.postMessage(wrap<Broadcast>({ type: 'progress', progress }))
  return { services, hosting, tellLoad }
}

/** Neither locks nor channels are needed: where storage is blocked, both are. */
function startAlone(scope: HostScope): Running {
  const services: V1[] = []
  const tell = (message: FromWorker) => scope.postMessage(wrap(message))
  scope.addEventListener('message', ({ data, ports }) => {
    if (unwrap<PageToWorker>(data)?.type === 'link' && ports[0]) new HostPort(ports[0], ALONE, services)
  })
  const host = crypto.randomUUID()
  void isHeld(hostLock(ALONE, host)).then((held) => {
    tell({ type: 'host', host, held })
    tell({ type: 'ready', basePath: services[0]!.basePath })
  })
  const hosting = Promise.resolve()
  return { services, hosting, tellLoad: (progress) => tell({ type: 'progress', progress }) }
}

/** In some frames no answer comes at all. */
function isHeld(lock: string): Promise<boolean> {
  return Promise.race([
    holdLock(lock).then(
      () => true,
      () => false,
    ),
    new Promise<boolean>((resolve) => setTimeout(resolve, LOCK_MS, false)),
  ])
}

/** Holds the lock until this worker ends, or until another takes it. */
async function beHost(name: string, options: LockOptions, tell: (message: FromWorker) => void): Promise<void> {
  let began = false
  try {
    await navigator.locks.request(name, options, async () => {
      began = true
      const host = crypto.randomUUID()
      await holdLock(hostLock(name, host))
      tell({ type: 'host', host, held: true })
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
