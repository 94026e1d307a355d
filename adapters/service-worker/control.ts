import { V1Error } from '../../src/contract/errors.js'
import { isOfOurs } from './identity.js'
import { type FromPage, wrap } from './messages.js'
import type { ServiceWorkerScript } from './registration.js'

/** Longer than a busy page takes to be claimed. */
const CONTROL_MS = 10_000

/** Settles once the registration's worker controls this page. */
export async function controlled(
  registration: ServiceWorkerRegistration,
  script: ServiceWorkerScript,
  signal: AbortSignal,
): Promise<void> {
  await ours(registration, script, signal)
  const { serviceWorker } = navigator
  const isOurs = () => serviceWorker.controller !== null && serviceWorker.controller === registration.active
  if (isOurs()) return
  const timeout = AbortSignal.timeout(CONTROL_MS)
  const either = AbortSignal.any([signal, timeout])
  // A page that was loaded past its service worker (shift and reload) is not claimed by itself.
  registration.active!.postMessage(wrap<FromPage>({ type: 'claim' }))
  await untilEvent(serviceWorker, 'controllerchange', isOurs, either).catch((error: unknown) => {
    if (!timeout.aborted) throw error
    const message = 'The service worker runs but does not control this page: reload it. (Was it given claim: false?)'
    throw new V1Error(503, message, { code: 'service_worker_uncontrolled' })
  })
}

/** Settles once the registration's active worker is one that answers `/v1`. */
async function ours(
  registration: ServiceWorkerRegistration,
  script: ServiceWorkerScript,
  signal: AbortSignal,
): Promise<void> {
  const { href } = new URL(String(script.address), document.baseURI)
  const { active } = registration
  if (!active) return first(registration.installing ?? registration.waiting, href, signal)
  const named = active.scriptURL === href
  // Where it shall be replaced, one of another name need not say who it is.
  if ((named || !script.replace) && (await isOfOurs(active))) return activated(active, signal)
  // One of the same script may be of a time when that did not call serviceWorker() yet.
  if (named) await registration.update().catch(() => {})
  const next = registration.installing ?? registration.waiting
  if (!next) throw silent(href)
  await untilEvent(next, 'statechange', () => next.state !== 'installing', signal)
  if (next.state === 'redundant') throw givenUp()
  if (!(await isOfOurs(next))) throw silent(href)
  if (!script.replace && next.state === 'installed') throw waits(active, next)
  next.postMessage(wrap<FromPage>({ type: 'activate' }))
  return activated(next, signal)
}

async function first(worker: ServiceWorker | null, href: string, signal: AbortSignal): Promise<void> {
  if (!worker) throw givenUp()
  await activated(worker, signal)
  if (!(await isOfOurs(worker))) throw silent(href)
}

async function activated(worker: ServiceWorker, signal: AbortSignal): Promise<void> {
  const settled = () => worker.state === 'activated' || worker.state === 'redundant'
  await untilEvent(worker, 'statechange', settled, signal)
  if (worker.state === 'redundant') throw givenUp()
}

function givenUp(): V1Error {
  const message = 'The service worker could not be installed: its install handler failed.'
  return new V1Error(500, message, { code: 'service_worker_script' })
}

function silent(url: string): V1Error {
  const message = `The service worker ${url} runs but does not answer: does it call serviceWorker(v1) of this version of local-v1?`
  return new V1Error(500, message, { code: 'service_worker_script' })
}

function waits(active: ServiceWorker, next: ServiceWorker): V1Error {
  const message =
    `The service worker ${next.scriptURL} waits until all pages of the old one, ${active.scriptURL}, are closed. ` +
    'The old one does not answer /v1. Close all tabs of this site and open it again, call skipWaiting() when it is ' +
    'installed, or pass replace: true.'
  return new V1Error(503, message, { code: 'service_worker_waiting' })
}

function untilEvent(target: EventTarget, type: string, isSo: () => boolean, signal: AbortSignal): Promise<void> {
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
