import type { Sampled, SampleSettings, Sequence, TokenModel } from '../../contract/index.js'
import { commonLength } from '../../platform/index.js'
import type { Lane, Outlook } from '../answer/lane.js'
import { quietly } from '../run/failure.js'
import { Memory, serves } from '../run/memory.js'
import { asGuess, type DraftRequest, type Guesser } from './guesser.js'

/** What it has read of an answer. */
interface Held {
  readonly sequence: Sequence
  /** The tokens that the sequence holds. */
  readonly tokens: number[]
}

interface Turn extends Held {
  readonly outlook: Outlook
  /** Tokens that are fed next. */
  feed: readonly number[]
}

/**
 * A small model that guesses what a large one says. It draws as the large one does, by the same settings and the same
 * chance, so that it is right wherever both would say the same; what it says is asked of nobody else.
 */
export class DraftModel implements Guesser {
  readonly lengths = [2, 4, 7]
  /** It reads nothing before it is asked. */
  rests = false
  readonly #model: TokenModel
  readonly #memory: Memory
  readonly #held = new Map<Lane, Held>()
  #failed = false

  constructor(model: TokenModel) {
    this.#model = model
    this.#memory = new Memory(model)
  }

  /**
   * Lets the paths of answers grow by at most `most` guesses each, where it has read what they say. Gives back the time
   * that it took to read prompts, a chunk at a time: that is done once for an answer. What fails is not tried again.
   */
  async guess(requests: readonly DraftRequest[], most: number): Promise<number> {
    if (this.#failed) return 0
    try {
      const begun = performance.now()
      const ready = await this.#read(requests, most)
      const read = performance.now() - begun
      await this.#go(ready, most)
      return read
    } catch {
      this.#failed = true
      quietly(() => this.clear())
      return 0
    }
  }

  knows(): boolean {
    return true
  }

  /** The answer is over; what was read of it may be the beginning of another. */
  drop(lane: Lane): void {
    const held = this.#held.get(lane)
    if (!held) return
    this.#held.delete(lane)
    this.#memory.keep(held.tokens, held.sequence)
  }

  clear(): void {
    for (const { sequence } of this.#held.values()) quietly(() => sequence.close())
    this.#held.clear()
    quietly(() => this.#memory.clear())
  }

  async close(): Promise<void> {
    this.#failed = true
    this.clear()
    await this.#model.close()
  }

  /** Those of which it has read nearly all. Of the others one reads on, so that those of the same prompt find it read. */
  async #read(requests: readonly DraftRequest[], most: number): Promise<Turn[]> {
    const { maxChunk, contextLength } = this.#model
    const ready: { readonly held: Held; readonly lane: Lane; readonly outlook: Outlook }[] = []
    let reading = false
    for (const { lane, outlook } of requests) {
      const { tokens } = lane
      if (tokens.length + most > contextLength) continue
      const known = this.#held.has(lane)
      if (!known && reading) continue
      const held = this.#heldOf(lane, tokens.length + most)
      const unread = tokens.length - held.tokens.length
      if (unread <= maxChunk) {
        ready.push({ held, lane, outlook })
      } else if (!reading) {
        reading = true
        const feed = tokens.slice(held.tokens.length, held.tokens.length + maxChunk)
        if (!this.#memory.makeRoom(this.#memory.cost(held.sequence, feed.length))) continue
        await this.#model.step([{ sequence: held.sequence, tokens: feed }])
        held.tokens.push(...feed)
      }
    }
    // What was read may stand where another's tokens stood: it has lost them, and reads them again.
    return ready.flatMap(({ held, lane, outlook }) => {
      held.tokens.length = held.sequence.length
      const feed = lane.tokens.slice(held.tokens.length)
      return feed.length <= maxChunk ? [{ ...held, outlook, feed }] : []
    })
  }

  #heldOf(lane: Lane, length: number): Held {
    const { tokens } = lane
    const known = this.#held.get(lane)
    if (known && serves(known.sequence, length)) {
      const { sequence } = known
      // At least one is fed, for its logits.
      const common = commonLength(known.tokens, tokens, Math.min(sequence.length, tokens.length - 1))
      if (sequence.length > common) sequence.truncate(common)
      known.tokens.length = sequence.length
      return known
    }
    known?.sequence.close()
    this.#held.delete(lane)
    const others = [...this.#held.values()].map((held) => ({ lane: held, sequence: held.sequence }))
    const sequence = this.#memory.acquire({ tokens, scores: undefined }, others)
    const held = { sequence, tokens: tokens.slice(0, sequence.length) }
    this.#held.set(lane, held)
    return held
  }

  async #go(ready: readonly Turn[], most: number): Promise<void> {
    const { run } = this.#model
    if (run && ready.length > 0 && ready.every(({ outlook }) => outlook.free)) {
      if (this.#fits(ready, most)) await this.#runAhead(ready, most)
      return
    }
    let turns = [...ready]
    for (let i = 0; i < most && turns.length > 0 && this.#fits(turns, 1); i++) {
      const drawn = await this.#model.step(turns.map((turn) => this.#input(turn)))
      turns = turns.filter((turn, k) => {
        turn.tokens.push(...turn.feed)
        const { outlook } = turn
        const before = outlook.tokens.length
        if (!outlook.push(drawn[k]!.token)) return false
        turn.feed = outlook.tokens.slice(before)
        return turn.feed.length <= this.#model.maxChunk
      })
    }
  }

  /** Where nothing hangs on what is drawn, a GPU need not be waited for. */
  async #runAhead(turns: readonly Turn[], most: number): Promise<void> {
    const inputs = turns.map((turn) => this.#input(turn))
    const goes = turns.map(() => true)
    for (const turn of turns) turn.tokens.push(...turn.feed)
    for await (const drawn of this.#model.run!(inputs, most)) {
      turns.forEach(({ outlook, tokens }, i) => {
        const { token } = drawn[i] as Sampled
        tokens.push(token)
        goes[i] &&= outlook.push(token)
      })
    }
    // What was drawn last was not fed.
    for (const { tokens, sequence } of turns) tokens.length = sequence.length
  }

  #input({ sequence, outlook, feed }: Turn) {
    return { sequence, tokens: feed, sample: this.#asSmall(outlook.settings()) }
  }

  #fits(turns: readonly Turn[], steps: number): boolean {
    const needed = turns.reduce((sum, { sequence, feed }) => {
      return sum + this.#memory.cost(sequence, feed.length + steps - 1)
    }, 0)
    return this.#memory.makeRoom(needed)
  }

  /** Rows of logits may be padded to another length. */
  #asSmall(given: SampleSettings): SampleSettings {
    const { mask, ...settings } = asGuess(given)
    if (!mask) return settings
    const words = Math.ceil(this.#model.vocabSize / 32)
    if (mask.length === words) return { ...settings, mask }
    const own = new Uint32Array(words)
    own.set(mask.subarray(0, words))
    return { ...settings, mask: own }
  }
}
