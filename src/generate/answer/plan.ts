import type { ChatCall } from '../../contract/index.js'
import type { ChatText } from '../chat-text.js'
import type { DraftSource } from '../drafts/source.js'
import type { Read } from '../evidence/others-read.js'
import type { Grounds } from '../sources/grounds.js'
import type { PromptScores } from './prompt-scores.js'
import type { SettledSampling } from './sampling.js'

/** What an answer is built from; the same for all choices of a call. */
export interface AnswerPlan {
  readonly call: ChatCall
  /** In place of the call's. */
  readonly sampling: SettledSampling
  readonly text: ChatText
  readonly prompt: readonly number[]
  /** What is to be known of the prompt before any answer begins. */
  readonly scores: PromptScores | undefined
  /** Where the values of documents may come from, where that is to be told. */
  readonly grounds: Grounds | undefined
  /** Reads tokens beside the answers, and tells of the one that would come next. */
  readonly read: Read
  /** An answer that has waited goes on. */
  readonly wake: () => void
  /** The prompt ends within a thought. */
  readonly opened: boolean
  /** The fewest tokens in which what is said can be complete. */
  readonly shortest: number
  /** Tokens that the answer may have. */
  readonly limit: number
  /** What values may be guessed from; absent: the model draws one token of an answer a step. */
  readonly source?: (() => DraftSource) | undefined
  /** Logits per position: the length of masks. */
  readonly vocabSize: number
}
