/**
 * What the decode loop drives. Our own core implements it in batches, sampling on the device; WebLLM one sequence at a
 * time. A TokenModel knows tokens and nothing else: no text, no stop strings, no grammar beyond the mask of one step.
 */
import type { DrawSettings } from './sampling.js'

export interface TokenModel {
  /** The number of logits per position. May exceed the tokenizer's vocabulary (padding): those are never sampled. */
  readonly vocabSize: number
  /** The longest sequence, in tokens. */
  readonly contextLength: number
  /** How many sequences one step may advance. */
  readonly maxBatch: number
  /** The most tokens that one step should append to one sequence: longer prompts come in several steps. */
  readonly maxChunk: number
  /** Positions that one step may sample, over all its sequences. Absent: the last of each, and no `drafts`. */
  readonly maxSamples?: number
  /**
   * Positions of tokens that are there already, of which one step may tell what comes after each, over all its sequences;
   * nothing is drawn there that anybody goes on from. Absent: `maxSamples`.
   */
  readonly maxScored?: number
  /**
   * Up to so many tokens that one step appends to a sequence are computed in one way, more of them in another that rounds
   * differently. Absent: what comes of a token does not depend on how many are appended with it.
   */
  readonly fewTokens?: number
  /**
   * Each row of a step takes time of its own, however many there are, and about twice as long where it attends to so many
   * positions. Absent: rows lie side by side and share the reading of the weights.
   */
  readonly rowPositions?: number
  /** It draws no tokens: where something is to be drawn it tells a row of so many numbers, which its head makes. */
  readonly rowLength?: number
  /** Names weights, kernels and device: the base of `system_fingerprint`. */
  readonly fingerprint: string
  /** An empty sequence, for a text of so many tokens. @default few */
  open(length?: number): Sequence
  /** Tokens that still fit in the cache, over all sequences. */
  readonly freeTokens: number
  /** Tokens per page of the cache: a sequence holds whole pages. Absent: 1. */
  readonly pageTokens?: number
  /** Appends tokens to each sequence, runs the model, samples where asked. Results stand in the order of `batch`. */
  step(batch: readonly StepInput[]): Promise<readonly (Sampled | undefined)[]>
  /**
   * As `step`, then goes on feeding each sampled token to its own sequence without waiting for it to be read back:
   * `steps` results per sequence, in order. Absent: the model reads every token back.
   */
  run?(batch: readonly StepInput[], steps: number): AsyncIterable<readonly Sampled[]>
  /**
   * As `step`, then on and on, where how a token is drawn hangs on the one before: the pass that reads a token begins
   * while it is on its way back, and each `next` says how the tokens are drawn that come of it. Ends by itself where it
   * can go no further; what was begun and not drawn from never happened. Absent: nothing is gained by it.
   */
  follow?(batch: readonly StepInput[]): Following
  /**
   * Guesses, by a head of the model's own that costs little, what `step` would draw: token after token, of which nothing is
   * left afterwards. What each is given first is what its sequence does not hold yet. Absent: it has no such head.
   */
  guess?(batch: readonly StepInput[]): Guessing
  /**
   * That head reads whatever is read, which costs a little. May be set: of a text that it has not read from its beginning on
   * it guesses nothing.
   */
  readsAlong?: boolean
  /** Frees weights, caches and device memory. Every later call fails. */
  close(): Promise<void>
}

/** The tokens of one step after the other; what it is given is how those of the next are drawn. */
export type Following = AsyncGenerator<readonly Sampled[], void, readonly SampleSettings[]>

/**
 * What is drawn of each sequence; undefined for those that are at their end. What it is given says by which tokens each goes
 * on, and how the one behind them is drawn; undefined where it does not. Ends by itself where it can go no further.
 */
export type Guessing = AsyncGenerator<readonly (Sampled | undefined)[], void, readonly (GuessInput | undefined)[]>

export interface GuessInput {
  /** At least one token. */
  readonly tokens: readonly number[]
  readonly sample: SampleSettings
}

