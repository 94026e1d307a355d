/** A model that makes one vector of a text, or of two: what texts are asked of it through is in this folder. */

export interface TextTokens {
  /** With what the tokenizer puts around them. */
  readonly tokens: readonly number[]
  /** Which of two texts each is of. @default the first */
  readonly types?: readonly number[]
  /** Positions at which it is read, by a model that tells something of each. */
  readonly marks?: readonly number[]
  /** What it asks, of a model that decides all of it together. */
  readonly fields?: readonly TextField[]
}

/** Tokens from one position to before another. */
export interface TokenRange {
  readonly from: number
  readonly to: number
}

/** A question within a text, in the order in which they stand there: what is asked, and its options. */
export interface TextField extends TokenRange {
  /** As the model numbers the kinds of questions. */
  readonly kind: number
  readonly options: readonly TokenRange[]
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
  /** One vector for each text, or one after the other for each of its marks or options, as the model makes it. Batches are computed one after the other, in this order. */
  vectors(batch: readonly TextTokens[]): Promise<readonly Float32Array[]>
  /** Compiles what it needs. Absent: there is nothing to compile. */
  prepare?(): Promise<void>
  /** Frees it; nothing may run. */
  close(): Promise<void>
}

/** What a head tells apart, as its files say. */
export interface ClassForm {
  /** What the classes are called, one for each number of a vector. */
  readonly labels: readonly string[]
  /** A text may belong to several of them, or to none. */
  readonly several: boolean
}

/** How a model that decides is asked, as its files say. */
export interface DecisionForm {
  /** Whose head it is: how a question is laid out, and what of it is cut. */
  readonly type: 'laya' | 'lfm2-d1-omni' | 'clef'
  /** Tokens that a question and its options may have, where they share what there is. */
  readonly headTokens: number
  /** By which scores are divided: for each kind, or for a kind and so many options (`choice:3-5`). */
  readonly temperatures: Readonly<Record<string, number>>
  /** How its file lays out a question; absent: as Laya does. */
  readonly template?: string
}

/**
 * What points beside a model that writes. Of a text with marks, where questions end, its vectors are: of each token
 * `POINTERS` of `headSize` numbers, then of each mark `NOTHINGS`, then of each mark what would be written there, `vocabulary`
 * numbers.
 */
export interface PointingModel {
  readonly model: VectorModel
  readonly headSize: number
  readonly vocabulary: number
  /** How much what would be written counts: where a stretch starts, and among options. */
  readonly logitScales: readonly [start: number, option: number]
  /** Questions of one text. */
  readonly mostQuestions: number
}

/** What asks and what is asked for, in the order in which a row has them. */
export const POINTERS = ['start_q', 'start_k', 'end_q', 'end_k', 'from_q', 'option_q', 'option_k'] as const
/** Of a question: no stretch answers it, no option does; where the items of a list begin. */
export const NOTHINGS = 3
