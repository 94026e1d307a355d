import type {
  ChatCall,
  ConstrainCall,
  Constrained,
  DecideCall,
  Decided,
  DetokenizeCall,
  EmbedCall,
  Embeddings,
  Engine,
  ExtractCall,
  Extracted,
  LoadProgress,
  ModelInfo,
  Part,
  RankCall,
  Ranking,
  TokenizeCall,
  TokenizedText,
} from '../../engine.js'
import { V1Error } from '../../errors.js'

export interface FallbackOptions {
  /**
   * How many calls the first engine is given at once; more go to the second without waiting.
   * @default no limit
   */
  maxInFlight?: number
}

/**
 * Two engines as one: the second takes what the first cannot: models it does not have, calls it refuses before their
 * first part for want of a device (503) or of room (429), and calls over `maxInFlight`. What has begun stays where it
 * is. Give both the same name for the model they share:
 *
 * ```ts
 * fallback(webgpu(), upstream({ baseURL, models: { 'local/llama': 'meta-llama/Llama-3.2-1B-Instruct' } }))
 * ```
 */
export function fallback(first: Engine, second: Engine, options: FallbackOptions = {}): Engine {
  return new Fallback(first, second, options.maxInFlight ?? Number.POSITIVE_INFINITY)
}

class Fallback implements Engine {
  readonly version = 2
  readonly #first: Engine
  readonly #second: Engine
  readonly #maxInFlight: number
  #inFlight = 0

  constructor(first: Engine, second: Engine, maxInFlight: number) {
    this.#first = first
    this.#second = second
    this.#maxInFlight = maxInFlight
  }

  get models(): readonly ModelInfo[] {
    const [first, second] = [this.#first, this.#second]
    // Either may answer for a model that both have: what it was is known only at the end.
    const named = first.models.map((model) => (has(second, model.id) ? { ...model, fingerprint: undefined } : model))
    return [...named, ...second.models.filter(({ id }) => !has(first, id))]
  }

  get ready(): Promise<void> {
    return Promise.all([this.#first.ready, this.#second.ready]).then(() => {})
  }

  async *generate(call: ChatCall): AsyncGenerator<Part> {
    const [first, second] = [this.#first, this.#second]
    const spare = has(second, call.model)
    if (!has(first, call.model) || (spare && this.#inFlight >= this.#maxInFlight)) return yield* second.generate(call)
    this.#inFlight++
    try {
      let begun = false
      try {
        for await (const part of first.generate(call)) {
          begun = true
          yield part
        }
        return
      } catch (error) {
        if (begun || !spare || call.signal.aborted || !isWant(error)) throw error
      }
    } finally {
      this.#inFlight--
    }
    yield* second.generate(call)
  }

  /** The first of the two that has the model; the other compiles for itself what it needs. */
  async constrain(call: ConstrainCall): Promise<Constrained | undefined> {
    const engine = has(this.#first, call.model) ? this.#first : this.#second
    return engine.constrain?.(call)
  }

  async embed(call: EmbedCall): Promise<Embeddings> {
    return this.#for(call.model, 'embed').embed!(call)
  }

  async rank(call: RankCall): Promise<Ranking> {
    return this.#for(call.model, 'rank').rank!(call)
  }

  async decide(call: DecideCall): Promise<Decided> {
    return this.#for(call.model, 'decide').decide!(call)
  }

  async extract(call: ExtractCall): Promise<Extracted> {
    return this.#for(call.model, 'extract').extract!(call)
  }

  async tokenize(call: TokenizeCall): Promise<TokenizedText> {
    return this.#for(call.model, 'tokenize').tokenize!(call)
  }

  async detokenize(call: DetokenizeCall): Promise<string> {
    return this.#for(call.model, 'detokenize').detokenize!(call)
  }

  /** The first of the two that has the model and can do this. */
  #for(model: string, what: 'embed' | 'rank' | 'decide' | 'extract' | 'tokenize' | 'detokenize'): Engine {
    const engine = [this.#first, this.#second].find((each) => has(each, model) && each[what] !== undefined)
    if (engine !== undefined) return engine
    throw new V1Error(400, `The model '${model}' cannot ${what} here.`, { param: 'model', code: 'unsupported_model' })
  }

  /** Of whichever engine has the model: the first may leave it to the second. */
  async learn(model: string, signal: AbortSignal): Promise<void> {
    for (const engine of [this.#first, this.#second]) if (has(engine, model)) await engine.learn?.(model, signal)
  }

  async load(model: string, onProgress: (progress: LoadProgress) => void, signal: AbortSignal): Promise<void> {
    const [first, second] = [this.#first, this.#second]
    if (!has(first, model)) return await second.load?.(model, onProgress, signal)
    try {
      await first.load?.(model, onProgress, signal)
    } catch (error) {
      if (!has(second, model) || signal.aborted || !isWant(error)) throw error
      await second.load?.(model, onProgress, signal)
    }
  }

  async unload(model: string): Promise<void> {
    await Promise.all([this.#first.unload?.(model), this.#second.unload?.(model)])
  }

  async remove(model: string): Promise<void> {
    await this.#first.remove?.(model)
    await this.#second.remove?.(model)
  }

  async survey(): Promise<void> {
    await Promise.all([this.#first.survey?.(), this.#second.survey?.()])
  }

  async close(): Promise<void> {
    await Promise.all([this.#first.close?.(), this.#second.close?.()])
  }
}

const has = ({ models }: Engine, model: string): boolean => models.some(({ id }) => id === model)

/** Of a device or of room: what another engine may have. */
function isWant(error: unknown): boolean {
  return V1Error.is(error) && (error.status === 503 || error.status === 429)
}
