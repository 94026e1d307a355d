import type { MLCEngineConfig, ModelRecord, WebLlmLibrary } from './library.js'

export interface WebLlmOptions {
  /**
   * The models to offer: the id of a prebuilt one (`mlc-ai/Qwen3-0.6B-q4f16_1-MLC`, or WebLLM's own name for it), or a
   * record of your own (`model`, `model_id`, `model_lib`). Each is loaded on its first request.
   * @default WebLLM's whole prebuilt list
   */
  readonly models?: readonly (string | ModelRecord)[]
  /**
   * Passed to each MLCEngine. `appConfig.model_list` takes the place of the prebuilt list. Logit processors are not
   * taken: tokens are chosen by local-v1.
   * @default WebLLM's own
   */
  readonly engineConfig?: Omit<MLCEngineConfig, 'logitProcessorRegistry'>
  /**
   * Imports WebLLM, when it is first needed. With a function the engine runs in the calling thread, in Node and Deno too,
   * where WebLLM then finds only what the application has given its globals.
   * @default () => import('@mlc-ai/web-llm')
   */
  readonly loader?: () => Promise<WebLlmLibrary>
  /**
   * What is imported for WebLLM where `loader` is not given: the address of its module for a page without a bundler,
   * whose import map its workers do not know.
   * @default '@mlc-ai/web-llm'
   */
  readonly library?: string
  /**
   * Models that this device cannot run: listed with the reason in `metadata.unavailable`, or left out.
   * @default 'list'
   */
  readonly unavailable?: 'list' | 'hide'
  /**
   * GPU memory that loaded models may take together, in bytes, by WebLLM's own figures. The one that was not used
   * longest is unloaded to make room for another; a model that needs more than all of it is not available.
   * @default 8 GiB
   */
  readonly memoryBudget?: number
  /**
   * Where tokenizer and configuration are kept for us: the name of a folder, or `false` to keep nothing.
   * @default WebLLM's own caches in browsers, a folder in the user's cache directory elsewhere
   */
  readonly cache?: string | false
  /**
   * Is told what could not be found out: the list of models, the device.
   * @default console.warn
   */
  readonly log?: (message: string) => void
}
