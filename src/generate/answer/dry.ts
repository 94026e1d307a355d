/**
 * DRY ("don't repeat yourself", p-e-w 2024), as llama.cpp's sampler defines it: a token that would go on with a stretch that
 * stands earlier in prompt or answer is made less likely, the more the longer that stretch is. A stretch ends at a line's
 * end, a colon, a quotation mark or a star, which lists and dialogues repeat rightly.
 */

import { getOrMake } from '../../platform/index.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'
import type { SettledSampling } from './sampling.js'

const BREAKERS: readonly number[] = [...'\n:"*'].map((each) => each.charCodeAt(0))
/** So that no penalty is infinite in f32. */
const MOST_LOG = 88.7228391

type DrySettings = Pick<SettledSampling, 'dryMultiplier' | 'dryBase' | 'dryAllowedLength' | 'dryPenaltyLastN'>

export class Dry {
  readonly #settings: DrySettings
  readonly #tokenizer: Pick<Tokenizer, 'bytes'>
  readonly #breaks = new Map<number, boolean>()

  constructor(settings: DrySettings, tokenizer: Pick<Tokenizer, 'bytes'>) {
    this.#settings = settings
    this.#tokenizer = tokenizer
  }

  /** What is taken off the logits of tokens that would repeat, in a copy of `bias`. */
  over(tokens: readonly number[], bias?: ReadonlyMap<number, number>): ReadonlyMap<number, number> {
    const { dryMultiplier: by, dryBase: base, dryAllowedLength: allowed } = this.#settings
    const most = base > 1.000001 ? Math.floor(MOST_LOG / Math.log(base)) : Number.POSITIVE_INFINITY
    const out = new Map(bias)
    for (const [token, length] of this.#repeats(tokens)) {
      if (length < allowed || this.#isBreak(token)) continue
      out.set(token, (out.get(token) ?? 0) - by * base ** Math.min(length - allowed, most))
    }
    return out
  }

  /** Of each token that would go on with an earlier stretch, how long the longest such stretch is. */
  #repeats(all: readonly number[]): Map<number, number> {
    const { dryPenaltyLastN: lastN, dryAllowedLength: allowed } = this.#settings
    const tokens = lastN < 0 ? all : all.slice(Math.max(0, all.length - lastN))
    const found = new Map<number, number>()
    const last = tokens.length - 1
    // No stretch reaches back beyond what ends one.
    let free = 0
    while (free <= last && !this.#isBreak(tokens[last - free]!)) free++
    if (free < allowed) return found
    // The Z-algorithm, from the end: what goes on for ever as it began would else be compared with all of itself.
    const lengths = new Int32Array(tokens.length)
    for (let at = 1, from = 0, to = 0; at <= last; at++) {
      let length = at < to ? Math.min(lengths[at - from]!, to - at) : 0
      while (at + length <= last && tokens[last - at - length] === tokens[last - length]) length++
      lengths[at] = length
      if (at + length > to) [from, to] = [at, at + length]
      if (length === 0) continue
      const next = tokens[last - at + 1]!
      found.set(next, Math.max(found.get(next) ?? 0, Math.min(length, free)))
    }
    return found
  }

  #isBreak(token: number): boolean {
    return getOrMake(this.#breaks, token, () => this.#tokenizer.bytes(token).some((byte) => BREAKERS.includes(byte)))
  }
}
