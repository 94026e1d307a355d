/** wllama beside us in the page: what it is made of, served with the page. */
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { BenchOrder } from '../../src/bench/elsewhere.js'
import { installed } from '../peers/installed.js'
import { sameWeights } from '../peers/same-weights.js'
import type { WllamaOptions } from '../peers/wllama.js'

export interface ServedPeer {
  /** By their paths from the root. */
  readonly files: Record<string, Uint8Array>
  /** What the page is told; paths of `files` are addresses of `origin`. */
  at(origin: string): WllamaOptions[]
}

const PATHS = { module: '/peers/wllama.js', wasm: '/peers/wllama.wasm', gguf: '/peers/model.gguf' }

/** Beside our own core it stands on the same devices; `auto` is a GPU where there is one, and it is told which. */
export function onDevices(devices: BenchOrder['devices']): boolean[] {
  return [...new Set(devices.map((device) => device === 'webgpu'))]
}

/** `folder` is one in whose `node_modules` it is installed. */
export async function serveWllama(folder: string, order: BenchOrder): Promise<ServedPeer> {
  const manifest = installed(folder, '@wllama/wllama', '@wllama/wllama/package.json')
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string }
  const built = (path: string) => readFile(join(dirname(manifest), 'esm', path))
  const [module, wasm] = [await built('index.js'), await built('wasm/wllama.wasm')]
  const { gguf, ...same } = await sameWeights(order)
  try {
    const files = { [PATHS.module]: module, [PATHS.wasm]: wasm, [PATHS.gguf]: await readFile(gguf.path) }
    const addresses = (origin: string) => ({
      module: origin + PATHS.module,
      wasm: origin + PATHS.wasm,
      gguf: origin + PATHS.gguf,
    })
    const { vocabulary } = gguf
    return {
      files,
      at: (origin) =>
        onDevices(order.devices).map((gpu) => {
          return { ...same, ...addresses(origin), version, vocabulary, gpu, threads: order.threads }
        }),
    }
  } finally {
    await gguf.remove()
  }
}
