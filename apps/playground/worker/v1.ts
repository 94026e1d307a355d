// The whole of `/v1`: this one script is the service worker, and the worker of a page that runs the models.
import { createV1, indexedDbUsage } from 'local-v1'
import { serviceWorker } from 'local-v1/service-worker'
import { webgpu } from 'local-v1/webgpu'
import { catalog, NANO } from './catalog.js'
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

serviceWorker(
  createV1({
    engine: webgpu({ models }),
    keys: 'none',
    usage: indexedDbUsage(),
    manageModels: true,
    loadWaitMs: 600_000,
  }),
)
servePagesOffline()
