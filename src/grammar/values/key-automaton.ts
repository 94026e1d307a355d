import { getOrMake } from '../../platform/index.js'
import { refine } from '../automata/classes.js'
import { minimise } from '../automata/minimise.js'
import { ANY_TEXT, NO_TEXT } from '../automata/sets.js'
import { DEAD, type TextAutomaton } from '../automata/types.js'
import type { Fuel } from '../fuel.js'
import type { KeyAutomaton, KeySource, Value } from './value.js'

export const NO_KEYS: KeyAutomaton = { text: NO_TEXT, values: [], value: () => undefined }

/** One value whatever the key. */
export function uniformKeys(value: Value, text: TextAutomaton = ANY_TEXT): KeySource {
  const keys = { text, values: [value], value: (state: number) => (text.accepts(state) ? value : undefined) }
  return { values: [value], now: () => (value.possible ? keys : NO_KEYS) }
}

/** Runs several automata side by side; `valueFor` tells what follows a key, given which of them accept it. */
export class KeyProduct implements KeySource {
  readonly values: Value[] = []
  readonly #classes: TextAutomaton['classes']
  readonly #rows: number[] = []
  readonly #labels: number[] = [-1]
  readonly #width: number
  #trimmed: KeyAutomaton | undefined
  #trimmedFor = ''

  constructor(
    parts: readonly TextAutomaton[],
    valueFor: (accepted: readonly boolean[]) => Value | undefined,
    fuel: Fuel,
  ) {
    const { classes, maps } = joint(parts)
    this.#classes = classes
    this.#width = classes.count
    const ids = new Map<string, number>([['', DEAD]])
    const vectors: number[][] = [[]]
    const stateOf = (vector: number[]): number => {
      const key = vector.join()
      return getOrMake(ids, key, () => vectors.push(vector) - 1)
    }
    stateOf(parts.map((part) => part.start))
    const labels = new Map<Value, number>()
    for (let i = 0; i < this.#width; i++) this.#rows.push(DEAD)
    for (let s = 1; s < vectors.length; s++) {
      // Once more for making it the smallest.
      fuel.spend(this.#width * (parts.length + 2))
      const vector = vectors[s]!
      const value = valueFor(vector.map((state, p) => parts[p]!.accepts(state)))
      this.#labels.push(value === undefined ? -1 : this.#label(labels, value))
      this.#rows.push(DEAD)
      for (let cls = 1; cls < this.#width; cls++) {
        this.#rows.push(
          stateOf(vector.map((state, p) => (state === DEAD ? DEAD : parts[p]!.step(state, maps[p]![cls]!)))),
        )
      }
    }
  }

  #label(labels: Map<Value, number>, value: Value): number {
    return getOrMake(labels, value, () => this.values.push(value) - 1)
  }

  now(): KeyAutomaton {
    const possible = this.values.map((value) => (value.possible ? '1' : '0')).join('')
    if (this.#trimmed === undefined || this.#trimmedFor !== possible) {
      this.#trimmed = this.#trim()
      this.#trimmedFor = possible
    }
    return this.#trimmed
  }

  /** Places that go on alike are one, whichever patterns they have matched: masks are learned place by place. */
  #trim(): KeyAutomaton {
    const kinds = Uint32Array.from(this.#labels, (label) =>
      label >= 0 && this.values[label]!.possible ? label + 1 : 0,
    )
    const text = minimise(1, this.#classes, Uint32Array.from(this.#rows), kinds)
    const value = (state: number) => (text.accepts(state) ? this.values[text.kind(state) - 1] : undefined)
    return { text, values: this.values.filter(({ possible }) => possible), value }
  }
}

/** A partition fine enough for all, and each one's own class by the joint class. */
function joint(parts: readonly TextAutomaton[]): { classes: TextAutomaton['classes']; maps: Uint16Array[] } {
  let classes = ANY_TEXT.classes
  let maps: Uint16Array[] = []
  for (const part of parts) {
    const refined = refine(classes, part.classes)
    maps = [...maps.map((map) => refined.left.map((cls) => map[cls]!)), refined.right]
    classes = refined.classes
  }
  return { classes, maps }
}
