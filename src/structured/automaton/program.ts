import type { ArrayShape } from '../schema/array-shape.js'
import { type Layout, toBytes, write } from '../schema/format.js'
import type { ObjectShape } from '../schema/object-shape.js'
import type { Value } from '../schema/value.js'
import type { TextAutomaton } from '../text/types.js'
import { ArrayFrames } from './array.js'
import { FixedFrame } from './fixed.js'
import type { Bytes, Frame } from './frame.js'
import { NumberFrame } from './number.js'
import { ObjectFrames } from './object-home.js'
import { TextFrames } from './text.js'
import { ValueFrame } from './value.js'

/** The frames of one grammar, each made when the automaton first comes to it. */
export class Program {
  readonly layout: Layout
  readonly colon: FixedFrame
  /** What stands after a comma before the next member, if anything. */
  readonly afterComma: FixedFrame | undefined
  readonly #values = new Map<Value, ValueFrame>()
  readonly #texts = new Map<TextAutomaton, TextFrames>()
  readonly #numbers = new Map<TextAutomaton, NumberFrame>()
  readonly #arrays = new Map<ArrayShape, ArrayFrames>()
  readonly #objects = new Map<ObjectShape, ObjectFrames>()

  constructor(layout: Layout) {
    this.layout = layout
    this.colon = new FixedFrame(layout.colon)
    this.afterComma = layout.comma.length > 1 ? new FixedFrame(layout.comma.slice(1)) : undefined
  }

  value(value: Value): ValueFrame {
    return made(this.#values, value, () => new ValueFrame(value, this))
  }

  text(text: TextAutomaton): TextFrames {
    return made(this.#texts, text, () => new TextFrames(text))
  }

  number(text: TextAutomaton): NumberFrame {
    return made(this.#numbers, text, () => new NumberFrame(text, text.start, new Map()))
  }

  array(shape: ArrayShape): ArrayFrames {
    return made(this.#arrays, shape, () => new ArrayFrames(shape, this))
  }

  /** After `{`; undefined if no such object can be completed. */
  object(shape: ObjectShape): Frame | undefined {
    const { start } = made(this.#objects, shape, () => new ObjectFrames(shape, this))
    return start.plan.length === Infinity ? undefined : start.open
  }

  texts(values: readonly unknown[]): Bytes[] {
    return values.map((value) => toBytes(write(value, this.layout))).sort()
  }
}

function made<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key)
  if (value === undefined) {
    value = make()
    map.set(key, value)
  }
  return value
}
