import { V1Error } from '../../src/index.js'
import { type FromPage, wrap } from './messages.js'

/** A text or a `URL`; where a page's policy requires trusted types, a `TrustedScriptURL`. */
export type Address = string | { toJSON(): string }

export interface Script {
  readonly address: Address
  readonly type: 'module' | 'classic'
  readonly scope: string | undefined
}

/** Longer than a busy page takes to be claimed. */
const CONTROL_MS = 10_000

/** Registers the service worker, and says in words what is wrong where that fails. */
export async function register({ address, type, scope }: Script): Promise<ServiceWorkerRegistration> {
  const url = String(address)
  checkScope(url, scope)
  try {
    return await navigator.serviceWorker.register(address as string, { type, scope })
  } catch (cause) {
    throw await explain(cause, url, type, scope)
  }
}

/** @throws V1Error where there can be no service worker */
export function checkHost(): void {
  if (typeof document === 'undefined') {
    const message = 'install() is for pages; while a server renders them there is nothing to install.'
    throw new V1Error(503, message, { code: 'service_worker_unsupported' })
  }
  if (!globalThis.isSecureContext) {
    const message = `Service workers need a secure page: https, or http://localhost. This page is at ${location.origin}.`
    throw new V1Error(503, message, { code: 'insecure_origin' })
  }
  // Firefox has none in private windows.
  if (!('serviceWorker' in navigator) || !('locks' in navigator) || typeof Worker === 'undefined') {
    const message = 'This browser has no service workers here (a private window, perhaps, or a page in a frame).'
    throw new V1Error(503, message, { code: 'service_worker_unsupported' })
  }
}

/** A page outside the scope would register it, and then wait for ever to be controlled. */
function checkScope(url: string, scope: string | undefined): void {
  const script = new URL(url, document.baseURI)
  if (script.origin !== location.origin) {
    throw scopeError(`The script must come from the page's own origin ${location.origin}; it is at ${script.href}.`)
  }
  const reach = new URL(scope ?? './', scope === undefined ? script : document.baseURI)
  if (location.href.startsWith(reach.href)) return
  throw scopeError(
    `This page, ${location.pathname}, lies outside of the scope ${reach.pathname} of ${script.pathname}. ` +
      "Serve the script from the site's root, or with the header 'Service-Worker-Allowed: /' and scope: '/'.",
  )
}

const scopeError = (message: string) => new V1Error(500, message, { code: 'service_worker_scope' })

async function explain(cause: unknown, url: string, type: string, scope: string | undefined): Promise<V1Error> {
  const script = (message: string) =>
    new V1Error(500, `The service worker ${url} could not be registered: ${message}`, {
      code: 'service_worker_script',
      cause,
    })
  const said = cause instanceof Error ? cause.message : String(cause)
  const answer = await fetch(url, { cache: 'no-store' }).catch(() => undefined)
  void answer?.body?.cancel()
  if (!answer) return script(`it cannot be fetched (${said})`)
  if (!answer.ok) return script(`its address is answered with status ${answer.status}.`)
  const served = answer.headers.get('content-type') ?? 'no type'
  if (!/^(text|application)\/(x-)?(java|ecma)script/i.test(served)) {
    return script(`it is served as ${served}, not as text/javascript; the application may answer unknown paths itself.`)
  }
  if ((cause as { name?: unknown } | undefined)?.name === 'SecurityError') {
    const header = answer.headers.get('service-worker-allowed')
    return scopeError(
      `The scope ${scope ?? ''} is wider than where ${url} lies. Serve it with the header ` +
        `'Service-Worker-Allowed: /' (it has ${header ?? 'none'}), or from the site's root. The browser says: ${said}`,
    )
  }
  const how =
    type === 'module' ? 'Where module service workers are missing, build it as one file' : 'Build it as one file'
  return script(`${said}. ${how} without import or export, and pass type: 'classic'.`)
}

/** Settles once the registration's worker controls this page. */
export async function controlled(registration: ServiceWorkerRegistration, signal: AbortSignal): Promise<void> {
  await active(registration, signal)
  const { serviceWorker } = navigator
  const isOurs = () => serviceWorker.controller !== null && serviceWorker.controller === registration.active
  if (isOurs()) return
  const timeout = AbortSignal.timeout(CONTROL_MS)
  const either = AbortSignal.any([signal, timeout])
  // A page that was loaded past its service worker (shift and reload) is not claimed by itself.
  registration.active!.postMessage(wrap<FromPage>({ type: 'claim' }))
  await heard(serviceWorker, 'controllerchange', isOurs, either).catch((error: unknown) => {
    if (!timeout.aborted) throw error
    const message = 'The service worker runs but does not control this page: reload it. (Was it given claim: false?)'
    throw new V1Error(503, message, { code: 'service_worker_uncontrolled' })
  })
}

async function active(registration: ServiceWorkerRegistration, signal: AbortSignal): Promise<void> {
  if (registration.active?.state === 'activated') return
  const worker = registration.installing ?? registration.waiting ?? registration.active
  if (!worker) return
  const settled = () => worker.state === 'activated' || worker.state === 'redundant'
  await heard(worker, 'statechange', settled, signal)
  if (worker.state === 'redundant' && registration.active === null) {
    const message = 'The service worker was given up while it was being installed: its install handler failed.'
    throw new V1Error(500, message, { code: 'service_worker_script' })
  }
}

function heard(target: EventTarget, type: string, isSo: () => boolean, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const over = new AbortController()
    const settle = (then: () => void) => {
      over.abort()
      then()
    }
    const look = () => {
      if (isSo()) settle(resolve)
    }
    target.addEventListener(type, look, { signal: over.signal })
    signal.addEventListener('abort', () => settle(() => reject(signal.reason)), { once: true, signal: over.signal })
    look()
  })
}
