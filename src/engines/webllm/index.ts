import { assertOptions } from '../../platform/index.js'
import type { WebLlm } from './here.js'
import { webllmHere } from './here.js'
import { isOutsideBrowsers } from './host/become-page.js'
import { WEBLLM_OPTIONS, type WebLlmOptions } from './options.js'
import { webllmInWorker } from './worker/in-worker.js'

export type { WebLlm } from './here.js'
export type { WebLlmOptions } from './options.js'

/**
 * WebLLM's models, as the forward pass under local-v1's own decoding: prompts, JSON Schema, seeds, stops and tools are
 * as with every other engine. In a browser it runs in the calling thread (`local-v1/webllm/worker` has it in a worker
 * there too); in Node and Deno in a worker that looks like a page, which WebLLM needs and the application is spared.
 *
 * ```ts
 * const v1 = createV1({ engine: webllm({ models: ['mlc-ai/Qwen3-0.6B-q4f16_1-MLC'] }), keys: 'none' })
 * ```
 */
export function webllm(options: WebLlmOptions = {}): WebLlm {
  assertOptions('webllm', options, WEBLLM_OPTIONS)
  return options.loader === undefined && isOutsideBrowsers() ? webllmInWorker(options) : webllmHere(options)
}
