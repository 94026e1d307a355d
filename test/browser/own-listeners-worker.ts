/** Run as a service worker whose own listener answers every request, added before or after `serviceWorker` is called. */
import { type ServiceWorkerPart, serviceWorker } from '../../adapters/service-worker/index.js'
import { scripted } from '../../src/engines/scripted.js'
import { createV1 } from '../../src/index.js'

type Handled = Parameters<ServiceWorkerPart['handle']>[0]

const { searchParams } = new URL(location.href)
const v1 = createV1({ engine: scripted({ models: { 'test/hello': 'Hello.' } }), keys: 'none' })

let part: ServiceWorkerPart | undefined
const order = searchParams.get('order')

/** Whoever answers first, answers: this one would answer `/v1` too. */
const catchAll = () =>
  addEventListener('fetch', (event) => {
    const fetched = event as unknown as Handled
    const { pathname } = new URL(fetched.request.url)
    if (order === 'before' && part?.handle(fetched)) return
    // Else the page itself would not load.
    if (!/\.js$|\/$/.test(pathname)) fetched.respondWith(own())
  })
const own = async () => new Response('the own answer')

if (order === 'before') catchAll()
part = serviceWorker(v1)
if (order === 'after') catchAll()
