// The whole of `/v1`: this one script is the service worker, and the worker of a page that runs the models.
import { createV1, indexedDbUsage } from 'local-v1'
import { serviceWorker } from 'local-v1/service-worker'
import { webgpu } from 'local-v1/webgpu'
import { addedModels, onAdded, placeOf } from './added-models.js'
import { catalog, NANO } from './catalog.js'
import { growing } from './growing-engine.js'
import { servePagesOffline } from './offline.js'

/** Put in by the build: where the other models are downloaded from. */
declare const __HUB__: string
/** The same: the folder of the embedded model, whose name changes with its weights, and its size. */
declare const __NANO__: { readonly folder: string; readonly bytes: number }

const models = catalog.map(({ id, contextLength, downloadBytes, memoryBytes }) => ({
  id,
  from: id === NANO ? new URL(__NANO__.folder, globalThis.location.href).href : `${__HUB__}/${id}/resolve/main/`,
  contextLength,
  cacheTokens: contextLength,
  downloadBytes: id === NANO ? __NANO__.bytes : downloadBytes,
  memoryBytes,
}))

const sizes = new Map<string, { downloadBytes: number; memoryBytes: number }>()
const engine = growing(webgpu({ models }), (id) => {
  const from = placeOf(id, __HUB__)
  return from === undefined ? undefined : webgpu({ models: [{ id, from, contextLength: 4096, ...sizes.get(id) }] })
})
async function readAdded(): Promise<void> {
  const added = await addedModels()
  for (const { id, ...size } of added) sizes.set(id, size)
  engine.add(added.map(({ id }) => id))
}
const ready = readAdded()
onAdded(() => void readAdded())

serviceWorker(
  createV1({
    engine: Object.assign(engine, { ready }),
    keys: 'none',
    usage: indexedDbUsage(),
    manageModels: true,
    loadWaitMs: 600_000,
  }),
)
servePagesOffline()
