import {
  type CacheChoice,
  crossOriginStorage,
  describeRepository,
  forget,
  isWhole,
  keptOf,
  noteCost,
  notedCost,
  openRepository,
  sharedStore,
  siblingsOf,
  storeFor,
} from '../../models/index.js'
import { chooseDevice } from './choose-device.js'
import { type Metadata, WebGpuEngine } from './engine.js'
import type { WebGpuOptions } from './options.js'

/** The engine in the calling thread; `metadata` is shown with each of its models. */
export function webgpuHere(options: WebGpuOptions, metadata?: Metadata): WebGpuEngine {
  // Without options the engine says what is missing.
  const { device = 'auto', log: warn = console.info } = options ?? {}
  const cache = cacheOf(options ?? {})
  return new WebGpuEngine(options, {
    ...(metadata && { metadata }),
    openDevice: () => chooseDevice(device, options),
    openRepository: ({ location }, report, signal, check) =>
      openRepository(location, { report, signal, cache, check, warn }),
    describe: ({ location }, signal) => describeRepository(location, { signal, cache }),
    siblings: ({ location }, signal) => siblingsOf(location, { signal, cache }),
    keptOf: async ({ location }) => ({
      bytes: await keptOf(location, cache),
      whole: await isWhole(location, cache),
    }),
    notedCost: ({ location }, identity) => notedCost(location, cache, identity),
    noteCost: ({ location }, identity, cost) => noteCost(location, cache, identity, cost),
    forget: ({ location }) => forget(location, cache),
  })
}

function cacheOf({
  cache,
  crossOriginStorage: wanted = false,
  log = console.info,
}: Partial<WebGpuOptions>): CacheChoice {
  if (wanted === false || cache === false) return cache
  const shared = crossOriginStorage()
  if (shared) return sharedStore(storeFor(cache), shared, wanted)
  log('There is no Cross-Origin Storage here: models are stored only for this site.')
  return cache
}
