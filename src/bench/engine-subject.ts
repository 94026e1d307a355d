/** Any engine of the contract as something to measure. */
import type { ChatCall, Engine } from '../contract/index.js'
import { chatCallOf, timed } from './clock.js'
import type { ExtractionUnderTest } from './extraction-subject.js'
import { promptText } from './prompts.js'
import { questionOf } from './scenarios/decide.js'
import type {
  About,
  BenchPart,
  DecisionsTiming,
  DecisionsTrial,
  EngineUnderTest,
  Question,
  Subject,
  SubjectAnswer,
} from './subject.js'
import { now } from './time.js'

export interface EngineSubjectOptions {
  /** What it calls itself in reports. */
  readonly name: string
  readonly notes?: readonly string[]
  /** @default nothing */
  readonly skips?: readonly BenchPart[]
  /** What it says of its device, where the engine does not. */
  readonly deviceName?: string
  /** Loads what strict extraction is measured on, where its passes can be watched. */
  readonly extraction?: (() => Promise<ExtractionUnderTest>) | undefined
  /** Tokens that end an answer, where they can be known; asked once, when they are needed. */
  readonly ends?: () => readonly number[]
}

/** Loads `model` and learns how long prompts become. */
export async function openEngineSubject(
  engine: Engine,
  model: string,
  options: EngineSubjectOptions,
): Promise<Subject> {
  await engine.load?.(model, () => {}, new AbortController().signal)
  const { ends = () => [] } = options
  let known: readonly number[] | undefined
  const under = {
    engine,
    model,
    get ends() {
      known ??= ends()
      return known
    },
  }
  return new EngineSubject(under, options)
}

/** From no words to many: what the chat template takes, and what a word takes. */
const FEW_WORDS = 8
const MANY_WORDS = 48

class EngineSubject implements Subject {
  readonly engine: EngineUnderTest
  readonly skips: readonly BenchPart[]
  readonly #options: EngineSubjectOptions
  #extraction: Promise<ExtractionUnderTest> | undefined
  #size: Promise<(tokens: number) => number> | undefined

  constructor(engine: EngineUnderTest, options: EngineSubjectOptions) {
    this.engine = engine
    this.skips = options.skips ?? []
    this.#options = options
  }

  get #info() {
    const { engine, model } = this.engine
    return engine.models.find(({ id }) => id === model)
  }

  get about(): About {
    const info = this.#info
    const metadata = info?.metadata
    return {
      engine: this.#options.name,
      model: this.engine.model,
      device: String(metadata?.device ?? 'unknown'),
      deviceName: String(metadata?.device_name ?? this.#options.deviceName ?? ''),
      contextLength: info?.contextLength ?? 0,
      ...(info?.fingerprint !== undefined && { fingerprint: info.fingerprint }),
      notes: this.#options.notes ?? [],
    }
  }

  async answer(ask: Question): Promise<SubjectAnswer> {
    this.#size ??= this.#learnSize()
    const words = (await this.#size)(ask.promptTokens)
    // Greedy: what is compared is the model's work, not ways of drawing.
    return timed(this.engine.engine, plainCall(this.engine, promptText(ask.prompt, words), ask.tokens, 0))
  }

  get decide(): Subject['decide'] {
    const { engine } = this.engine
    return engine.decide && this.#info?.capabilities?.decisions ? (ask) => this.#decide(ask) : undefined
  }

  async #decide({ prompt, stateTokens, questions, first }: DecisionsTrial): Promise<DecisionsTiming> {
    this.#size ??= this.#learnSize()
    const state = promptText(prompt, (await this.#size)(stateTokens))
    const { engine, model } = this.engine
    const call = chatCallOf({ model, messages: [] })
    const all = Array.from({ length: questions }, (_, i) => questionOf(first + i))
    const start = now()
    const { usage } = await engine.decide!({
      ...{ id: call.id, model, signal: call.signal, state, questions: all, order: 'given', calibrated: false },
    })
    const seconds = (now() - start) / 1000
    return { seconds, promptTokens: usage.promptTokens, cachedTokens: usage.cachedTokens, stateText: state }
  }

  deviceBytes(): number | undefined {
    const bytes = this.#info?.metadata?.memory_bytes
    return typeof bytes === 'number' ? bytes : undefined
  }

  get extraction(): Subject['extraction'] {
    const { extraction } = this.#options
    return extraction && (() => (this.#extraction ??= extraction()))
  }

  async close(): Promise<void> {
    await (await this.#extraction)?.close()
    await this.engine.engine.close?.()
  }

  /** Words for so many tokens. */
  async #learnSize(): Promise<(tokens: number) => number> {
    const sizeOf = async (words: number) => {
      const call = plainCall(this.engine, promptText(0, words), 1)
      return (await timed(this.engine.engine, call)).promptTokens
    }
    const few = await sizeOf(FEW_WORDS)
    const perWord = ((await sizeOf(MANY_WORDS)) - few) / (MANY_WORDS - FEW_WORDS)
    // A service that does not count its prompts: a word is about a token.
    if (!(perWord > 0)) return (tokens) => tokens
    return (tokens) => Math.max(1, Math.round(FEW_WORDS + (tokens - few) / perWord))
  }
}

/** Free text of a fixed length and seed. */
export function plainCall(
  { model, ends }: EngineUnderTest,
  content: string,
  tokens: number,
  temperature = 1,
): ChatCall {
  return chatCallOf({
    model,
    messages: [{ role: 'user', content }],
    maxTokens: tokens,
    sampling: {
      temperature,
      topP: 1,
      presencePenalty: 0,
      frequencyPenalty: 0,
      seed: 1,
      ...(ends.length > 0 && { logitBias: new Map(ends.map((id) => [id, -100])) }),
    },
  })
}
