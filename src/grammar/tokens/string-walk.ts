import { getOrMake } from '../../platform/index.js'
import { KIND, SPECIAL } from '../automata/kinds.js'
import { CharacterFrame, type StringPlace } from '../automaton/characters.js'
import type { StringClass } from '../automaton/content.js'
import type { Cell } from '../automaton/frame.js'
import { Branches, ENTRY_BYTES } from '../kept.js'
import type { ClosersFound } from './closers.js'
import type { TokenCosts } from './costs.js'
import type { Found } from './found.js'
import { heightLimit, type Trie } from './trie.js'

/** A place inside a string, without what stands behind the string, and where the bytes tried so far led from it. */
export class Spot {
  readonly frame: StringPlace
  readonly leaving: number
  /** As a limit for heights. */
  readonly room: number
  /** The first byte asked for and where it led: most places of a walk are left by one byte only. */
  firstByte = -1
  first: Spot | null = null
  row: Branches<Spot | null> | undefined
  /** The walk that asked last whether its budget suffices here, and the answer. */
  walk = 0
  affordable = false

  constructor(frame: StringPlace) {
    this.frame = frame
    const { leaving, room } = frame.class
    this.leaving = leaving | SPECIAL
    this.room = heightLimit(room)
  }
}

/** Rows kept before all is dropped: at most 2 KB each. */
const MOST_ROWS = 1500
/** On average. */
const ROW_BYTES = 600
const MOST_SPOTS = 20_000

export class Spots {
  readonly #shared: boolean
  #known = new Map<StringPlace | StringClass, Spot>()
  #rows = 0

  /** `shared`: where only what may come before the closing quote matters. */
  constructor(shared: boolean) {
    this.#shared = shared
  }

  /** What is kept here. */
  get bytes(): number {
    return this.#known.size * ENTRY_BYTES + this.#rows * ROW_BYTES
  }

  /** Where a walk starts. Not in the midst of one, which may hold many places for a while: their number is checked here. */
  start(frame: StringPlace): Spot {
    if (this.#known.size > MOST_SPOTS || this.#rows > MOST_ROWS) {
      this.#known = new Map()
      this.#rows = 0
    }
    return this.#at(frame)
  }

  #at(place: StringPlace): Spot {
    return getOrMake<StringPlace | StringClass, Spot>(
      this.#known,
      this.#shared ? place.class : place,
      () => new Spot(place),
    )
  }

  /** One byte further, any but a closing quote; null where none may go. */
  step(spot: Spot, byte: number): Spot | null {
    if (spot.firstByte === byte) return spot.first
    const known = spot.row?.get(byte)
    if (known !== undefined) return known
    const frame = spot.frame.move(byte) as StringPlace | null
    const next = frame === null ? null : this.#at(frame)
    if (spot.firstByte < 0) {
      spot.firstByte = byte
      spot.first = next
    } else if (spot.row !== undefined || this.#rows <= MOST_ROWS) {
      if (spot.row === undefined) {
        spot.row = new Branches()
        this.#rows++
      }
      spot.row.set(byte, next)
    }
    return next
  }
}

const QUOTE = 0x22
/** The most bytes that a character cut off still lacks. */
const MOST_CUT = 3

/** What stands behind a string, and how many tokens must suffice for it after one more. */
export interface Rest {
  readonly below: Cell
  readonly budget: number
  readonly costs: TokenCosts
}

export interface StringWalkOptions {
  /** Absent where that does not matter. */
  readonly rest?: Rest
  /** Tokens none of whose characters are of these kinds are left out. */
  readonly skip: number
  /** But for those of more characters. */
  readonly skipRoom: number
  /** Whether the tokens of the trie may end inside a character. */
  readonly cut: boolean
  /** Takes the tokens that close the string. */
  readonly closers?: ClosersFound
  /** Takes the places that are asked about. */
  readonly reached?: Reached
  /**
   * Nodes after which it is given up: then only some of the tokens were looked at.
   * @default there is no end to it
   */
  readonly most?: number
}

const NO_END = 2 ** 30

/**
 * Where the tokens lead: between them these places cost what any of them costs, but where some were taken by a bound; and
 * what no way to the end is longer than, within the string.
 */
export interface Reached {
  readonly places: Set<StringPlace>
  all: boolean
  longest: number
}

/** Walks a trie along the inside of a string, up to its closing quote. */
export class StringWalk {
  readonly #found: Found
  readonly #shared = new Spots(true)
  readonly #own = new Spots(false)
  #spots = this.#own
  #options!: StringWalkOptions
  #walks = 0
  /** Nodes that may still be followed. */
  #left = NO_END
  /** What suffices behind the string, in tokens. */
  #behind = 0

