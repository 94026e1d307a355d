export interface LlamaCppOptions {
  /**
   * The models to offer, each in a GGUF file: on this disk (`./model.gguf`), at Hugging Face (`hf:owner/repo:Q4_K_M`,
   * `owner/repo/file.gguf`), at an address, in the store of Ollama or LM Studio (`ollama:qwen3:0.6b`), or one of these
   * under an id of your own. Each is loaded on its first request.
   */
  readonly models: readonly (string | LlamaCppModelOptions)[]
  /**
   * What computes: `auto` takes a GPU that node-llama-cpp has a back end for (CUDA, Vulkan, Metal), and the CPU where there
   * is none.
   * @default 'auto'
   */
  readonly device?: 'auto' | 'cpu'
  /**
   * Threads on the CPU, at most.
   * @default as llama.cpp chooses
   */
  readonly threads?: number
  /**
   * Answers that are computed side by side, per model. llama.cpp takes the memory of a whole context for each of them.
   * @default 4
   */
  readonly maxBatch?: number
  /**
   * Whether values that may stand in the prompt are guessed where a schema or a grammar holds the answer, as `webgpu` does.
   * @default 'gaining'
   */
  readonly drafts?: 'gaining' | 'always' | 'never'
  /**
   * Where downloaded files are kept: the name of a folder.
   * @default a folder in the user's cache directory, which `local-v1/webgpu` has too
   */
  readonly cache?: string
  /**
   * Imports node-llama-cpp, when it is first needed.
   * @default () => import('node-llama-cpp')
   */
  readonly loader?: () => Promise<LlamaCppModule>
  /**
   * Is told what computes, and what llama.cpp says of faults.
   * @default console.info
   */
  readonly log?: (message: string) => void
}

export interface LlamaCppModelOptions {
  /** `<namespace>/<model_name>`, by which clients ask for it. */
  readonly id: string
  /** Where its GGUF file is. */
  readonly from: string
  /**
   * The longest sequence, prompt and answer together, in tokens.
   * @default the model's own, at most 8192
   */
  readonly contextLength?: number
  /**
   * How many of its layers are computed on the GPU, where there is one.
   * @default as many as fit
   */
  readonly gpuLayers?: number
}

/** `node-llama-cpp`, as it is imported. */
export interface LlamaCppModule {
  readonly getLlama: (...options: never[]) => Promise<unknown>
}
