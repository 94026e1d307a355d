/** Run as a service worker: the services, each for its own paths, and the probe. */
import { serviceWorker } from '../../adapters/service-worker.js'
import { services } from './services.js'

interface FetchEvent extends Event {
  readonly request: Request
  respondWith(response: Response): void
}

const here = services()
for (const v1 of here.all) serviceWorker(v1)
addEventListener('fetch', (event) => {
  const answer = here.probe((event as FetchEvent).request)
  if (answer) (event as FetchEvent).respondWith(answer)
})
