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
  readonly signal?: AbortSignal
  readonly monitor?: (monitor: EventTarget) => void
  readonly expectedOutputs?: readonly { readonly type: 'text'; readonly languages: readonly string[] }[]
}

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
  measureContextUsage?(text: string): Promise<number>
  measureInputUsage?(text: string): Promise<number>
  readonly contextUsage?: number
  readonly inputUsage?: number
  readonly contextWindow?: number
  readonly inputQuota?: number
  destroy(): void
}

export async function tokensOf(session: LanguageModelSession, text: string): Promise<number> {
  const measured = session.measureContextUsage?.(text) ?? session.measureInputUsage?.(text)
  return Math.ceil((await measured) ?? 0)
}

export const usedBy = ({ contextUsage, inputUsage }: LanguageModelSession): number =>
  Math.ceil(contextUsage ?? inputUsage ?? 0)
