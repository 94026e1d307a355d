import { SPECIAL } from '../automata/kinds.js'
import { Branches } from '../automaton/branches.js'
import type { StringPlace } from '../automaton/characters.js'
import type { StringClass } from '../automaton/content.js'
import { ENTRY_BYTES, made } from '../kept.js'
import { roomOf } from './plain.js'

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
  asked = 0
  affordable = false

  constructor(frame: StringPlace) {
    this.frame = frame
    const { leaving, room } = frame.class
    this.leaving = leaving | SPECIAL
    this.room = roomOf(room)
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
    return made<StringPlace | StringClass, Spot>(this.#known, this.#shared ? place.class : place, () => new Spot(place))
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
