import { made } from '../kept.js'
import { DeadEnds } from './dead-ends.js'
import { Found } from './found.js'
import { LevelMasks } from './level-masks.js'
import { StringMasks } from './string-masks.js'
import type { Vocabulary } from './vocabulary.js'

const known = new WeakMap<Vocabulary, Learned>()

/** What is learned of a vocabulary, once for all grammars. */
export class Learned {
  /** Of strings of any text. */
  readonly levels: LevelMasks
  /** Of strings of other texts. */
  readonly strings: StringMasks
  /** Where masks are found, one at a time: of what stands in strings, and of all else. */
  readonly inStrings: Found
  readonly behind: Found
  readonly deadEnds: DeadEnds

  private constructor(vocabulary: Vocabulary) {
    this.levels = new LevelMasks(vocabulary)
    this.inStrings = new Found(vocabulary)
    this.behind = new Found(vocabulary)
    this.deadEnds = new DeadEnds(this.inStrings)
    this.strings = new StringMasks(vocabulary, this)
  }

  /** What is kept here. */
  get bytes(): number {
    return this.levels.bytes + this.strings.bytes + this.inStrings.bytes + this.behind.bytes
  }

  static of(vocabulary: Vocabulary): Learned {
    return made(known, vocabulary, () => new Learned(vocabulary))
  }
}
