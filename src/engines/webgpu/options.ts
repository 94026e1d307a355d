import type { ModelLocation, NamedBlob } from '../../models/index.js'
import type { CacheTypeChoice, OptionNames } from '../../platform/index.js'

export interface WebGpuOptions {
  /**
   * The models to offer: a Hugging Face id (`mlc-ai/Qwen3-0.6B-q4f16_1-MLC`), the address of a repository, a local
   * folder (`./models/mine`), a GGUF file (`hf:owner/repo:Q4_K_M`, `owner/repo/file.gguf`, an address, `./model.gguf`),
   * a model in the store of Ollama or LM Studio (`ollama:qwen3:0.6b`, `lmstudio:owner/repo`), or one of these under an id of your own. Each is loaded on its first request.
   */
  readonly models: readonly (string | ModelOptions)[]
  /**
   * Where models run. `auto` uses a real GPU, and the CPU if there is none or only an emulated one; `webgpu` uses any
   * adapter.
   * @default 'auto'
   */
  readonly device?: DevicePreference
  /**
   * Where downloaded files are stored: the name of a folder, or `false` to store nothing.
   * @default the Cache API in browsers, a folder in the user's cache directory elsewhere
   */
  readonly cache?: string | false
  /**
   * Shares files whose SHA-256 the hub publishes with other sites, if the browser has the proposed Cross-Origin Storage
   * (`navigator.crossOriginStorage`): what another site has downloaded is not downloaded again. `true`: any site may find
   * these files, as far as the browser allows it; a list of origins: only these and the same site. Such files do not count
   * in `kept_bytes`, and a page cannot delete them. Without that storage, or if it refuses, `cache` is used.
   * @default false
   */
  readonly crossOriginStorage?: boolean | readonly string[]
  /**
   * The most device memory for all loaded models together, in bytes. The least recently used one is unloaded to make room
   * for another, once its answers have ended; if it always has more, eight more at most begin before.
   * @default 8 GiB on a GPU, 3 GiB on the CPU
   */
  readonly memoryBudget?: number
  /**
   * How many answers of a model are computed at the same time.
   * @default 8
   */
  readonly maxBatch?: number
  /**
   * Whether values that may be in the prompt are guessed in answers with a schema or a grammar: a right guess needs no pass
   * of its own. `gaining`: if that was faster here, by comparing runs of steps with guesses and without; `always`: as far as
   * there is room. The answer is always the same.
   * @default 'gaining'
   */
  readonly drafts?: 'gaining' | 'always' | 'never'
  /**
   * The most threads of the CPU device; a small pass is computed by one. Answers do not depend on it. A page must be
   * cross-origin isolated to use more than one. If other programs always need a core, use one thread less than there are
   * cores.
   * @default the number of cores if that is up to four, else half of it, at most 8
   */
  readonly threads?: number
  /**
   * Has V8 compile the CPU device's kernels in 256 bits instead of 128, by its flag `--experimental-wasm-revectorize`: an
   * experiment of V8, in Node 24 to 26 on x64. Prompts are then read faster, and answers stay the same. The flag is set for
   * the whole process for about a tenth of a second. Then these kernels are tried: if they compute anything else than the
   * usual ones, or are no faster, the usual ones are used. `device_name` in `/v1/models` says what is used; `local-v1 doctor`
   * says what it would bring. `true`: before the first answer; elsewhere it is refused. `later`: once the device has computed
   * nothing for a second, and where it cannot be had, never. `false`: never.
   * @default 'later' in the engine's own worker, else false
   */
  readonly revectorize?: boolean | 'later'
  /**
   * Whether the engine computes in a worker: prompts, schemas, masks and the model itself. Then the thread that answers
   * HTTP computes nothing, and a worker that is stuck for 10 s is ended, with an error that names the request, and started
   * again. If no worker can be started, it computes in the calling thread, and `/v1/models` says why (`worker_reason`). In a
   * page, `serviceWorker(v1)` provides the worker, whatever is set here.
   * @default true in Node, Deno and Bun
   */
  readonly worker?: boolean
  /**
   * Called once with the device that is used and why, and before a download that this site has no room to store.
   * @default console.info
   */
  readonly log?: (message: string) => void
}

