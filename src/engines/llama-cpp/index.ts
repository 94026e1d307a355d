import type { Engine } from '../../contract/index.js'
import { describeRepository, forget, openOnDisk } from '../../models/index.js'
import { LlamaCppEngine } from './engine.js'
import type { LlamaCppLibrary } from './library.js'
import type { LlamaCppOptions } from './options.js'

export type { LlamaCppModelOptions, LlamaCppModule, LlamaCppOptions } from './options.js'

/** For whoever has no bundler resolve it: it is native code, and only where it was asked for. */
const PACKAGE = 'node-llama-cpp'

/**
 * Models in GGUF files by llama.cpp's own code (node-llama-cpp: its prebuilt back ends for CPUs, CUDA, Vulkan and Metal), as
 * the forward pass under local-v1's own decoding: prompts, JSON Schema, seeds, stops, tools and decisions are as with every
 * other engine, and nobody compiles anything. In Node, Bun and Electron.
 *
 * ```ts
 * const v1 = createV1({ engine: llamaCpp({ models: ['hf:owner/repo:Q4_K_M'] }), keys: 'none' })
 * ```
 */
export function llamaCpp(options: LlamaCppOptions): Engine {
  const { cache, loader, log: warn } = options
  const load = loader ?? (() => import(/* @vite-ignore */ /* webpackIgnore: true */ PACKAGE))
  return new LlamaCppEngine(options, {
    // Nothing of it is called that `library.ts` does not name.
    loadLibrary: load as () => Promise<LlamaCppLibrary>,
    openFile: (place, report, signal, check) => openOnDisk(place, { report, signal, cache, warn, check }),
    describe: (place, signal) => describeRepository(place, { signal, cache }),
    forget: (place) => forget(place, cache),
  })
}
