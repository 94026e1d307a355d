import { type GuessInput, type StepInput, type TokenModel, UNDRAWN } from '../../contract/index.js'
import { asGuess, type DraftRequest, type DraftWriter, type Guesser } from './guesser.js'

/** Tokens that are certain go through the head one by one: of more than so many in a row nothing is guessed. */
const MOST_UNREAD = 4

export type GuessingModel = TokenModel & Required<Pick<TokenModel, 'guess'>>

export const hasHead = (model: TokenModel): model is GuessingModel => model.guess !== undefined

/** A head of the model's own guesses: it sees the rows that the model has made, and keeps nothing of an answer. */
export class HeadGuesser implements Guesser {
  readonly lengths = [1, 2, 3]
  readonly #model: GuessingModel
  #failed = false

  constructor(model: GuessingModel) {
    this.#model = model
  }

  /** What is read meanwhile costs nothing. */
  get rests(): boolean {
    return this.#model.readsAlong === false
  }

  set rests(rests: boolean) {
    this.#model.readsAlong = !rests && !this.#failed
  }

  knows(writers: readonly DraftWriter[]): boolean {
    return !this.#failed && writers.every(({ sequence }) => sequence.readAlong)
  }

  async guess(requests: readonly DraftRequest[], most: number): Promise<number> {
    const ready = requests.filter(({ lane, sequence }) => lane.tokens.length - sequence.length <= MOST_UNREAD)
    if (this.#failed || ready.length === 0 || most === 0) return 0
    try {
      await this.#go(ready, most)
    } catch {
      this.#failed = true
      this.rests = true
    }
    return 0
  }

  async #go(requests: readonly DraftRequest[], most: number): Promise<void> {
    const guessing = this.#model.guess(
      requests.map(({ lane, sequence, outlook }): StepInput => {
        return { sequence, tokens: lane.tokens.slice(sequence.length), sample: asGuess(outlook.settings()) }
      }),
    )
    try {
      let step = await guessing.next()
      for (let left = most - 1; !step.done; left--) {
        const drawn = step.value
        const next = requests.map(({ outlook }, i): GuessInput | undefined => {
          const token = drawn[i]?.token ?? UNDRAWN
          const before = outlook.tokens.length
          if (token === UNDRAWN || !outlook.push(token) || left === 0) return undefined
          return { tokens: outlook.tokens.slice(before), sample: asGuess(outlook.settings()) }
        })
        if (next.every((given) => given === undefined)) return
        step = await guessing.next(next)
      }
    } finally {
      await guessing.return()
    }
  }

  drop(): void {}

  clear(): void {}

  async close(): Promise<void> {
    this.#failed = true
  }
}
