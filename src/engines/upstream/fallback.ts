import {
  type ChatCall,
  type Classified,
  type ClassifyCall,
  type ConstrainCall,
  type Constrained,
  type DecideCall,
  type Decided,
  type DetokenizeCall,
  type EmbedCall,
  type Embeddings,
  type Engine,
  type ExtractCall,
  type Extracted,
  type LoadProgress,
  type ModelInfo,
  modelCannot,
  type Part,
  type PointCall,
  type PointedText,
  type RankCall,
  type Ranking,
  type TokenizeCall,
  type TokenizedText,
  type TokenizerInfoCall,
  V1Error,
} from '../../contract/index.js'
import { assertOptions } from '../../platform/index.js'

export interface FallbackOptions {
  /**
   * How many calls the first engine runs at once; more go to the second without waiting.
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
  assertOptions<FallbackOptions>('fallback', options, { maxInFlight: true })
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
    const named = first.models.map((model) => {
      const spare = second.models.find(({ id }) => id === model.id)
      // Either may answer for a model that both have: what it was is known only at the end.
      return spare === undefined ? model : { ...model, fingerprint: undefined, ...eitherOf(model, spare) }
    })
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

  async point(call: PointCall): Promise<PointedText | undefined> {
    const engine = has(this.#first, call.model) ? this.#first : this.#second
    return engine.point?.(call)
  }

  async embed(call: EmbedCall): Promise<Embeddings> {
    return this.#ask(call, 'embed', (engine) => engine.embed!(call))
  }

  async rank(call: RankCall): Promise<Ranking> {
    return this.#ask(call, 'rank', (engine) => engine.rank!(call))
  }

  async classify(call: ClassifyCall): Promise<Classified> {
    return this.#ask(call, 'classify', (engine) => engine.classify!(call))
  }

  async decide(call: DecideCall): Promise<Decided> {
    return this.#ask(call, 'decide', (engine) => engine.decide!(call))
  }

  async extract(call: ExtractCall): Promise<Extracted> {
    return this.#ask(call, 'extract', (engine) => engine.extract!(call))
  }

  async tokenize(call: TokenizeCall): Promise<TokenizedText> {
    return this.#ask(call, 'tokenize', (engine) => engine.tokenize!(call))
  }

  async detokenize(call: DetokenizeCall): Promise<string> {
    return this.#ask(call, 'detokenize', (engine) => engine.detokenize!(call))
  }

  async tokenizerInfo(call: TokenizerInfoCall): Promise<Readonly<Record<string, unknown>>> {
    return this.#ask(call, 'tokenizerInfo', (engine) => engine.tokenizerInfo!(call))
  }

  /** The first of the two that can do this with the model; the second where it can too and the first wants for something. */
  async #ask<T>(
    { model, signal }: { readonly model: string; readonly signal: AbortSignal },
    method: Single,
    ask: (engine: Engine) => Promise<T>,
  ): Promise<T> {
    const able = [this.#first, this.#second].filter((engine) => has(engine, model) && engine[method] !== undefined)
    // A method alone says little: an engine in another thread has them all.
    const [engine, spare] = able.some((each) => isCapable(each, model, method))
      ? able.filter((each) => isCapable(each, model, method))
      : able
    if (engine === undefined) {
      throw modelCannot(model, `cannot ${method} here`)
    }
    try {
      return await ask(engine)
    } catch (error) {
      if (spare === undefined || signal.aborted || !isWant(error)) throw error
      return ask(spare)
    }
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

/** What is answered at once, and the capability that says so of a model, where one does. */
type Single = 'embed' | 'rank' | 'classify' | 'decide' | 'extract' | 'tokenize' | 'detokenize' | 'tokenizerInfo'
const NEEDS: Readonly<Partial<Record<Single, 'embeddings' | 'rerank' | 'classify' | 'decisions' | 'extractions'>>> = {
  embed: 'embeddings',
  rank: 'rerank',
  classify: 'classify',
  decide: 'decisions',
  extract: 'extractions',
}

function isCapable({ models }: Engine, model: string, method: Single): boolean {
  const capability = NEEDS[method]
  return capability === undefined || models.find(({ id }) => id === model)?.capabilities?.[capability] === true
}

/** What either of two can, both can together, where it is answered at once. */
function eitherOf(
  { capabilities: own }: ModelInfo,
  { capabilities: other }: ModelInfo,
): Pick<ModelInfo, 'capabilities'> {
  // Fields are no such thing: who does not extract may write them.
  const more = (['embeddings', 'rerank', 'classify', 'decisions'] as const).filter(
    (name) => !own?.[name] && other?.[name],
  )
  if (more.length === 0) return {}
  // Who decides says whether it calibrates.
  const calibrated = more.includes('decisions') ? { calibrated: other?.calibrated } : {}
  return { capabilities: { ...own, ...calibrated, ...Object.fromEntries(more.map((name) => [name, true])) } }
}

const has = ({ models }: Engine, model: string): boolean => models.some(({ id }) => id === model)

/** Of a device or of room: what another engine may have. */
function isWant(error: unknown): boolean {
  return V1Error.is(error) && (error.status === 503 || error.status === 429)
}
