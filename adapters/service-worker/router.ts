import { atItsEnd } from './at-its-end.js'
import { HostFinder } from './host-finder.js'
import { requestOf } from './host-port.js'
import { passedRequest, sendToHost } from './host-request.js'
import { sayWho } from './identity.js'
import {
  type Broadcast,
  type FromPage,
  type Introduction,
  type PassedRequest,
  scopeName,
  unwrap,
  wrap,
} from './messages.js'
import { OwnService } from './own-service.js'
import type { Routed } from './pages-alone.js'
import { patiently, wantsStream } from './patience.js'
import { tellLoads } from './progress.js'
import type { FetchEvent, WorkerScope } from './scope.js'

/** How often a client that waits is looked for: browsers do not tell a service worker that a page was closed. */
const LOOK_MS = 500

let finder: { readonly hosts: HostFinder; readonly channel: BroadcastChannel } | undefined

/** An event may be shown to several: the application's own listener, and ours. */
const taken = new WeakSet<FetchEvent>()

export interface RouterOptions {
  readonly claim: boolean
}

/** Routes a page's requests to the worker that runs the engine; answers them here where no page has one. */
export function route(v1: Routed, scope: WorkerScope, { claim }: RouterOptions): (event: FetchEvent) => boolean {
  const first = finder === undefined
  finder ??= start(scope, claim)
  const { hosts, channel } = finder
  tellLoads(v1, (progress) => channel.postMessage(wrap<Broadcast>({ type: 'progress', progress })))
  const own = new OwnService(v1)
  if (claim && first) scope.addEventListener('activate', (event) => event.waitUntil(scope.clients.claim()))
  const handle = (event: FetchEvent): boolean => {
    const { request } = event
    if (taken.has(event)) return true
    if (new URL(request.url).origin !== scope.location.origin || !v1.match(request)) return false
    taken.add(event)
    event.respondWith(respond(own, hosts, event, scope))
    return true
  }
  scope.addEventListener('fetch', handle)
  return handle
}

function start(scope: WorkerScope, claim: boolean) {
  const name = scopeName(scope.registration.scope)
  const channel = new BroadcastChannel(name)
  const hosts = new HostFinder(name, channel)
  scope.addEventListener('message', (event) => {
    const message = unwrap<FromPage>(event.data)
    // A page that was loaded past its service worker asks for it.
    if (message?.type === 'claim' && claim) event.waitUntil(scope.clients.claim())
    if (message?.type === 'activate') event.waitUntil(scope.skipWaiting())
    if (message?.type === 'pong') hosts.noteAlive(message.host)
    const [port] = event.ports
    if (!port) return
    if (message?.type === 'who') sayWho(port)
    if (message?.type === 'host') event.waitUntil(hosts.take(message.host, port))
    if (message?.type === 'guest') event.waitUntil(introduce(hosts, port))
  })
  return { hosts, channel }
}

async function respond(own: OwnService, hosts: HostFinder, event: FetchEvent, scope: WorkerScope): Promise<Response> {
  const { request } = event
  const gone = new AbortController()
  const stop = watchClient(event, scope, () => gone.abort())
  const rest = hosts.keepAlive(gone)
  const signal = AbortSignal.any([request.signal, gone.signal])
  try {
    const passed = await passedRequest(request)
    const answer = answerOf(own, hosts, passed, signal).finally(stop)
    const reads = wantsStream(passed.body) ? 'events' : 'whole'
    return atItsEnd(await patiently(answer, { reads, leave: () => gone.abort() }), rest)
  } catch (error) {
    stop()
    rest()
    throw error
  }
}

/** Looks now and then whether the page is still there, until the answer begins; after that its stream tells. */
function watchClient({ clientId }: FetchEvent, { clients }: WorkerScope, left: () => void): () => void {
  let seen = false
  const look = async () => {
    const client = clientId === '' ? undefined : await clients.get(clientId)
    // Not every browser knows every kind of client.
    if (client !== undefined) seen = true
    else if (seen) left()
  }
  void look()
  const timer = setInterval(look, LOOK_MS)
  return () => clearInterval(timer)
}

function answerOf(own: OwnService, hosts: HostFinder, passed: PassedRequest, signal: AbortSignal): Promise<Response> {
  const find = async () => {
    const link = await hosts.find()
    if (link) own.rest()
    return link
  }
  return sendToHost({ find, without: () => own.fetch(requestOf(passed, signal)) }, passed, signal)
}

/** Gives a page a port to the host, over which it asks without this service worker. */
async function introduce(hosts: HostFinder, page: MessagePort): Promise<void> {
  const rest = hosts.keepAlive({})
  try {
    for (;;) {
      const link = await hosts.find()
      const { port1, port2 } = new MessageChannel()
      if (link && !(await link.introduce(port1))) continue
      const { host } = link ?? {}
      return page.postMessage({ host } satisfies Introduction, host === undefined ? [] : [port2])
    }
  } finally {
    rest()
  }
}
