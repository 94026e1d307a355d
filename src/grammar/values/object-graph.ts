import type { Fuel } from '../fuel.js'
import { type Layout, toBytes } from './format.js'
import { planObject } from './object-plan.js'
import type { GraphNode, GraphStep, ObjectGraph, ObjectShape, Take, Value } from './value.js'

/**
 * Objects whose alternatives are told apart member by member: declared keys in their order, each of which decides what
 * may follow. Where alternatives multiply there are far fewer such places than ways through them.
 */
export class MemberGraph implements ObjectGraph {
  readonly keys: readonly string[]
  readonly layout: Layout
  readonly start: GraphNode
  readonly values: readonly Value[]
  readonly tails: readonly ObjectShape[]
  readonly size: number
  /** Bytes of each key with its quotes and colon. */
  readonly #heads: readonly number[]
  /** More members than this are not told apart. */
  readonly #limit: number
  readonly #rests = new Map<number, number>()

  constructor(keys: readonly string[], start: GraphNode, layout: Layout) {
    this.keys = keys
    this.start = start
    this.layout = layout
    this.#heads = keys.map((key) => toBytes(JSON.stringify(key)).length + layout.colon.length)
    const nodes = reached(start)
    this.size = nodes.length
    this.tails = [...new Set(nodes.flatMap((node) => node.tails))]
    const taken = nodes.flatMap((node) => node.takes.map((take) => take.value))
    this.values = [...new Set([...taken, ...this.tails.flatMap((tail) => tail.values)])]
    const counted = this.tails.some((tail) => tail.max !== Infinity)
    this.#limit = counted ? MOST_MEMBERS : Math.max(1, ...this.tails.map((tail) => tail.min))
  }

  cap(count: number): number {
    return Math.min(count, this.#limit)
  }

  /** The weight of what is still to come, `}` included; `Infinity` where there is no way to it. */
  rest(node: GraphNode, count: number, fuel?: Fuel): number {
    const key = node.id * (MOST_MEMBERS + 1) + this.cap(count)
    const known = this.#rests.get(key)
    if (known !== undefined) return known
    fuel?.spend(1 + node.takes.length)
    let best = this.#through(node, count, fuel)
    if (node.skip !== undefined) best = Math.min(best, this.rest(node.skip, count, fuel))
    for (const tail of node.tails) best = Math.min(best, this.#behind(tail, count, fuel))
    this.#rests.set(key, best)
    return best
  }

  /** The first step of the shortest way on; `declared`: by a declared key. */
  best(node: GraphNode, count: number, declared = false): GraphStep | undefined {
    let best: GraphStep | undefined
    let least = Infinity
    for (let at: GraphNode | undefined = node; at !== undefined; at = at.skip) {
      for (const take of at.takes) {
        const weight = this.weigh(at.index, take, count)
        if (weight < least) [best, least] = [{ index: at.index, take }, weight]
      }
      for (const tail of declared ? [] : at.tails) {
        const weight = this.#behind(tail, count)
        if (weight < least) [best, least] = [tail, weight]
      }
    }
    return best
  }

  /** The weight of the way by such a member. */
  weigh(index: number, { value, next }: Take, count: number): number {
    const { open, comma } = this.layout.weights
    const own = this.#heads[index]! + this.layout.inside(value.length) + (count > 0 ? comma : open)
    return own === Infinity ? own : own + this.rest(next, count + 1)
  }

  /** The lengths of values have changed. */
  forget(): void {
    this.#rests.clear()
  }

  #through(node: GraphNode, count: number, fuel?: Fuel): number {
    let best = Infinity
    for (const take of node.takes) {
      if (!take.value.possible) continue
      this.rest(take.next, count + 1, fuel)
      best = Math.min(best, this.weigh(node.index, take, count))
    }
    return best
  }

  #behind(tail: ObjectShape, count: number, fuel?: Fuel): number {
    return planObject(tail, { index: this.keys.length, count, used: [], pending: 0 }, tail.min, fuel).length
  }
}

/** No object has more, that is told apart so. */
const MOST_MEMBERS = 2 ** 16

function reached(start: GraphNode): GraphNode[] {
  const seen = new Set([start])
  for (const node of seen) {
    if (node.skip !== undefined) seen.add(node.skip)
    for (const { next } of node.takes) seen.add(next)
  }
  return [...seen]
}
