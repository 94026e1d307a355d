/** Run as a service worker, and as the worker that a page starts: the services, each for its own paths, and the probe. */
import { serviceWorker } from '../../adapters/service-worker/index.js'
import { services } from './services.js'

const here = services()
for (const v1 of here.all) serviceWorker(v1)
// Asked where the services answer.
serviceWorker({
  ...here.all[0]!,
  match: ({ url }) => new URL(url).pathname === '/probe',
  fetch: async (request) => here.probe(request)!,
})