  constructor(found: Found) {
    this.#found = found
  }

  /** What is kept here. */
  get bytes(): number {
    return this.#shared.bytes + this.#own.bytes
  }

  /** False where it was given up. */
  run(trie: Trie, frame: StringPlace, options: StringWalkOptions): boolean {
    this.#begin(options)
    this.#left = options.most ?? NO_END
    const shared = options.rest === undefined && options.closers === undefined
    this.#spots = shared ? this.#shared : this.#own
    this.#visit(trie, 0, trie.tokens.length, this.#spots.start(frame), 0)
    return this.#left >= 0
  }

  /** `depth`: how many bytes have come while all were of kinds that are left out; else -1. */
  #visit(trie: Trie, node: number, to: number, spot: Spot, depth: number): void {
    const { first, bytes, from, kinds, heights, tokens } = trie
    const { skip, skipRoom, closers } = this.#options
    const last = first[node + 1]!
    for (let child = first[node]!; child < last; child++) {
      const byte = bytes[child]!
      const kind = KIND[byte]!
      const all = kind | kinds[child]!
      if (depth >= 0 && (all & skip) === 0 && depth + heights[child]! <= skipRoom) continue
      const own = from[child]!
      const end = child + 1 < last ? from[child + 1]! : to
      if ((all & spot.leaving) === 0 && heights[child]! <= spot.room && this.#takeAll(spot, tokens, own, end)) continue
      this.#found.followed++
      if (--this.#left < 0) return
      if (byte === QUOTE && spot.frame instanceof CharacterFrame) {
        if (spot.frame.closes) closers?.add(spot.frame, trie, child, end)
        continue
      }
      const next = this.#spots.step(spot, byte)
      if (next === null) continue
      const below = first[child] === first[child + 1] ? end : from[first[child]!]!
      const skipped = depth >= 0 && depth < skipRoom && (kind & skip) === 0
      if (own < below && !skipped) this.#take(next, tokens, own, below)
      if (below < end) this.#visit(trie, child, end, next, skipped ? depth + 1 : -1)
    }
  }

  /** Decides about tokens that may all follow; false if each must be looked at. */
  #takeAll(spot: Spot, tokens: Uint32Array, from: number, to: number): boolean {
    const takes = this.#admits(spot)
    if (takes) this.#found.add(tokens, from, to)
    return takes !== undefined
  }

  /** Whether the budget suffices after all tokens that pass by kind, after none of them (false), or it depends. */
  admits(frame: StringPlace, options: StringWalkOptions): boolean | undefined {
    this.#begin(options)
    return this.#admits(this.#own.start(frame))
  }

  #begin(options: StringWalkOptions): void {
    const { rest } = options
    this.#options = options
    this.#walks++
    this.#behind = rest === undefined ? 0 : behindOf(rest)
  }

  #admits(spot: Spot): boolean | undefined {
    const { rest, cut, reached } = this.#options
    if (rest === undefined) return true
    if (spot.frame.class.end === 'same' && !cut) return this.#affordable(spot, rest)
    const longest = longestAfter(spot.frame, cut)
    const admits = longest + this.#behind <= rest.budget
    if (admits && reached !== undefined) {
      reached.all = false
      reached.longest = Math.max(reached.longest, longest)
    }
    return admits || undefined
  }

  #take(spot: Spot, tokens: Uint32Array, from: number, to: number): void {
    const { rest } = this.#options
    if (rest === undefined || this.#affordable(spot, rest)) this.#found.add(tokens, from, to)
  }

  #affordable(spot: Spot, rest: Rest): boolean {
    if (rest.budget === Infinity) return true
    if (spot.walk !== this.#walks) {
      spot.walk = this.#walks
      spot.affordable = isAffordable(spot.frame, rest)
      if (this.#options.reached) reach(this.#options.reached, spot.frame)
    }
    return spot.affordable
  }
}

export function reach(reached: Reached, place: StringPlace): void {
  reached.places.add(place)
  reached.longest = Math.max(reached.longest, place.length)
}

/** What suffices behind the string, in tokens: every byte is at most one. */
export function behindOf({ below, costs }: Rest): number {
  return Math.min(below.length, costs.ofCell(below))
}

/** Whether the budget suffices from a place to the end. */
export function isAffordable(place: StringPlace, { below, budget, costs }: Rest): boolean {
  return place.length + below.length <= budget || costs.ofCell(below.push(place)) <= budget
}

/** No way to the end is longer after passing characters. */
function longestAfter(place: StringPlace, cut: boolean): number {
  return (place.class.end === 'unknown' ? place.base.longest : place.length) + (cut ? MOST_CUT : 0)
}
