import { getOrMake } from '../../platform/index.js'
import { textsUpTo } from '../automata/search.js'
import type { TextAutomaton } from '../automata/types.js'
import { Cell } from '../automaton/frame.js'
import { TextFrames } from '../automaton/text.js'
import { TokenCosts } from './costs.js'
import { DeadEnds } from './dead-ends.js'
import { Found } from './found.js'
import { Letters } from './letters.js'
import { LevelMasks } from './level-masks.js'
import { StringMasks } from './string-masks.js'
import { TextWalk } from './text-walk.js'
import { type Trie, trieOf } from './trie.js'
import type { Vocabulary } from './vocabulary.js'

const BACKSLASH = 0x5c
const A = 0x61
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
  /** Of whole tokens without a backslash, and those with one. */
  readonly characters: TextWalk
  readonly escaped: Trie

  private constructor(vocabulary: Vocabulary) {
    this.levels = new LevelMasks(vocabulary)
    this.inStrings = new Found(vocabulary)
    this.behind = new Found(vocabulary)
    this.deadEnds = new DeadEnds(this.inStrings)
    const { whole } = vocabulary
    this.characters = new TextWalk(new Letters(whole), this.inStrings)
    const escaped = [...whole.tokens].filter((token) => vocabulary.bytes(token).includes(BACKSLASH))
    this.escaped = trieOf(
      escaped,
      escaped.map((token) => String.fromCharCode(...vocabulary.bytes(token))),
    )
    this.strings = new StringMasks(vocabulary, this)
    this.#warmUp(vocabulary)
  }

  /**
   * The first masks near the end of a budget would take many times as long as those after them: engines compile what is run
   * often, and a vocabulary is walked in few, long loops.
   */
  #warmUp(vocabulary: Vocabulary): void {
    const [text] = textsUpTo(['ab']) as [TextAutomaton]
    const frames = TextFrames.of(text)
    const mask = new Uint32Array(vocabulary.words)
    const costs = new TokenCosts(vocabulary)
    for (const state of [text.start, text.next(text.start, A)]) {
      this.strings.fill(mask, frames.at(state), { below: new Cell(), budget: 1, costs }, true)
    }
  }

  /** What is kept here. */
  get bytes(): number {
    const found = this.strings.bytes + this.inStrings.bytes + this.behind.bytes
    return this.levels.bytes + found + this.characters.bytes + this.escaped.byteLength
  }

  static of(vocabulary: Vocabulary): Learned {
    return getOrMake(known, vocabulary, () => new Learned(vocabulary))
  }
}

/** Learns a vocabulary ahead of the first grammar that needs it. */
export function learnVocabulary(vocabulary: Vocabulary): void {
  Learned.of(vocabulary)
}
