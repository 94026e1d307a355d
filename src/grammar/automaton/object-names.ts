import { getOrMake } from '../../platform/index.js'
import { acceptsText } from '../automata/words.js'
import type { Layout } from '../values/format.js'
import { endsOf, freshKeys } from '../values/fresh-keys.js'
import { MOST_BYTES } from '../values/text-length.js'
import type { KeyAutomaton, ObjectShape, Value } from '../values/value.js'
import type { StringClass } from './content.js'
import { fromKeyBytes, keyBytes } from './key-bytes.js'

/** What is known of the keys of one shape, wherever its objects stand. */
export class ObjectNames {
  readonly keys: KeyAutomaton
  /** By property. */
  readonly spelled: readonly string[]
  /** Those and the required ones that are not declared, sorted. */
  readonly taken: readonly string[]
  /** Where the next required property stands, by index; `properties.length` when there is none. */
  readonly nextRequired: readonly number[]
  /** How many required properties stand at or after an index. */
  readonly requiredFrom: readonly number[]
  /** By the state of their text the places in keys that no taken one begins like. */
  readonly alone = new Map<number, StringClass>()
  readonly #nearest = new Map<number, string | null>()
  #longest: number | undefined
  readonly #values: readonly Value[]
  readonly #bits: ReadonlyMap<string, number>
  readonly #extras = new Map<string, boolean>()

  constructor(shape: ObjectShape) {
    this.keys = shape.keys.now()
    this.#values = shape.keys.values
    this.spelled = shape.properties.map((property) => keyBytes(property.key))
    this.taken = [...this.spelled, ...shape.pending.map(keyBytes)].sort()
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
  }

  /** The bit of a required key that is not declared; 0 for any other. */
  pendingBit(bytes: string): number {
    return this.#bits.get(bytes) ?? 0
  }

  /** The end of the cheapest key from a state of its text on, whichever keys have come. */
  nearest(text: number, behind: (value: Value) => number): string | undefined {
    const known = getOrMake(
      this.#nearest,
      text,
      () => freshKeys(this.keys, { from: text, fresh: () => true, taken: 0, count: 1, behind })[0] ?? null,
    )
    return known ?? undefined
  }

  /** No key is longer with what stands behind it, wherever it stands and whichever have come. */
  longest(layout: Layout): number {
    if (this.#longest === undefined) {
      const behind = (value: Value) => layout.inside(value.length)
      const costs = endsOf(this.keys, behind).all
      const apart = () => this.keys.text.farthest * MOST_BYTES + layout.inside(layout.most(this.#values.map(lengthOf)))
      this.#longest = costs === undefined ? apart() : layout.most(costs)
    }
    return this.#longest
  }

  /** Whether a declared or required key could be one of the others, were it not taken. */
  isExtra(bytes: string): boolean {
    return getOrMake(this.#extras, bytes, () => acceptsText(this.keys.text, fromKeyBytes(bytes)))
  }
}

const lengthOf = ({ length }: Value) => length
