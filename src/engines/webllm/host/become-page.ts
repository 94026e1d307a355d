import { builtin, lookForAdapter, openDawn } from '../../../platform/index.js'
import { localFile, responseOf } from './local-files.js'
import type { SeenStore } from './seen-store.js'
import { storeCaches } from './store-caches.js'

/** Whether this is Node or Deno, where WebLLM misses what every page has. */
export function isOutsideBrowsers(): boolean {
  return typeof document === 'undefined' && builtin('node:worker_threads') !== undefined
}

/**
 * Gives this thread what WebLLM expects of a page; leaving any of it out was seen to break it. It changes globals that
 * others go by: only for a thread that WebLLM has to itself.
 */
export async function becomePage(store: SeenStore): Promise<void> {
  await giveGpu()
  const fetch = fetchWithFiles(globalThis.fetch)
  define('fetch', fetch)
  define('caches', storeCaches(store, fetch))
  const { pathToFileURL } = builtin<typeof import('node:url')>('node:url')!
  // `href` is what relative addresses of models start from; `origin` must only be some address.
  define('location', { origin: 'http://localhost', href: pathToFileURL(`${process.cwd()}/`).href })
  hideNode()
}

/** What Dawn would say, which would also write to the terminal. */
const NO_ADAPTER = { requestAdapter: async () => null }

/** Deno has WebGPU of its own; Node has it from the package `webgpu`, if that is installed. */
async function giveGpu(): Promise<void> {
  if ((globalThis.navigator as Partial<Navigator> | undefined)?.gpu) return
  const look = await lookForAdapter()
  const dawn = look && !look.adapter ? { gpu: NO_ADAPTER, globals: {} } : await openDawn()
  if (dawn === undefined) return
  Object.assign(globalThis, dawn.globals)
  const { gpu } = dawn
  if (globalThis.navigator === undefined) define('navigator', { gpu })
  else Object.defineProperty(globalThis.navigator, 'gpu', { value: gpu })
}

function fetchWithFiles(real: typeof fetch): typeof fetch {
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input)
    if (!url.startsWith('file:')) return real(input, init)
    const file = await localFile(url)
    if (file === undefined) throw new TypeError(`There is no file ${url}.`)
    return responseOf(file)
  }
}

/** Three modules of WebLLM choose Node's way of reading files as soon as they see its version. */
function hideNode(): void {
  const real = globalThis.process
  const versions = { ...real.versions, node: undefined }
  define(
    'process',
    new Proxy(real, {
      get(target, name) {
        const value: unknown = name === 'versions' ? versions : Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    }),
  )
}

function define(name: string, value: unknown): void {
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true, enumerable: true })
}