export const WEBGPU_OPTIONS: OptionNames<WebGpuOptions> = {
  models: true,
  device: true,
  cache: true,
  crossOriginStorage: true,
  memoryBudget: true,
  maxBatch: true,
  drafts: true,
  threads: true,
  revectorize: true,
  worker: true,
  log: true,
}

export interface ModelOptions {
  /** `<namespace>/<model_name>`, the name that clients use. */
  readonly id: string
  /**
   * A Hugging Face id, the address of a repository, a local folder, a GGUF file, a model of another program, a file that
   * `keepFile` stored, or a `File` itself (all parts of a split GGUF).
   * @default the id itself, at Hugging Face
   */
  readonly from?: string | NamedBlob | readonly NamedBlob[]
  /**
   * The longest sequence, prompt and answer together, in tokens.
   * @default the model's own, at most 8192
   */
  readonly contextLength?: number
  /**
   * The most tokens in the cache, for all answers that run at the same time. It takes memory only when it is used. On a GPU
   * it begins with 1,024 tokens and doubles each time that it is full; if the device has no memory for that, it stays as it
   * is, and answers share it. On the CPU, memory is taken page by page. Both free it when the model is unloaded.
   * @default one whole context and 512 tokens more for each further answer of `maxBatch`, if these take no more than
   * 512 MiB and half the largest buffer of the device
   */
  readonly cacheTokens?: number
  /**
   * How keys and values are stored: `f16`, or integers of 8 or 4 bits and a scale in f16 for each 32 values, as in llama.cpp.
   * Models whose head size is not a multiple of 32, or that keep no keys and values (embeddings, rerankers), are refused with
   * these. `auto`: when the model is loaded for the first time, it reads a text of 128 tokens with f16 and with 8 bits, and 8
   * bits are used if the distributions are less than 0.0025 nats apart on average. The result is stored with a downloaded
   * model; `cache_type` and `cache_type_reason` in `/v1/models` say it. Weights in f32 are refused with it.
   * @default on the CPU what the model's own files name (`cpu_cache_type` in mlc-chat-config.json: `q8_0` of local-v1/nano),
   * else `auto` for a downloaded model that can be asked; f16 elsewhere, and f32 if the weights are in f32
   */
  readonly cacheType?: CacheTypeChoice
  /**
   * Converts weights in full precision (safetensors) to 4 bits while they are loaded: they take a quarter of the memory of
   * f16 and are read faster.
   * @default no conversion
   */
  readonly quantize?: 'q4f16_1'
  /**
   * A smaller model with the same vocabulary, named like `from`: it guesses some tokens ahead, which this one then reads in
   * one pass. It is used if that is faster here, by the measured time and the share of right guesses (`drafts`); the answer
   * is the same, token for token. It is loaded with this model and counts towards memory. If its vocabulary differs, it is
   * refused before anything is downloaded.
   * @default none
   */
  readonly draft?: string
  /**
   * The size of the download in bytes, if you know it: shown in `/v1/models` as `download_bytes`.
   * @default not shown
   */
  readonly downloadBytes?: number
  /**
   * The device memory that the model will need, in bytes, if you know it: shown as `memory_bytes` until the model is
   * loaded and the real figure is known.
   * @default not shown
   */
  readonly memoryBytes?: number
  /**
   * The temperatures that `local-v1 calibrate` fitted. Decisions use them if a request says `calibrated`.
   * @default none: such a request is refused
   */
  readonly calibration?: Calibration
}

export const MODEL_OPTIONS: OptionNames<ModelOptions> = {
  id: true,
  from: true,
  contextLength: true,
  cacheTokens: true,
  cacheType: true,
  quantize: true,
  draft: true,
  downloadBytes: true,
  memoryBytes: true,
  calibration: true,
}

/**
 * Temperatures that were fitted on examples, for each `order` of the options: with one order a model is more sure than with
 * the mean of several.
 */
export type Calibration = Readonly<Partial<Record<'given' | 'average', number>>>

export type DevicePreference = 'auto' | 'webgpu' | 'cpu'

/** A model as the engine offers it. */
export interface OfferedModel extends ModelOptions {
  readonly location: ModelLocation
}
