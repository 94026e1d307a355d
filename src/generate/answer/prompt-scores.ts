import type { ChatCall, PromptLogprob, Sampled, SampleSettings } from '../../contract/index.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'
import { maskOnly } from './guided.js'
import type { LaneScores } from './lane.js'
import { GREEDY, logprobOf, shownToken } from './sampling.js'

/**
 * How likely each token of a prompt is after those before it. A model that draws where one token alone is allowed draws
 * that one, and tells its own log probability of it: nothing else is asked of it, a few positions a step.
 */
export class PromptScores implements LaneScores {
  readonly logprobs: PromptLogprob[]
  readonly #prompt: readonly number[]
  readonly #call: ChatCall
  readonly #vocabSize: number
  readonly #tokenizer: Tokenizer
  #whole = () => {}

  constructor(call: ChatCall, prompt: readonly number[], tokenizer: Tokenizer, vocabSize: number) {
    this.#prompt = prompt
    this.#call = call
    this.#tokenizer = tokenizer
    this.#vocabSize = vocabSize
    // Nothing comes before the first, and no model says how likely it is.
    this.logprobs = [{ ...shownToken(prompt[0]!, tokenizer, call), logprob: null, top: [] }]
  }

  /** Tokens after which the next one's score is known. */
  get scored(): number {
    return this.logprobs.length - 1
  }

  /** Scores that are to come. */
  get open(): number {
    return this.#prompt.length - this.logprobs.length
  }

  /** `whole` is called when the last has come. */
  whenWhole(whole: () => void): void {
    this.#whole = whole
  }

  /** How the token after `position` is scored. */
  settings(position: number): SampleSettings {
    return {
      ...GREEDY,
      mask: maskOnly(new Uint32Array(Math.ceil(this.#vocabSize / 32)), [this.#prompt[position + 1]!]),
      topLogprobs: this.#call.topLogprobs ?? 0,
    }
  }

  /** The next ones. */
  take(sampled: readonly Sampled[]): void {
    for (const each of sampled) this.logprobs.push(logprobOf(each, this.#tokenizer, this.#call)!)
    if (this.open === 0) this.#whole()
  }
}
