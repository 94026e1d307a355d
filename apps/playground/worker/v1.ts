// The whole of `/v1`: this one script is the worker of a page that runs the models, and the one that looks at models which
// are not there yet.
import { createV1, indexedDbUsage } from 'local-v1'
import { serviceWorker } from 'local-v1/service-worker'
import { webgpu } from 'local-v1/webgpu'
import { CATALOG, NANO } from '../../../src/models/catalog.js'
import { addedModels, onChanged } from './added-models.js'
import { answerLooks } from './look.js'
import { LOOK } from './look-messages.js'

/** Put in by the build: where the other models are downloaded from. */
declare const __HUB__: string
/** The same: the folder of the embedded model, whose name changes with its weights, and its size. */
declare const __NANO__: { readonly folder: string; readonly bytes: number }

const models = CATALOG.map(({ id, from, contextLength, downloadBytes, memoryBytes }) => ({
  id,
  from: id === NANO ? new URL(__NANO__.folder, globalThis.location.href).href : addressOf(from, __HUB__),
  contextLength,
  cacheTokens: contextLength,
  downloadBytes: id === NANO ? __NANO__.bytes : downloadBytes,
  memoryBytes,
}))

const PRELOAD = new URL(globalThis.location.href).searchParams.get('preload')

if ((globalThis as { name?: string }).name === LOOK) answerLooks()
else serve()

function serve(): void {
  const engine = webgpu({ models })
  let offered: readonly string[] = []
  const readAdded = async () => {
    const added = await addedModels()
    const ids = added.map((model) => engine.offer(model).id)
    for (const id of offered) if (!ids.includes(id)) await engine.withdraw(id)
    offered = ids
  }
  const ready = readAdded()
  onChanged(() => void readAdded())
  serviceWorker(
    createV1({
      engine: Object.assign(engine, { ready }),
      keys: 'none',
      usage: indexedDbUsage(),
      manageModels: true,
      loadWaitMs: 600_000,
    }),
    // Which model, the page says: the one that it will ask for first.
    PRELOAD === null ? {} : { preload: PRELOAD },
  )
}

/** Where the files of `owner/name`, or the one of `owner/name/file.gguf`, lie on a hub. */
function addressOf(from: string, hub: string): string {
  const [owner, name, ...file] = from.split('/')
  return `${hub}/${owner}/${name}/resolve/main/${file.join('/')}`
}
