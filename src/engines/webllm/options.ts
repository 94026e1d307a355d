import type { OptionNames } from '../../platform/index.js'
import type { MLCEngineConfig, ModelRecord, WebLlmLibrary } from './library.js'

export interface WebLlmOptions {
  /**
   * The models to offer: the id of a prebuilt one (`mlc-ai/Qwen3-0.6B-q4f16_1-MLC`, or WebLLM's own name for it), or a
   * record of your own (`model`, `model_id`, `model_lib`). Each is loaded on its first request.
   * @default WebLLM's whole prebuilt list
   */
  readonly models?: readonly (string | ModelRecord)[]
  /**
   * Passed to each MLCEngine. `appConfig.model_list` replaces the prebuilt list. Logit processors are not used, because
   * local-v1 chooses the tokens.
   * @default WebLLM's own
   */
  readonly engineConfig?: Omit<MLCEngineConfig, 'logitProcessorRegistry'>
  /**
   * Imports WebLLM when it is first needed. If you set it, the engine runs in the calling thread, also in Node and Deno,
   * where the application must provide the globals that WebLLM needs.
   * @default () => import('@mlc-ai/web-llm')
   */
  readonly loader?: () => Promise<WebLlmLibrary>
  /**
   * What is imported as WebLLM if `loader` is not set: for a page without a bundler, the address of its module, because
   * workers do not use the page's import map.
   * @default '@mlc-ai/web-llm'
   */
  readonly library?: string
  /**
   * Models that this device cannot run: listed with the reason in `metadata.unavailable`, or left out.
   * @default 'list'
   */
  readonly unavailable?: 'list' | 'hide'
  /**
   * The most GPU memory for all loaded models together, in bytes, by WebLLM's own figures. The least recently used one is
   * unloaded to make room for another; a model that needs more than this is not available.
   * @default 8 GiB
   */
  readonly memoryBudget?: number
  /**
   * Where local-v1 stores the tokenizer and the configuration: the name of a folder, or `false` to store nothing.
   * @default WebLLM's own caches in browsers, a folder in the user's cache directory elsewhere
   */
  readonly cache?: string | false
  /**
   * Called if the list of models or the device could not be found out.
   * @default console.warn
   */
  readonly log?: (message: string) => void
}

export const WEBLLM_OPTIONS: OptionNames<WebLlmOptions> = {
  models: true,
  engineConfig: true,
  loader: true,
  library: true,
  unavailable: true,
  memoryBudget: true,
  cache: true,
  log: true,
}
