import type {
  Availability,
  LanguageModelApi,
  LanguageModelSession,
  PromptOptions,
  SessionOptions,
} from './language-model.js'

export interface Seen {
  readonly sessions: SessionOptions[]
  readonly prompts: [string, PromptOptions | undefined][]
  /** Sessions that nobody has destroyed. */
  open: number
  /** Answers that were left before their end. */
  cut: number
}

export interface StandInOptions {
  readonly availability?: Availability
  readonly contextWindow?: number
  /** An older browser ignores what it does not know. */
  readonly knowsModes?: boolean
  /** As in extensions, which may set a temperature. */
  readonly extension?: boolean
}

const MODES = ['most-predictable', 'predictable', 'balanced', 'creative', 'most-creative']

const refusal = (name: string, message: string) => new DOMException(message, name)

/**
 * The browser's model by the steps of https://webmachinelearning.github.io/prompt-api (June 2026), a character for a
 * token: it says what it is told to, in pieces, notes what it was asked, and refuses what the steps refuse.
 */
export function standIn(answers: readonly (string | Error)[], options: StandInOptions = {}) {
  const { availability = 'available', contextWindow = 6144, knowsModes = true, extension = false } = options
  const seen: Seen = { sessions: [], prompts: [], open: 0, cut: 0 }
  let at = 0

  class Session implements LanguageModelSession {
    readonly contextWindow = contextWindow
    readonly samplingMode?: NonNullable<SessionOptions['samplingMode']>
    contextUsage: number
    #isOpen = true

    constructor(usage: number, mode: SessionOptions['samplingMode']) {
      this.contextUsage = usage
      if (knowsModes) this.samplingMode = mode ?? 'balanced'
      seen.open++
    }

    async measureContextUsage(text: string, options: PromptOptions = {}): Promise<number> {
      if (options.omitResponseConstraintInput && options.responseConstraint === undefined)
        throw new TypeError('There is no constraint to leave out.')
      if (options.responseConstraint === undefined || options.omitResponseConstraintInput) return text.length
      return text.length + JSON.stringify(options.responseConstraint).length
    }

    promptStreaming(text: string, options: PromptOptions = {}): ReadableStream<string> {
      seen.prompts.push([text, options])
      const answer = answers[Math.min(at++, answers.length - 1)]
      const pieces = typeof answer === 'string' ? (answer.match(/.{1,3}/gs) ?? []) : []
      return new ReadableStream({
        start: async (controller) => {
          options.signal?.addEventListener('abort', () => controller.error(options.signal?.reason))
          if (!this.#isOpen) return controller.error(refusal('InvalidStateError', 'The session is destroyed.'))
          const requested = await this.measureContextUsage(text, options)
          if (this.contextUsage + requested > contextWindow)
            return controller.error(refusal('QuotaExceededError', 'The input is too large.'))
          this.contextUsage += requested
        },
        pull: (controller) => {
          if (answer instanceof Error) return controller.error(answer)
          const piece = pieces.shift()
          this.contextUsage += piece?.length ?? 0
          if (piece === undefined) controller.close()
          else controller.enqueue(piece)
        },
        cancel: () => void seen.cut++,
      })
    }

    async clone({ signal }: { readonly signal?: AbortSignal } = {}): Promise<LanguageModelSession> {
      signal?.throwIfAborted()
      if (!this.#isOpen) throw refusal('InvalidStateError', 'The session is destroyed.')
      return new Session(this.contextUsage, this.samplingMode)
    }

    destroy(): void {
      if (this.#isOpen) seen.open--
      this.#isOpen = false
    }
  }

  const api: LanguageModelApi = {
    availability: async (options = {}) => {
      validate(options)
      return seen.sessions.length > 0 && availability === 'downloadable' ? 'available' : availability
    },
    async create(options = {}) {
      seen.sessions.push(options)
      validate(options)
      options.signal?.throwIfAborted()
      if (availability === 'unavailable') throw refusal('NotSupportedError', 'There is no model.')
      const monitor = new EventTarget()
      options.monitor?.(monitor)
      monitor.dispatchEvent(Object.assign(new Event('downloadprogress'), { loaded: 0.5, total: 1 }))
      const usage = (options.initialPrompts ?? []).reduce((sum, { content }) => sum + content.length, 0)
      if (usage > contextWindow) throw refusal('QuotaExceededError', 'The initial prompts are too large.')
      return new Session(usage, options.samplingMode)
    },
    ...(extension && { params: async () => ({ defaultTopK: 3, maxTemperature: 2 }) }),
  }

  /** What the browser's own reading of the options throws at. */
  function validate({ expectedInputs, expectedOutputs, initialPrompts, ...sampling }: SessionOptions): void {
    for (const { languages } of [...(expectedInputs ?? []), ...(expectedOutputs ?? [])])
      Intl.getCanonicalLocales([...languages])
    const { samplingMode, temperature, topK } = sampling
    if (knowsModes && samplingMode !== undefined) {
      if (!MODES.includes(samplingMode)) throw new TypeError(`'${samplingMode}' is no sampling mode.`)
      if (temperature !== undefined || topK !== undefined) throw new TypeError('A mode or a temperature, not both.')
    }
    initialPrompts?.forEach(({ role, content }, i) => {
      if (!['system', 'user', 'assistant'].includes(role)) throw new TypeError(`'${role}' is no role.`)
      if (role === 'system' && i > 0) throw new TypeError('A system message stands first.')
      if (typeof content !== 'string') throw new TypeError('Content is text.')
    })
  }

  return { api, seen }
}
