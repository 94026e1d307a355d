import type { V1 } from '../../src/index.js'
import { host } from './host.js'
import { pagesAlone } from './pages-alone.js'
import { route } from './router.js'
import { type FetchEvent, hostScope, serviceWorkerScope } from './scope.js'

export interface ServiceWorkerOptions {
  /**
   * Take over the pages that are open already, so that the first visit needs no reload.
   * @default true
   */
  claim?: boolean
  /**
   * A model that the worker loads as soon as it runs the engine, before anybody has asked for it.
   * @default none
   */
  preload?: string
}

export interface ServiceWorkerPart {
  /**
   * Answers the event if its request is for `/v1`, and says whether it is: for a service worker whose own listener was
   * added earlier and answers everything. Otherwise such requests are answered without it.
   */
  handle(event: FetchEvent): boolean
}

/**
 * Answers the pages' own requests under `v1`'s base path; every other request, and every other origin, is left to the
 * network. Call it while the script first runs.
 *
 * One script serves twice. As the service worker it routes. As the worker that `install` starts in each page it runs
 * the engine: one page's worker for all tabs, and another's once that page is closed. Where no page has called
 * `install`, the service worker answers by itself, and loads the model anew each time the browser has ended it.
 *
 * A service worker that is given the path alone, `serviceWorker({ basePath: '/v1' })`, routes and does nothing else: it
 * needs no engine and stays small, so that a first visit begins sooner. `install` is told the worker's own script, as
 * `worker`; where no page has one, requests are a 503 with the code `device_unreachable`.
 *
 * Leaving a stream stops the engine, and so does closing the page. That a page has aborted a request whose answer has
 * not begun, browsers do not tell their service workers: such a request runs until its first word.
 */
export function serviceWorker(
  v1: V1 | { readonly basePath: string },
  options: ServiceWorkerOptions = {},
): ServiceWorkerPart {
  const routing = serviceWorkerScope()
  const hosting = hostScope()
  const isService = 'fetch' in v1
  if (routing) {
    const routed = isService ? v1 : pagesAlone(v1.basePath)
    return { handle: route(routed, routing, { claim: options.claim ?? true }) }
  }
  if (!hosting) {
    throw new TypeError('serviceWorker: call it in the script of a service worker, and install() in the page.')
  }
  if (!isService) throw new TypeError('serviceWorker: the worker that runs the models is given a service, createV1().')
  host(v1, hosting, options.preload)
  return { handle: () => false }
}
