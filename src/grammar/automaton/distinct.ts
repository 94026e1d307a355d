import { getOrMake } from '../../platform/index.js'
import { Kept } from '../kept.js'
import type { ArrayShape, ArrayStep } from '../values/value.js'
import { ArrayFrame, ArrayFrames } from './array.js'
import {
  type Bytes,
  type Cell,
  type Cells,
  Frame,
  LIKE_USED,
  OPENS_ITEMS,
  UNCERTAIN,
  UNKNOWN_ITEM,
  type UnknownItemFrame,
} from './frame.js'
import type { Frames } from './frames.js'
import { Machine } from './machine.js'
import { type Begun, ITEM_END, shortestWay, UsedItems } from './used-items.js'

const COMMA = 0x2c
/** Places kept of one array: each document brings its own items. */
const KEPT = 500

/**
 * The places between the items of arrays in which none comes twice. Items are followed by an automaton of their own as
 * long as they look like one that has come; what an item was becomes known behind it, see `Machine.resolveItem`.
 */
export class DistinctFrames extends ArrayFrames {
  readonly machine: Machine
  readonly none: UsedItems
  readonly #frames = new Kept<string, DistinctFrame>(KEPT)

  constructor(shape: ArrayShape, program: Frames) {
    super(shape, program)
    const first = program.exact.inside.value(shape.value(0, 'plain'))
    this.machine = new Machine(first)
    this.none = UsedItems.none(this.machine)
  }

  override at(): DistinctFrame {
    return this.after(0, this.none, true)
  }

  after(index: number, used: UsedItems, known: boolean): DistinctFrame {
    const at = this.shape.clamp(index)
    return getOrMake(this.#frames, `${at},${used.id},${known}`, () => new DistinctFrame(this, at, used, known))
  }
}

/** Between two items, of which the last may not be known yet. */
class DistinctFrame extends ArrayFrame implements UnknownItemFrame {
  readonly #items: DistinctFrames
  readonly #used: UsedItems
  readonly #known: boolean

  constructor(items: DistinctFrames, index: number, used: UsedItems, known: boolean) {
    super(items, index, 0, (known ? 0 : UNKNOWN_ITEM) | (index === 0 ? OPENS_ITEMS : 0))
    this.#items = items
    this.#used = used
    this.#known = known
  }

  /** The same where the last item was this one. */
  with(text: Bytes): Frame {
    return this.#items.after(this.index, this.#used.with(text), true)
  }

  override step(byte: number, below: Cell, out: Cells): void {
    if (this.#known || byte !== COMMA) super.step(byte, below, out)
    else if (this.steps().length > 0) out.add(below.push(UNKNOWN))
  }

  protected override steps(): readonly ArrayStep[] {
    return this.#known && this.#used.root.length === Infinity ? [] : super.steps()
  }

  protected override item(): Frame {
    return this.home.program.exact.inside.value(this.home.shape.value(0, 'plain'))
  }

  protected override behind(): Frame {
    return this.#items.after(this.index + 1, this.#used, false)
  }

  protected override enter(step: ArrayStep, below: Cell): Cell {
    if (this.#used === this.#items.none) return super.enter(step, below)
    return below.push(this.#used.first(() => new ItemFrame(this.#items, this.index + 1, this.#used, '')))
  }
}

/** At the start of an item while the one before it is not known: what may follow is computed again once it is. */
class UnknownItem extends Frame {
  override readonly length = 0

  constructor() {
    super(UNCERTAIN)
  }

  override step(): void {}

  override next(): boolean {
    return false
  }

  override spell(): Bytes {
    return ''
  }
}

const UNKNOWN = new UnknownItem()

/** In an item that begins as one or more begin that have come. */
export class ItemFrame extends Frame {
  readonly #home: DistinctFrames
  readonly #index: number
  readonly #used: UsedItems
  readonly #text: Bytes
  readonly begun: Begun
  readonly #inside = new Map<number, ItemFrame>()

  constructor(home: DistinctFrames, index: number, used: UsedItems, text: Bytes, at = used.root) {
    super(at.used ? 0 : LIKE_USED)
    this.#home = home
    this.#index = index
    this.#used = used
    this.#text = text
    this.begun = at
  }

  override step(byte: number, below: Cell, out: Cells): void {
    const { machine } = this.#home
    const { state, children } = this.begun
    const next = machine.step(state, byte)
    if (next.dead) {
      if (this.#ends) this.#after(this.#text).step(byte, below, out)
      return
    }
    const text = this.#text + String.fromCharCode(byte)
    const same = children.get(byte)
    if (same === undefined) {
      for (const cell of next.cells) {
        if (cell.frame === undefined) out.add(below.push(this.#after(text)))
        else for (const moved of onTop(cell, below.push(this.#afterUnknown))) out.add(moved)
      }
    } else if (same.length !== Infinity) {
      const make = () => new ItemFrame(this.#home, this.#index, this.#used, text, same)
      out.add(below.push(getOrMake(this.#inside, byte, make)))
    }
  }

  get #afterUnknown(): Frame {
    return this.#home.after(this.#index, this.#used, false)
  }

  /** The same place for an item that no other is held against. */
  apart(below: Cell): Cell[] {
    return this.begun.state.cells.flatMap((cell) => [...onTop(cell, below.push(this.#afterUnknown))])
  }

  /** Whether the item may be over, as a number may. */
  get #ends(): boolean {
    return this.begun.state.accepting && !this.begun.used
  }

  #after(text: Bytes): Frame {
    return this.#home.after(this.#index, this.#used.with(text), true)
  }

  override next(below: Cell, into: Set<number>): boolean {
    const { state, children } = this.begun
    if (state.next === null) return false
    for (const byte of state.next) if (children.get(byte)?.length !== Infinity) into.add(byte)
    return !this.#ends || this.#after(this.#text).next(below, into)
  }

  override get length(): number {
    return this.begun.length + this.#afterUnknown.length
  }

  override spell(): Bytes {
    let bytes = ''
    let at = this.begun
    for (; at.way !== ITEM_END; ) {
      bytes += String.fromCharCode(at.way)
      const same = at.children.get(at.way)
      if (same === undefined) {
        bytes += shortestWay(this.#home.machine.step(at.state, at.way))
        break
      }
      at = same
    }
    return bytes + this.#afterUnknown.spell()
  }
}

/** The same stacks, with another one where they end. */
function* onTop({ frame, below, fork }: Cell, bottom: Cell): Generator<Cell> {
  if (fork !== undefined) for (const way of fork) yield* onTop(way, bottom)
  else if (frame === undefined) yield bottom
  else for (const rest of onTop(below!, bottom)) yield rest.push(frame)
}