export interface Sequence {
  /**
   * Tokens held, appended ones included. A model whose cache holds one sequence, or cannot be cut anywhere, may hold fewer
   * than it was given: it falls when another sequence is stepped or `truncate` asks for less. Whoever drives it feeds the
   * rest again.
   */
  readonly length: number
  /** Another sequence with the same tokens; full cache pages are shared, not copied. */
  clone(): Sequence
  /**
   * Forgets all but the first `length` tokens, and some of these too where the model can only go back to certain lengths:
   * `length` says what is left.
   */
  truncate(length: number): void
  /** How many tokens `truncate(length)` would leave. Absent: so many, or a model that cannot say. */
  reach?(length: number): number
  /**
   * Of how many tokens a text may be whose beginning is held here: of shorter and of longer ones it is computed otherwise,
   * from the first token on. Absent: any.
   */
  readonly lengths?: readonly [least: number, most: number] | undefined
  /** Whether a head that guesses has read all of it. */
  readonly readAlong?: boolean
  close(): void
}

export interface StepInput {
  readonly sequence: Sequence
  /** At least one token. */
  readonly tokens: readonly number[]
  /** Absent: the logits are not wanted (a prompt's chunk that is not its last). */
  readonly sample?: SampleSettings
  /**
   * With `sample`: how to sample at the positions before the last, too, in their order; undefined where nothing is drawn.
   * What follows each is a guess that is right if it is drawn: as chance hangs on seed, index and token alone, an answer
   * of guesses that were right is the same as one without. Fewer than `tokens`.
   */
  readonly drafts?: readonly (SampleSettings | undefined)[]
  /** The sequence may be cut behind any of `drafts`: a model that can go back to few lengths alone keeps these. */
  readonly guessed?: true
}

export interface SampleSettings extends DrawSettings {
  /** 0 is greedy. */
  readonly temperature: number
  readonly topP: number
  /** With `index`, the whole source of chance: the same pair draws the same number on every device and in every batch. */
  readonly seed: number
  /** The position of the sampled token in its answer. */
  readonly index: number
  /** One bit per token, set if allowed; at least one bit is set. */
  readonly mask?: Uint32Array
  /** The tokens said so far, a bit each, prompt and answer; their logits are divided, or below 0 multiplied, by `by`. */
  readonly repeats?: { readonly tokens: Uint32Array; readonly by: number }
  readonly presencePenalty: number
  readonly frequencyPenalty: number
  /** How often each token stands in the answer so far: what the penalties count. */
  readonly counts?: ReadonlyMap<number, number>
  readonly logitBias?: ReadonlyMap<number, number>
  /** How many alternatives to report with their log probabilities; absent: none, not even the sampled one's. */
  readonly topLogprobs?: number
  /** Tokens of which it is to be told how likely each is, `MOST_AMONG` at most. */
  readonly among?: readonly number[]
  /** How likely it is that the model itself would have gone on with a token that the mask allows is to be told. */
  readonly admitted?: boolean
}

/** The most tokens of which one position is asked how likely they are. */
export const MOST_AMONG = 264

/** In place of a token: the model's logits are not numbers, and nothing can be drawn from them. */
export const UNDRAWN = -1

export interface Sampled {
  /** Or `UNDRAWN`. */
  readonly token: number
  /** Of the model's own distribution, before temperature and mask. Present when `topLogprobs` was given. */
  readonly logprob?: number
  readonly top?: readonly { readonly token: number; readonly logprob: number }[]
  /** Log probabilities of the tokens of `among`, of the model's own distribution. */
  readonly among?: readonly number[]
  /** Log probability of all that the mask allows together, of the model's own distribution. */
  readonly admitted?: number
  /** What was drawn for `StepInput.drafts`, where something was to be. */
  readonly drafts?: readonly Sampled[]
  /** In place of what is drawn: see `TokenModel.rowLength`. */
  readonly row?: Float32Array
}
