import type { Engine } from '../../engine.js'
import { openText } from '../webgpu/weights/open.js'
import { WebLlmEngine } from './engine.js'
import { probeGpu } from './gpu-probe.js'
import type { WebLlmOptions } from './options.js'

export type { WebLlmOptions } from './options.js'

export interface WebLlm extends Engine {
  /** Settles once the list of models and the device are known, as far as they can be. Never rejects. */
  readonly ready: Promise<void>
}

/**
 * WebLLM's models, as the forward pass under local-v1's own decoding: prompts, JSON Schema, seeds, stops and tools are
 * as with every other engine.
 *
 * ```ts
 * const v1 = createV1({ engine: webllm({ models: ['mlc-ai/Qwen3-0.6B-q4f16_1-MLC'] }), keys: 'none' })
 * ```
 */
export function webllm(options: WebLlmOptions = {}): WebLlm {
  return new WebLlmEngine(options, {
    loadLibrary: options.loader ?? (() => import('@mlc-ai/web-llm')),
    probeGpu,
    readText: (url, report, signal) => openText({ kind: 'url', url }, { report, signal, cache: options.cache }),
  })
}
