import type { InitProgressCallback, LogitProcessor, MLCEngineConfig } from '@mlc-ai/web-llm'
import { drawKey, gumbel, mix } from '../../device/sampling.js'
import { smallTokenizer } from '../../generate/testing/small-tokenizer.test-helper.js'
import type { ForwardEngine, ModelRecord, WebLlmLibrary } from './library.js'

export const files = smallTokenizer()
const names = new Map(files.tokenizer.added_tokens.map(({ content, id }) => [content, id]))
/** The real tokens; WebLLM's logits are padded. */
export const TOKENS = Math.max(...names.values()) + 1
export const PADDED = TOKENS + 37
export const WINDOW = 400
const PREFILL_CHUNK = 32

export const chatConfig = {
  vocab_size: PADDED,
  context_window_size: WINDOW,
  prefill_chunk_size: PREFILL_CHUNK,
  tokenizer_files: ['tokenizer.json', 'tokenizer_config.json'],
}

/** A model without weights: every token of the sequence counts, so that a wrong cache shows in the next token. */
export function logitsAfter(tokens: readonly number[]): Float32Array {
  const key = drawKey(
    tokens.reduce((hash, token, i) => mix(hash ^ Math.imul(token + 1, 31 + i)), 7),
    tokens.length,
  )
  const logits = new Float32Array(PADDED).map((_, id) => gumbel(key, id))
  logits[names.get('<|im_end|>')!]! += 2.5
  // Greater than all real ones, as nothing keeps padding from being.
  return logits.fill(50, TOKENS)
}

const nextTurn = () =>
  new Promise<void>((resolve) => (typeof setImmediate === 'function' ? setImmediate(resolve) : setTimeout(resolve)))

/** What a stand-in engine did. */
export interface Seen {
  readonly created: MLCEngineConfig[]
  readonly forwards: number[]
  resets: number
  unloads: number
  readonly live: Set<StandIn>
}

export interface Behaviour {
  /** Runs within each forward pass. */
  readonly forward?: (engine: StandIn) => Promise<void> | void
  /** Runs within `reload`, while it fetches. */
  readonly fetch?: (modelId: string) => Promise<void> | void
  readonly spoil?: (logits: Float32Array) => void
}

/** The public surface of MLCEngine as it behaves, traps included, over `logitsAfter`. */
export class StandIn implements ForwardEngine {
  readonly #config: MLCEngineConfig
  readonly #seen: Seen
  readonly #behaviour: Behaviour
  readonly #progress: InitProgressCallback | undefined
  #model: { id: string; settings: Record<string, unknown>; processor: LogitProcessor | undefined } | undefined
  #cache: number[] = []
  #fetching: AbortController | undefined
  #running = false
  #disposed = false

  constructor(config: MLCEngineConfig = {}, seen: Seen, behaviour: Behaviour) {
    this.#config = config
    this.#seen = seen
    this.#behaviour = behaviour
    this.#progress = config.initProgressCallback
    seen.created.push(config)
  }

  reload: ForwardEngine['reload'] = async (modelId, options) => {
    await this.unload()
    const id = [modelId].flat()[0]!
    const record = this.#config.appConfig?.model_list.find((each) => each.model_id === id)
    if (record === undefined) throw new Error(`Cannot find model record in appConfig for ${id}.`)
    this.#fetching = new AbortController()
    const { signal } = this.#fetching
    const tell = (text: string, progress: number) => this.#progress?.({ text, progress, timeElapsed: 1 })
    tell('Start to fetch params', 0)
    tell('Fetching param cache[1/2]: 2MB fetched. 50% completed, 1 secs elapsed. It can take a while.', 0.5)
    await this.#behaviour.fetch?.(id)
    // It returns as if all were well.
    if (signal.aborted) return
    tell('Loading model from cache[2/2]: 4MB loaded. 100% completed, 1 secs elapsed.', 1)
    tell('Loading GPU shader modules[3/9]: 33% completed, 1 secs elapsed.', 0.33)
    const settings = { ...chatConfig, ...record.overrides, ...[options].flat()[0] }
    this.#model = { id, settings, processor: this.#config.logitProcessorRegistry?.get(id) }
    this.#cache = []
    this.#seen.live.add(this)
    tell('Finish loading on WebGPU - stand-in', 1)
  }

