import {
  type ChatCall,
  type Engine,
  type LoadProgress,
  type ModelInfo,
  type OutputGrammar,
  type Part,
  type SchemaSource,
  V1Error,
} from '../../contract/index.js'
import { Needles } from '../../generate/index.js'
import { assertOptions, type OptionNames } from '../../platform/index.js'
import {
  type Availability,
  type LanguageModelApi,
  type LanguageModelSession,
  type PromptOptions,
  type SamplingMode,
  type SessionOptions,
  tokensOf,
  usedBy,
} from './language-model.js'
import { isForm, promptError, requestFor } from './request.js'

export type { LanguageModelApi, LanguageModelSession, SamplingMode } from './language-model.js'

export interface PromptApiOptions {
  /**
   * The name that clients ask for.
   * @default 'browser/built-in'
   */
  readonly id?: string
  /**
   * The browser's own, or an object with the same interface.
   * @default LanguageModel
   */
  readonly languageModel?: LanguageModelApi
  /**
   * The languages of texts and answers (`['en', 'ja']`), which browsers want to know first.
   * @default none
   */
  readonly languages?: readonly string[]
  /**
   * How much answers may vary, because a page cannot set a temperature: `most-predictable` to `most-creative`. If it is set,
   * a browser that does not know these modes counts as one without a model.
   * @default the browser's
   */
  readonly samplingMode?: SamplingMode
}

const OPTIONS: OptionNames<PromptApiOptions> = { id: true, languageModel: true, languages: true, samplingMode: true }

/** How often a document that the browser got wrong is asked for again. */
const TRIES = 3

/**
 * The browser's built-in model (Chrome's `LanguageModel`), in a page: `fallback(promptApi(), webgpu(...))` with the same id
 * uses it if there is one. Features that it does not have are refused. Documents are checked by the grammar before any of
 * them is sent, and generated again if they are wrong, so `strict` is strict. The browser decides where the model runs: the
 * specification allows a cloud service of its maker.
 */
export function promptApi(options: PromptApiOptions = {}): Engine {
  assertOptions('promptApi', options, OPTIONS)
  return new PromptApi(options)
}

class PromptApi implements Engine {
  readonly version = 2
  readonly ready: Promise<void>
  readonly #id: string
  readonly #api: LanguageModelApi | undefined
  readonly #expected: SessionOptions
  #availability: Availability = 'unavailable'
  #window: number | undefined

