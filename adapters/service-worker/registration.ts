import { V1Error } from '../../src/index.js'
import { isOfOurs } from './identity.js'

/** A text or a `URL`; where a page's policy requires trusted types, a `TrustedScriptURL`. */
export type Address = string | { toJSON(): string }

export interface Script {
  readonly address: Address
  readonly type: 'module' | 'classic'
  readonly scope: string | undefined
  readonly replace: boolean
}

/** Registers the service worker, and says in words what is wrong where that fails. */
export async function register({ address, type, scope, replace }: Script): Promise<ServiceWorkerRegistration> {
  const url = String(address)
  const reach = checkScope(url, scope)
  await refuseOthers(url, reach, replace)
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
function checkScope(url: string, scope: string | undefined): string {
  const script = new URL(url, document.baseURI)
  if (script.origin !== location.origin) {
    throw scopeError(`The script must come from the page's own origin ${location.origin}; it is at ${script.href}.`)
  }
  const reach = new URL(scope ?? './', scope === undefined ? script : document.baseURI)
  if (location.href.startsWith(reach.href)) return reach.href
  throw scopeError(
    `This page, ${location.pathname}, lies outside of the scope ${reach.pathname} of ${script.pathname}. ` +
      "Serve the script from the site's root, or with the header 'Service-Worker-Allowed: /' and scope: '/'.",
  )
}

/** Before anything is registered: that would already be the end of the other one. */
async function refuseOthers(url: string, reach: string, replace: boolean): Promise<void> {
  const wanted = new URL(url, document.baseURI).href
  const near = await navigator.serviceWorker.getRegistration()
  // The narrowest scope takes the page.
  if (near && near.scope.length > reach.length) throw narrower(near, reach)
  if (near?.scope !== reach || replace) return
  for (const worker of [near.active, near.waiting, near.installing]) {
    if (worker && worker.scriptURL !== wanted && !(await isOfOurs(worker))) throw foreign(worker, reach)
  }
}

function foreign({ scriptURL }: ServiceWorker, reach: string): V1Error {
  const message =
    `Another service worker, ${scriptURL}, is registered for ${reach}, and would take the requests to /v1. ` +
    'If it is a leftover, unregister it, or pass replace: true. If the application needs it, call serviceWorker(v1) in ' +
    'it too, and name it as the script.'
  return new V1Error(503, message, { code: 'service_worker_foreign' })
}

function narrower({ scope, active, waiting, installing }: ServiceWorkerRegistration, reach: string): V1Error {
  const { scriptURL } = (active ?? waiting ?? installing)!
  const message =
    `Another service worker, ${scriptURL}, is registered for ${scope}, which is narrower than ${reach}: this page is ` +
    `its. Unregister it, or pass scope: '${new URL(scope).pathname}'.`
  return new V1Error(503, message, { code: 'service_worker_foreign' })
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
