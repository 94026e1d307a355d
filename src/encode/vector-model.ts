/** A model that makes one vector of a text, or of two: what texts are asked of it through is in this folder. */

export interface TextTokens {
  /** With what the tokenizer puts around them. */
  readonly tokens: readonly number[]
  /** Which of two texts each is of. @default the first */
  readonly types?: readonly number[]
}

export interface VectorModel {
  /** Tokens of one text. */
  readonly contextLength: number
  /** Tokens, and texts, of one batch. */
  readonly batchTokens: number
  readonly batchTexts: number
  /** Numbers of a vector. */
  readonly size: number
  readonly fingerprint: string
  /** One vector for each text, as the model makes it. Batches are computed one after the other, in this order. */
  vectors(batch: readonly TextTokens[]): Promise<readonly Float32Array[]>
  /** Frees it; nothing may run. */
  close(): Promise<void>
}
