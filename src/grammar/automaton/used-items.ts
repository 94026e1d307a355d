import { getOrMake } from '../../platform/index.js'
import { Kept } from '../kept.js'
import type { Bytes, Cell, Frame } from './frame.js'
import type { Machine, State } from './machine.js'

/** Sets of items that are kept of one array: each document brings its own. */
const KEPT = 200
/** A way on that is the item's end. */
export const ITEM_END = -1

/** A beginning that items share which have come. */
export interface Begun {
  readonly state: State
  /** An item that has come ends here. */
  readonly used: boolean
  readonly children: ReadonlyMap<number, Begun>
  /** Bytes of the shortest way to an item that has not come yet; `Infinity`: there is none. */
  readonly length: number
  /** Its first byte, or `END`. */
  readonly way: number
}

let sets = 0
const orders = new WeakMap<State, readonly { readonly byte: number; readonly length: number }[]>()

/** The items that an array has, grown by one at a time and shared between its places. */
export class UsedItems {
  readonly id = ++sets
  readonly root: Begun
  readonly #machine: Machine
  readonly #known: Kept<string, UsedItems>
  #first: Frame | undefined

  private constructor(machine: Machine, root: Begun, known: Kept<string, UsedItems>) {
    this.#machine = machine
    this.root = root
    this.#known = known
  }

  static none(machine: Machine): UsedItems {
    return new UsedItems(machine, begun(machine, machine.start, false, new Map()), new Kept(KEPT))
  }

  /** Before an item. */
  first(make: () => Frame): Frame {
    this.#first ??= make()
    return this.#first
  }

  with(text: Bytes): UsedItems {
    return getOrMake(
      this.#known,
      `${this.id},${text}`,
      () => new UsedItems(this.#machine, this.#grown(text), this.#known),
    )
  }

  #grown(text: Bytes): Begun {
    const machine = this.#machine
    const states = [machine.start]
    const before: (Begun | undefined)[] = [this.root]
    for (let i = 0; i < text.length; i++) {
      const byte = text.charCodeAt(i)
      const state = machine.step(states[i]!, byte)
      if (state.dead) return this.root
      states.push(state)
      before.push(before[i]?.children.get(byte))
    }
    let node = begun(machine, states.at(-1)!, true, before.at(-1)?.children ?? new Map())
    for (let i = text.length - 1; i >= 0; i--) {
      const children = new Map(before[i]?.children).set(text.charCodeAt(i), node)
      node = begun(machine, states[i]!, before[i]?.used ?? false, children)
    }
    return node
  }
}

function begun(machine: Machine, state: State, used: boolean, children: ReadonlyMap<number, Begun>): Begun {
  if (state.accepting && !used) return { state, used, children, length: 0, way: ITEM_END }
  const other = waysOn(machine, state).find(({ byte }) => !children.has(byte))
  let [way, length] = other === undefined ? [ITEM_END, Infinity] : [other.byte, other.length]
  for (const [byte, child] of children) if (child.length + 1 < length) [way, length] = [byte, child.length + 1]
  return { state, used, children, length, way }
}

/** The bytes that may come next, those with the shortest way to the end first. */
function waysOn(machine: Machine, state: State) {
  return getOrMake(orders, state, () => {
    const bytes = state.next ?? Array.from({ length: 256 }, (_, byte) => byte)
    const ways = [...bytes].map((byte) => ({ byte, length: machine.step(state, byte).length + 1 }))
    return ways.filter(({ byte }) => !machine.step(state, byte).dead).sort((a, b) => a.length - b.length)
  })
}

/** The shortest way on from a place. */
export function shortestWay({ cells }: State): Bytes {
  let bytes = ''
  const shortest = (ways: readonly Cell[]) => ways.reduce((a, b) => (b.length < a.length ? b : a))
  for (let at = shortest(cells); at.frame !== undefined; at = shortest(at.below!.ways)) bytes += at.frame.spell()
  return bytes
}
