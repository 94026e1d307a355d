import type { OptionNames } from '../../platform/index.js'

export interface LlamaCppOptions {
  /**
   * The models to offer, each in a GGUF file: on this disk (`./model.gguf`), at Hugging Face (`hf:owner/repo:Q4_K_M`,
   * `owner/repo/file.gguf`), at an address, in the store of Ollama or LM Studio (`ollama:qwen3:0.6b`), or one of these
   * under an id of your own. Each is loaded on its first request.
   */
  readonly models: readonly (string | LlamaCppModelOptions)[]
  /**
   * What computes: `auto` uses a GPU that node-llama-cpp has a back end for (CUDA, Vulkan, Metal), and the CPU if there is
   * none.
   * @default 'auto'
   */
  readonly device?: 'auto' | 'cpu'
  /**
   * The most threads on the CPU.
   * @default as llama.cpp chooses
   */
  readonly threads?: number
  /**
   * How many answers of a model are computed at the same time. llama.cpp takes the memory of a whole context for each.
   * @default 4
   */
  readonly maxBatch?: number
  /**
   * Whether values that may be in the prompt are guessed in answers with a schema or a grammar, as in `webgpu`, and whether
   * draft models are used.
   * @default 'gaining'
   */
  readonly drafts?: 'gaining' | 'always' | 'never'
  /**
   * Where downloaded files are stored: the name of a folder.
   * @default a folder in the user's cache directory, the same as of `local-v1/core`
   */
  readonly cache?: string
  /**
   * Imports node-llama-cpp, when it is first needed.
   * @default () => import('node-llama-cpp')
   */
  readonly loader?: () => Promise<LlamaCppModule>
  /**
   * Called with what computes, and with llama.cpp's messages about faults.
   * @default console.info
   */
  readonly log?: (message: string) => void
}

export const LLAMA_CPP_OPTIONS: OptionNames<LlamaCppOptions> = {
  models: true,
  device: true,
  threads: true,
  maxBatch: true,
  drafts: true,
  cache: true,
  loader: true,
  log: true,
}

export interface LlamaCppModelOptions {
  /** `<namespace>/<model_name>`, the name that clients use. */
  readonly id: string
  /** Where its GGUF file is. */
  readonly from: string
  /**
   * The longest sequence, prompt and answer together, in tokens.
   * @default the model's own, at most 8192
   */
  readonly contextLength?: number
  /**
   * How many of its layers are computed on the GPU, if there is one.
   * @default as many as fit
   */
  readonly gpuLayers?: number
  /**
   * A smaller model with the same vocabulary, named like `from`: it guesses some tokens ahead, which this one then reads in
   * one pass. It is used if that is faster here, by the measured time and the share of right guesses (`drafts`). It is loaded
   * with this model, with as many layers on the GPU as fit. If its vocabulary differs, it is refused before anything is
   * downloaded.
   * @default none
   */
  readonly draft?: string
}

export const LLAMA_CPP_MODEL_OPTIONS: OptionNames<LlamaCppModelOptions> = {
  id: true,
  from: true,
  contextLength: true,
  gpuLayers: true,
  draft: true,
}

/** `node-llama-cpp`, as it is imported. */
export interface LlamaCppModule {
  readonly getLlama: (...options: never[]) => Promise<unknown>
}
