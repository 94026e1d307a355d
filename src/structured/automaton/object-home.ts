import type { KeyAutomaton } from '../schema/key-automaton.js'
import { freshKeys, keyValue, planObject } from '../schema/object-plan.js'
import type { ObjectShape } from '../schema/object-shape.js'
import { acceptsText } from '../text/automaton.js'
import { fromKeyBytes, keyBytes } from './key-bytes.js'
import { ObjectState } from './object-state.js'
import type { Program } from './program.js'
import { UsedKeys } from './used-keys.js'

/** All places inside the objects of one shape. */
export class ObjectFrames {
  readonly shape: ObjectShape
  readonly program: Program
  readonly keys: KeyAutomaton
  /** By property. */
  readonly names: readonly string[]
  /** Where the next required property stands, by index; `properties.length` when there is none. */
  readonly nextRequired: readonly number[]
  /** How many required properties stand at or after an index. */
  readonly requiredFrom: readonly number[]
  readonly start: ObjectState
  readonly #states = new Map<string, ObjectState>()
  readonly #declared: readonly string[]
  readonly #bits: ReadonlyMap<string, number>
  readonly #extras = new Map<string, boolean>()

  constructor(shape: ObjectShape, program: Program) {
    this.shape = shape
    this.program = program
    this.keys = shape.keys.now()
    this.names = shape.properties.map((property) => keyBytes(property.key))
    this.#declared = [...this.names, ...shape.pending.map(keyBytes)].sort()
    this.#bits = new Map(shape.pending.map((key, i) => [keyBytes(key), 1 << i]))
    const size = shape.properties.length
    const next = new Array<number>(size + 1).fill(size)
    const count = new Array<number>(size + 1).fill(0)
    for (let i = size - 1; i >= 0; i--) {
      next[i] = shape.properties[i]!.required ? i : next[i + 1]!
      count[i] = count[i + 1]! + (shape.properties[i]!.required ? 1 : 0)
    }
    this.nextRequired = next
    this.requiredFrom = count
    this.start = this.state(0, 0, UsedKeys.none(this.#declared), 2 ** shape.pending.length - 1, false)
  }

  state(index: number, count: number, used: UsedKeys, pending: number, unresolved: boolean): ObjectState {
    const { min, max } = this.shape
    // Whether there is a member at all decides about commas.
    const told = max === Infinity ? Math.min(count, Math.max(min, 1)) : count
    const key = `${index},${told},${used.id},${pending},${unresolved}`
    let state = this.#states.get(key)
    if (state === undefined) {
      state = new ObjectState(this, index, told, used, pending, unresolved)
      this.#states.set(key, state)
    }
    return state
  }

  /** The bit of a required key that is not declared; 0 for any other. */
  pendingBit(bytes: string): number {
    return this.#bits.get(bytes) ?? 0
  }

  /** Whether a declared or required key could be one of the others, were it not taken. */
  isExtra(bytes: string): boolean {
    let known = this.#extras.get(bytes)
    if (known === undefined) {
      const key = fromKeyBytes(bytes)
      known = acceptsText(this.keys.text, key)
      this.#extras.set(bytes, known)
    }
    return known
  }

  /** Whether an object can be completed from such a place; most need no plan to know. */
  canComplete(index: number, count: number, used: UsedKeys, pending: number): boolean {
    const { min, max } = this.shape
    if (max === Infinity && pending === 0 && count + this.requiredFrom[index]! >= min) return true
    return planObject(this.shape, { index, count, used: used.keys, pending }).length !== Infinity
  }

  /** The key that the shortest way takes next beyond the declared ones; it stands in for one that is not known yet. */
  freshKey(used: UsedKeys): string | undefined {
    const taken = new Set([...this.shape.properties.map((p) => p.key), ...this.shape.pending, ...used.keys])
    const found = freshKeys(this.keys, this.keys.text.start, '', (key) => !taken.has(key), 1)
    const cost = (key: string) => keyBytes(key).length + (keyValue(this.keys, key)?.length ?? Infinity)
    return found.sort((a, b) => cost(a) - cost(b))[0]
  }
}