  constructor({ id = 'browser/built-in', languageModel, languages, samplingMode }: PromptApiOptions) {
    const texts = languages && [{ type: 'text' as const, languages }]
    this.#id = id
    this.#expected = {
      ...(texts && { expectedInputs: texts, expectedOutputs: texts }),
      ...(samplingMode && { samplingMode }),
    }
    this.#api = languageModel ?? (globalThis as { LanguageModel?: LanguageModelApi }).LanguageModel
    this.ready = this.survey()
  }

  get models(): readonly ModelInfo[] {
    const there = this.#availability
    const model: ModelInfo = {
      id: this.#id,
      ownedBy: 'browser',
      // Without log probabilities nothing says how likely an option is.
      capabilities: {
        ...{ logprobs: false, decisions: false, seed: false, tools: false, otherGrammars: false, thinking: false },
      },
      metadata: {
        loaded: there === 'available',
        device: 'browser',
        ...(there === 'unavailable' && { does_not_fit: MISSING }),
      },
      ...(this.#window !== undefined && { contextLength: this.#window }),
    }
    return [model]
  }

  async survey(): Promise<void> {
    this.#availability = (await this.#api?.availability(this.#expected).catch(() => undefined)) ?? 'unavailable'
  }

  async load(_: string, onProgress: (progress: LoadProgress) => void, signal: AbortSignal): Promise<void> {
    await this.survey()
    if (this.#availability !== 'available') await this.#download(onProgress, signal)
    onProgress({ ...PROGRESS, model: this.#id, phase: 'ready', bytesLoaded: 1, bytesTotal: 1 })
  }

  /** The browser begins it with the first session. */
  async #download(onProgress: (progress: LoadProgress) => void, signal: AbortSignal): Promise<void> {
    const session = await this.#session({
      signal,
      monitor: (monitor) =>
        monitor.addEventListener('downloadprogress', (event) => {
          const { loaded, total } = event as ProgressEvent
          onProgress({ ...PROGRESS, model: this.#id, phase: 'download', bytesLoaded: loaded, bytesTotal: total || 1 })
        }),
    })
    session.destroy()
    await this.survey()
  }

  async *generate(call: ChatCall): AsyncGenerator<Part> {
    const { signal } = call
    signal.throwIfAborted()
    const params = await this.#api?.params?.().catch(() => null)
    const { initialPrompts, text } = requestFor(call, params != null)
    const { temperature = 1 } = call.sampling
    // A mode and a temperature are not taken together: what the request says goes before the option.
    const warm = params != null && temperature !== 1
    const sampling = warm && { samplingMode: undefined, temperature, topK: params.defaultTopK }
    const session = await this.#session({ initialPrompts, signal, ...sampling })
    try {
      yield* isForm(call) ? this.#document(call, session, text) : this.#text(call, session, text)
    } catch (error) {
      throw promptError(error, signal)
    } finally {
      session.destroy()
    }
  }

  /** As it comes, up to a stop or the limit of tokens. */
  async *#text(call: ChatCall, session: LanguageModelSession, text: string): AsyncGenerator<Part> {
    const { signal, maxTokens = Number.POSITIVE_INFINITY } = call
    const promptTokens = usedBy(session) + (await tokensOf(session, text))
    const needles = new Needles(call.stop)
    let sent = ''
    let reason: 'stop' | 'length' = 'stop'
    const delta = (piece: string): Part => ({ type: 'text-delta', choice: 0, text: piece })
    for await (const chunk of chunksOf(session.promptStreaming(text, { signal }))) {
      const { text: piece, found } = needles.push(chunk)
      if (maxTokens < Number.POSITIVE_INFINITY && (await tokensOf(session, sent + piece)) > maxTokens) {
        reason = 'length'
        break
      }
      sent += piece
      if (piece !== '') yield delta(piece)
      if (found !== undefined) break
      signal.throwIfAborted()
    }
    const rest = reason === 'stop' ? needles.flush() : ''
    if (rest !== '') yield delta(rest)
    yield { type: 'finish', choice: 0, reason }
    const completionTokens = await tokensOf(session, sent + rest)
    yield { type: 'usage', usage: { promptTokens, completionTokens, cachedTokens: 0 } }
  }

  /** Whole, and only as the grammar has it. */
  async *#document(call: ChatCall, session: LanguageModelSession, text: string): AsyncGenerator<Part> {
    const { signal, output, grammar } = call
    const options = {
      signal,
      responseConstraint: output.type === 'json_schema' ? output.schema : { type: 'object' },
      omitResponseConstraintInput: !call.describeSchema,
    }
    const promptTokens = usedBy(session) + (await tokensOf(session, text, options))
    for (let i = 0; i < TRIES; i++) {
      const whole = await attempt(session, text, options)
      signal.throwIfAborted()
      const document = [whole.trim(), laidOut(whole, layoutOf(grammar))].find(
        (text) => text !== undefined && isJson(text) && (!grammar || grammar.accepts(text)),
      )
      if (document === undefined) continue
      yield { type: 'text-delta', choice: 0, text: document }
      yield { type: 'finish', choice: 0, reason: 'stop' }
      const completionTokens = await tokensOf(session, document)
      yield { type: 'usage', usage: { promptTokens, completionTokens, cachedTokens: 0 } }
      return
    }
    throw new V1Error(500, 'The model did not produce a document that satisfies the schema.', {
      code: 'invalid_output',
    })
  }

  async #session(options: SessionOptions & { readonly signal: AbortSignal }): Promise<LanguageModelSession> {
    if (!this.#api) throw new V1Error(503, MISSING, { code: 'no_device' })
    try {
      if ((await this.#api.availability(this.#expected)) === 'unavailable') {
        throw new V1Error(503, MISSING, { code: 'no_device' })
      }
      const session = await this.#api.create({ ...this.#expected, ...options })
      const { samplingMode } = { ...this.#expected, ...options }
      if (samplingMode !== undefined && session.samplingMode !== samplingMode) {
        session.destroy()
        throw new V1Error(503, "This browser's built-in model knows no 'samplingMode': leave it out.", {
          code: 'no_device',
        })
      }
      this.#window = session.contextWindow ?? session.inputQuota
      return session
    } catch (error) {
      throw promptError(error, options.signal)
    }
  }
}

/**
 * What the browser writes, by a session of its own: each try begins where the messages end, not after those before it.
 * Empty where the browser itself gave up on the schema.
 */
async function attempt(from: LanguageModelSession, text: string, options: PromptOptions): Promise<string> {
  const session = await from.clone({ signal: options.signal })
  try {
    let whole = ''
    for await (const chunk of chunksOf(session.promptStreaming(text, options))) whole += chunk
    return whole
  } catch (error) {
    if (error instanceof Error && error.name === 'SyntaxError') return ''
    throw error
  } finally {
    session.destroy()
  }
}

const MISSING = 'This browser has no built-in language model, or this device cannot run it.'
const PROGRESS = { filesLoaded: 0, filesTotal: 1 } as const

/** As the grammar writes it: the browser lays documents out as it likes. */
function laidOut(text: string, layout: SchemaSource['layout']): string | undefined {
  if (!isJson(text)) return undefined
  const value: unknown = JSON.parse(text)
  if (typeof layout === 'object' && 'indent' in layout) return JSON.stringify(value, null, layout.indent)
  if (layout !== 'spaced') return JSON.stringify(value)
  // No string holds a line break as it is: those that stand there are of the layout.
  const lines = JSON.stringify(value, null, 1)
  return lines
    .replace(/([{[])\n */g, '$1')
    .replace(/\n *([}\]])/g, '$1')
    .replace(/\n */g, ' ')
}

const layoutOf = (grammar: OutputGrammar | undefined): SchemaSource['layout'] =>
  grammar?.source && 'layout' in grammar.source ? grammar.source.layout : 'compact'

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Not by `for await` over the stream: not every browser has that, and leaving must end the model's work. */
async function* chunksOf(stream: ReadableStream<string>): AsyncGenerator<string> {
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}