  unload = async (): Promise<void> => {
    if (this.#model !== undefined) this.#seen.unloads++
    this.#model = undefined
    this.#seen.live.delete(this)
    this.#fetching?.abort()
  }

  /** It unloads itself and tells nobody. */
  lose(): void {
    this.#disposed = true
    void this.unload()
  }

  getMessage = async (modelId?: string): Promise<string> => {
    this.#loaded(modelId)
    return ''
  }

  resetChat = async (_keepStats?: boolean, modelId?: string): Promise<void> => {
    if (this.#model === undefined) return
    this.#loaded(modelId)
    this.#seen.resets++
    this.#cache = []
    this.#model.processor?.resetState()
  }

  forwardTokensAndSample = async (tokens: number[], _isPrefill: boolean, modelId?: string): Promise<number> => {
    const { settings, processor } = this.#loaded(modelId)
    // It takes no lock: two at once would mix their sequences.
    if (this.#running) throw new Error('Two forward passes at once.')
    this.#running = true
    try {
      if (tokens.length === 0) throw new Error('Cannot read properties of undefined')
      for (let from = 0; from < tokens.length; from += PREFILL_CHUNK) {
        this.#seen.forwards.push(Math.min(PREFILL_CHUNK, tokens.length - from))
        await this.#behaviour.forward?.(this)
        await nextTurn()
        if (this.#disposed) throw new Error('Module has already been disposed')
      }
      this.#cache.push(...tokens)
      if (this.#cache.length > WINDOW) throw new Error('The cache has overflowed.')
      const logits = logitsAfter(this.#cache)
      this.#behaviour.spoil?.(logits)
      const processed = processor?.processLogits(logits) ?? logits
      if (processed.length !== PADDED) throw new Error('We expect the size of logits to remain unchanged')
      const token = sampleTopP(processed, settings)
      processor?.processSampledToken(token)
      return token
    } finally {
      this.#running = false
    }
  }

  #loaded(modelId?: string) {
    if (this.#model === undefined) throw new Error('Model not loaded before trying to complete ModelNotLoadedError.')
    if (modelId !== undefined && modelId !== this.#model.id) throw new Error(`Specified model ${modelId} is not found.`)
    return this.#model
  }
}

/** Its sampler: over the processed logits, with the model's own settings, which must all be there. */
function sampleTopP(logits: Float32Array, settings: Record<string, unknown>): number {
  const within = (name: string, least: number, most: number) => {
    const value = settings[name] as number
    if (!(value >= least && value <= most)) throw new RangeError(`Make sure ${least} < ${name} <= ${most}`)
    return value
  }
  const temperature = Math.max(1e-6, within('temperature', 0, Infinity))
  const topP = within('top_p', 1e-5, 1)
  within('repetition_penalty', 1e-9, Infinity)
  within('frequency_penalty', -2, 2)
  within('presence_penalty', -2, 2)
  const greatest = logits.reduce((a, b) => Math.max(a, b))
  const weights = Array.from(logits, (logit, id) => ({ id, weight: Math.exp((logit - greatest) / temperature) }))
  weights.sort((a, b) => b.weight - a.weight)
  const total = weights.reduce((sum, { weight }) => sum + weight, 0)
  let mass = 0
  const nucleus = weights.filter(({ weight }) => {
    const inside = mass < topP * total
    mass += weight
    return inside
  })
  return nucleus[Math.floor(Math.random() * nucleus.length)]!.id
}

export function record(name: string, part: Partial<ModelRecord> = {}): ModelRecord {
  return {
    model: `https://huggingface.co/test/${name}`,
    model_id: name,
    model_lib: `https://libs.example/${name}.wasm`,
    vram_required_MB: 100,
    ...part,
  }
}

/** The library with stand-in engines. */
export function standInLibrary(records: ModelRecord[], behaviour: Behaviour = {}) {
  const seen: Seen = { created: [], forwards: [], resets: 0, unloads: 0, live: new Set() }
  const library: WebLlmLibrary = {
    MLCEngine: class extends StandIn {
      constructor(config?: MLCEngineConfig) {
        super(config, seen, behaviour)
      }
    },
    ModelType: { embedding: 1 },
    prebuiltAppConfig: { model_list: records },
    modelVersion: 'v0_0_0',
  }
  return { library, seen }
}
