import type { V1 } from '../../src/index.js'
import { host } from './host.js'
import { pagesAlone } from './pages-alone.js'
import { route } from './router.js'
import { type FetchEvent, hostScope, serviceWorkerScope } from './scope.js'

export interface ServiceWorkerOptions {
  /**
   * Whether to control pages that are already open, so that the first visit needs no reload.
   * @default true
   */
  claim?: boolean
  /**
   * A model that the worker loads as soon as it runs the engine, before the first request.
   * @default none
   */
  preload?: string
}

export interface ServiceWorkerPart {
  /**
   * Answers the event if its request is for `/v1`, and returns whether it is. You need it only if your own listener was
   * added earlier and responds to everything.
   */
  handle(event: FetchEvent): boolean
}

/**
 * Answers the pages' own requests under `v1`'s base path; all other requests, and all other origins, go to the network.
 * Call it when the script starts.
 *
 * One script has two uses. As the service worker it passes requests on. As the worker that `install` starts in each page it
 * runs the engine: one page's worker for all tabs, and another's when that page is closed. If no page has called `install`,
 * the service worker runs the engine itself, and loads the model again each time the browser has stopped it.
 *
 * With only the path, `serviceWorker({ basePath: '/v1' })`, a service worker passes requests on and does nothing else: it
 * needs no engine and stays small, so that a first visit begins sooner. Then pass the worker's own script to `install`, as
 * `worker`; if no page has a worker, requests get a 503 with the code `device_unreachable`.
 *
 * When a client stops reading a stream, the engine stops; also when the page is closed. Browsers do not tell service
 * workers that a page has aborted a request whose answer has not begun: such a request runs until its first token.
 */
export function serviceWorker(
  v1: V1 | { readonly basePath: string },
  options: ServiceWorkerOptions = {},
): ServiceWorkerPart {
  const { claim = true, preload, ...others } = options
  for (const name of Object.keys(others)) {
    throw new TypeError(`serviceWorker: '${name}' is not an option; the options are claim, preload.`)
  }
  const routing = serviceWorkerScope()
  const hosting = hostScope()
  const isService = 'fetch' in v1
  if (routing) {
    const routed = isService ? v1 : pagesAlone(v1.basePath)
    return { handle: route(routed, routing, { claim }) }
  }
  if (!hosting) {
    throw new TypeError('serviceWorker: call it in the script of a service worker, and install() in the page.')
  }
  if (!isService) throw new TypeError('serviceWorker: the worker that runs the models is given a service, createV1().')
  host(v1, hosting, preload)
  return { handle: () => false }
}
