import { V1Error } from '../../src/contract/errors.js'
import { isOfOurs } from './identity.js'

/** A text or a `URL`; where a page's policy requires trusted types, a `TrustedScriptURL`. */
export type Address = string | { toJSON(): string }

export interface ServiceWorkerScript {
  readonly address: Address
  readonly type: 'module' | 'classic'
  readonly scope: string | undefined
  readonly replace: boolean
}

/** Registers the service worker for what it reaches, and says in words what is wrong where that fails. */
export async function register(
  { address, type, scope, replace }: ServiceWorkerScript,
  reach: string,
): Promise<ServiceWorkerRegistration> {
  const url = String(address)
  const known = await refuseOthers(url, reach, replace)
  const registering = () => navigator.serviceWorker.register(address as string, { type, scope })
  // It would wait behind the browser's own look for a newer script, for seconds, and then change nothing.
  if (known?.active?.scriptURL === new URL(url, document.baseURI).href) {
    registering().catch(() => {})
    return known
  }
  let registration: ServiceWorkerRegistration | undefined
  try {
    registration = await registering()
  } catch (cause) {
    throw await explain(cause, url, reach, { type, scope })
  }
  // What blocks service workers from outside of the browser may answer with nothing.
  if (!registration) throw refused(undefined)
  return registration
}

/** The browser has none for this page: in a frame of another site, a private window, where storage is blocked. */
export function refused(cause: unknown): V1Error {
  return new V1Error(503, 'This browser allows no service worker here.', { code: 'service_worker_unsupported', cause })
}

/** Whether the browser has what tabs share an engine with. Not in Firefox's private windows, nor in cut off frames. */
export function hasServiceWorkers(): boolean {
  try {
    return 'serviceWorker' in navigator && Boolean(navigator.serviceWorker) && 'locks' in navigator
  } catch {
    return false
  }
}

/** @throws V1Error where no page can have a worker that answers it */
export function checkHost(): void {
  if (typeof document === 'undefined') {
    const message = 'install() is for pages; while a server renders them there is nothing to install.'
    throw new V1Error(503, message, { code: 'service_worker_unsupported' })
  }
  if (!globalThis.isSecureContext) {
    const message = `Service workers need a secure page: https, or http://localhost. This page is at ${location.origin}.`
    throw new V1Error(503, message, { code: 'insecure_origin' })
  }
  if (typeof Worker === 'undefined') {
    throw new V1Error(503, 'This browser has no workers, and models need one.', { code: 'service_worker_unsupported' })
  }
}

/** What the service worker reaches. A page outside of it would register it, and then wait for ever to be controlled. */
export function checkScope(url: string, scope: string | undefined): string {
  const script = new URL(url, document.baseURI)
  if (script.origin !== location.origin) {
    throw scopeError(`The script must come from the page's own origin ${location.origin}; it is at ${script.href}.`)
  }
  const reach = new URL(scope ?? './', scope === undefined ? script : document.baseURI)
  if (location.href.startsWith(reach.href)) return reach.href
  throw scopeError(
    `This page, ${location.pathname}, is outside the scope ${reach.pathname} of ${script.pathname}. ` +
      "Serve the script from the site's root, or with the header 'Service-Worker-Allowed: /' and scope: '/'.",
  )
}

/** Before anything is registered: that would already be the end of the other one. Gives what is there already. */
async function refuseOthers(
  url: string,
  reach: string,
  replace: boolean,
): Promise<ServiceWorkerRegistration | undefined> {
  const wanted = new URL(url, document.baseURI).href
  const near = await navigator.serviceWorker.getRegistration()
  // The narrowest scope takes the page.
  if (near && near.scope.length > reach.length) throw narrower(near, reach)
  if (near?.scope !== reach) return undefined
  if (replace) return near
  for (const worker of [near.active, near.waiting, near.installing]) {
    if (worker && worker.scriptURL !== wanted && !(await isOfOurs(worker))) throw foreign(worker, reach)
  }
  return near
}

function foreign({ scriptURL }: ServiceWorker, reach: string): V1Error {
  const message =
    `Another service worker, ${scriptURL}, is registered for ${reach}, and would take the requests to /v1. ` +
    'If nothing needs it any more, unregister it, or pass replace: true. If the application needs it, call ' +
    'serviceWorker(v1) in it too, and pass it as the script.'
  return new V1Error(503, message, { code: 'service_worker_foreign' })
}

function narrower({ scope, active, waiting, installing }: ServiceWorkerRegistration, reach: string): V1Error {
  const { scriptURL } = (active ?? waiting ?? installing)!
  const message =
    `Another service worker, ${scriptURL}, is registered for ${scope}, which is narrower than ${reach}, so it controls this ` +
    `page. Unregister it, or pass scope: '${new URL(scope).pathname}'.`
  return new V1Error(503, message, { code: 'service_worker_foreign' })
}

const scopeError = (message: string) => new V1Error(500, message, { code: 'service_worker_scope' })

async function explain(
  cause: unknown,
  url: string,
  reach: string,
  { type, scope }: Pick<ServiceWorkerScript, 'type' | 'scope'>,
): Promise<V1Error> {
  const script = (message: string) =>
    new V1Error(500, `The service worker ${url} could not be registered: ${message}`, {
      code: 'service_worker_script',
      cause,
    })
  const reason = cause instanceof Error ? cause.message : String(cause)
  const answer = await fetch(url, { cache: 'no-store' }).catch(() => undefined)
  void answer?.body?.cancel()
  if (!answer) return script(`it cannot be fetched (${reason})`)
  if (!answer.ok) return script(`its address returned status ${answer.status}.`)
  const served = answer.headers.get('content-type') ?? 'no type'
  if (!/^(text|application)\/(x-)?(java|ecma)script/i.test(served)) {
    return script(
      `it is served as ${served}, not as text/javascript; perhaps the application answers unknown paths with a page.`,
    )
  }
  const name = (cause as { name?: unknown } | undefined)?.name
  if (name === 'SecurityError') {
    const header = answer.headers.get('service-worker-allowed')
    const widest = new URL(header ?? './', new URL(url, document.baseURI))
    if (reach.startsWith(widest.href)) return refused(cause)
    return scopeError(
      `The scope ${scope ?? ''} is wider than the folder of ${url}. Serve it with the header ` +
        `'Service-Worker-Allowed: /' (it has ${header ?? 'none'}), or from the site's root. The browser says: ${reason}`,
    )
  }
  // A script that does not run is a TypeError. What is none is the browser's own refusal.
  if (name !== 'TypeError') return refused(cause)
  const how =
    type === 'module' ? 'If the browser has no module service workers, build it as one file' : 'Build it as one file'
  return script(`${reason}. ${how} without import or export, and pass type: 'classic'.`)
}
