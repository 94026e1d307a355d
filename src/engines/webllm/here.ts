import type { Engine } from '../../contract/index.js'
import {
  broken,
  type FileStore,
  fetchAll,
  folderFiles,
  mlc,
  RemoteFiles,
  storeFor,
  textOfMlc,
} from '../../models/index.js'
import { WebLlmEngine } from './engine.js'
import { probeGpu } from './gpu-probe.js'
import { localPath } from './host/local-files.js'
import type { WebLlmLibrary } from './library.js'
import type { WebLlmOptions } from './options.js'

export interface WebLlm extends Engine {
  /** Settles once the list of models and the device are known, as far as they can be. Never rejects. */
  readonly ready: Promise<void>
}

export interface Host {
  /** Where tokenizer and configuration are kept. */
  readonly store: FileStore
  /** Whether that is also where WebLLM looks for weights: then they are brought there first, verified. */
  readonly holdsWeights: boolean
}

/** The engine in this thread. */
export function webllmHere(
  options: WebLlmOptions,
  { store, holdsWeights }: Host = { store: storeFor(options.cache), holdsWeights: false },
): WebLlm {
  return new WebLlmEngine(options, {
    loadLibrary: options.loader ?? (() => importLibrary(options.library)),
    probeGpu,
    async readText(url, report, signal) {
      const local = url.startsWith('file:')
      const files = local ? folderFiles({ folder: localPath(url) }) : new RemoteFiles(url, store)
      if (local || !holdsWeights) return (await textOfMlc(files, signal)) ?? refuse(files.place)
      const found = (await mlc.detect(files, signal)) ?? refuse(files.place)
      await fetchAll(files, found.wanted, report, signal)
      return found.text
    },
    async forget(weights, library) {
      await store.forget(weights)
      if (holdsWeights && /^https?:/.test(library)) await store.forget(library)
      if (!holdsWeights && typeof caches !== 'undefined') await (await caches.open('webllm/wasm')).delete(library)
    },
  })
}

function refuse(place: string): never {
  throw broken(place, `it has no ${mlc.mark}.`)
}

function importLibrary(address: string | undefined): Promise<WebLlmLibrary> {
  // The first is written out for bundlers, the second is none of theirs.
  if (address === undefined) return import('@mlc-ai/web-llm')
  return import(/* @vite-ignore */ /* webpackIgnore: true */ address) as Promise<WebLlmLibrary>
}
