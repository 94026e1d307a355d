import type { ModelLocation, NamedBlob } from '../../models/index.js'

export interface WebGpuOptions {
  /**
   * The models to offer: a Hugging Face id (`mlc-ai/Qwen3-0.6B-q4f16_1-MLC`), the address of a repository, a local
   * folder (`./models/mine`), a GGUF file (`hf:owner/repo:Q4_K_M`, `owner/repo/file.gguf`, an address, `./model.gguf`),
   * a model in the store of Ollama or LM Studio (`ollama:qwen3:0.6b`, `lmstudio:owner/repo`), or one of these under an id of your own. Each is loaded on its first request.
   */
  readonly models: readonly (string | ModelOptions)[]
  /**
   * Where models run. `auto` takes a real GPU, and the CPU where there is none or only one in software; `webgpu` takes
   * whatever adapter there is.
   * @default 'auto'
   */
  readonly device?: DevicePreference
  /**
   * Where downloaded files are kept: the name of a folder, or `false` to keep nothing.
   * @default the Cache API in browsers, a folder in the user's cache directory elsewhere
   */
  readonly cache?: string | false
  /**
   * Shares files whose SHA-256 the hub names with other sites, where the browser has the proposed Cross-Origin Storage
   * (`navigator.crossOriginStorage`): what another site has downloaded is not downloaded again. `true`: any site may find
   * what this one writes, as far as the browser allows it; a list of origins: these alone, and the same site. Such files
   * are no part of `kept_bytes`, and a page cannot delete them. Without that storage, or where it refuses, `cache` is used.
   * @default false
   */
  readonly crossOriginStorage?: boolean | readonly string[]
  /**
   * Device memory that loaded models may take together, in bytes. The one that was not used longest is unloaded to make
   * room for another.
   * @default 8 GiB on a GPU, 3 GiB on the CPU
   */
  readonly memoryBudget?: number
  /**
   * Answers that are computed side by side, per model.
   * @default 8
   */
  readonly maxBatch?: number
  /**
   * Whether values that may stand in the prompt are guessed where a schema or a grammar holds the answer: what was guessed
   * right takes no pass of its own. `gaining`: as far as that was quicker here, whole runs of steps with guesses and without
   * compared; `always`: as far as there is room. The answer is the same in any case.
   * @default 'gaining'
   */
  readonly drafts?: 'gaining' | 'always' | 'never'
  /**
   * Threads of the CPU device, at most: a pass too small to gain from several is computed by one. Answers do not depend
   * on it. A page needs to be cross-origin isolated for more than one. Take one less than there are cores where others
   * need one all the time.
   * @default all cores of up to four, half of more, at most 8
   */
  readonly threads?: number
  /**
   * Whether the engine computes in a worker: prompts, schemas, masks and the model itself, so that the thread that answers
   * HTTP computes nothing, and whatever computes without end is ended after 10 s, with an error that names it, and begun
   * anew. Where no worker can be started it computes in the calling thread, and `/v1/models` says why (`worker_reason`). A
   * page has this by `serviceWorker(v1)`, whatever is said here.
   * @default true in Node, Deno and Bun
   */
  readonly worker?: boolean
  /**
   * Is told, once, which device was taken and why; and before a download what this site has no room to keep.
   * @default console.info
   */
  readonly log?: (message: string) => void
}

export interface ModelOptions {
  /** `<namespace>/<model_name>`, by which clients ask for it. */
  readonly id: string
  /**
   * A Hugging Face id, the address of a repository, a local folder, a GGUF file, a model of another program's, a
   * file that `keepFile` keeps, or a `File` itself (all parts of a GGUF that is split).
   * @default the id itself, at Hugging Face
   */
  readonly from?: string | NamedBlob | readonly NamedBlob[]
  /**
   * The longest sequence, prompt and answer together, in tokens.
   * @default the model's own, at most 8192
   */
  readonly contextLength?: number
  /**
   * Tokens that the cache holds over all answers that run side by side, at most: its memory is taken as it is used. On a
   * GPU it begins with 1,024 tokens, and is twice as large each time that it is full; where the device has no memory for
   * that, it stays as it is, and answers share what there is. The CPU device touches it page by page. Both give it back with the
   * model.
   * @default one whole context and 512 tokens more for each further answer of `maxBatch`, where these take no more than
   * 512 MiB and half the largest buffer of the device
   */
  readonly cacheTokens?: number
  /**
   * How keys and values are kept. `q8_0`: an 8-bit cache, whole numbers of 8 bits and a scale in f16 for each 32 values, as
   * llama.cpp's; it takes 17 of 32 bytes of one in f16, and models of heads that are no multiple of 32, or that keep no
   * keys and values (embeddings, rerankers), are refused with it.
   * @default f16, and f32 beside weights in full precision
   */
  readonly cacheType?: 'q8_0'
  /**
   * What weights in full precision (safetensors) become while they are loaded: 4 bits take a quarter of the memory of
   * f16 and are read faster.
   * @default they stay as they are
   */
  readonly quantize?: 'q4f16_1'
  /**
   * A smaller model of the same vocabulary, named as `from` is: it guesses some tokens ahead, which this one then reads
   * in one pass. On where that is quicker here, by the measured time and share of right guesses (`drafts`); what is
   * answered is the same, token for token. It is loaded with this one, counts against memory, and is refused, before
   * anything is downloaded, where its vocabulary differs.
   * @default none
   */
  readonly draft?: string
  /**
   * What the download takes, in bytes, where it is known beforehand: shown in `/v1/models` as `download_bytes`.
   * @default not shown
   */
  readonly downloadBytes?: number
  /**
   * What the model will take of the device's memory, in bytes, where it is known beforehand: shown as `memory_bytes`
   * until it is loaded and the real figure is known.
   * @default not shown
   */
  readonly memoryBytes?: number
  /**
   * What `local-v1 calibrate` has fitted for it. Decisions are told by it where a request says `calibrated`.
   * @default none: such a request is refused
   */
  readonly calibration?: Calibration
}

/**
 * Temperatures that were fitted on examples, by the order in which options are asked: of one a model is surer than of the
 * mean of several.
 */
export type Calibration = Readonly<Partial<Record<'given' | 'average', number>>>

export type DevicePreference = 'auto' | 'webgpu' | 'cpu'

/** A model as the engine offers it. */
export interface OfferedModel extends ModelOptions {
  readonly location: ModelLocation
}
