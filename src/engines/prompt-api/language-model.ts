/** The browser's built-in model, as https://webmachinelearning.github.io/prompt-api has it: what of it is used here. */
export interface LanguageModelApi {
  availability(options?: SessionOptions): Promise<Availability>
  create(options?: SessionOptions): Promise<LanguageModelSession>
  /** Only where a temperature may be set. */
  params?(): Promise<{ readonly defaultTopK: number; readonly maxTemperature: number } | null>
}

export type Availability = 'unavailable' | 'downloadable' | 'downloading' | 'available'

export interface SessionOptions {
  readonly initialPrompts?: readonly BuiltInMessage[]
  readonly temperature?: number
  readonly topK?: number
  readonly samplingMode?: SamplingMode
  readonly signal?: AbortSignal
  readonly monitor?: (monitor: EventTarget) => void
  readonly expectedInputs?: readonly ExpectedText[]
  readonly expectedOutputs?: readonly ExpectedText[]
}

export interface ExpectedText {
  readonly type: 'text'
  readonly languages: readonly string[]
}

/** How much answers may vary; not together with a temperature. */
export type SamplingMode = 'most-predictable' | 'predictable' | 'balanced' | 'creative' | 'most-creative'

export interface BuiltInMessage {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

export interface PromptOptions {
  readonly signal?: AbortSignal
  readonly responseConstraint?: unknown
  readonly omitResponseConstraintInput?: boolean
}

/** Names differ between versions: the newer ones stand first. */
export interface LanguageModelSession {
  promptStreaming(text: string, options?: PromptOptions): ReadableStream<string>
  measureContextUsage?(text: string, options?: PromptOptions): Promise<number>
  measureInputUsage?(text: string, options?: PromptOptions): Promise<number>
  readonly contextUsage?: number
  readonly inputUsage?: number
  readonly contextWindow?: number
  readonly inputQuota?: number
  /** Absent where the browser does not know modes. */
  readonly samplingMode?: SamplingMode
  /** Another one that has been told the same so far. */
  clone(options?: { readonly signal?: AbortSignal }): Promise<LanguageModelSession>
  destroy(): void
}

/** With `options`: together with the schema that the browser puts before the model. */
export async function tokensOf(session: LanguageModelSession, text: string, options?: PromptOptions): Promise<number> {
  const measured = session.measureContextUsage?.(text, options) ?? session.measureInputUsage?.(text, options)
  return Math.ceil((await measured) ?? 0)
}

export const usedBy = ({ contextUsage, inputUsage }: LanguageModelSession): number =>
  Math.ceil(contextUsage ?? inputUsage ?? 0)
