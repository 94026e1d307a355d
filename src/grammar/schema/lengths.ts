import type { Fuel } from '../fuel.js'
import { toBytes, write } from '../values/format.js'
import { planObject, startOf } from '../values/object-plan.js'
import { IN_JSON } from '../values/text-length.js'
import type { ArrayShape, ObjectShape, Value } from '../values/value.js'
import type { Context } from './context.js'

/** Finds the weight of the shortest text of every value: the least fixed point, `Infinity` for the impossible. */
export function relax(values: readonly Value[], { layout, fuel }: Context): void {
  for (const value of values) {
    for (const literal of value.literals) {
      value.length = Math.min(value.length, layout.weigh(toBytes(write(literal, layout))))
    }
    for (const number of value.numbers) value.length = Math.min(value.length, number.distance(number.start))
    for (const text of value.strings) {
      value.length = Math.min(value.length, layout.bounded(2 + IN_JSON.length(text, text.start)))
    }
  }
  for (let changed = true; changed; ) {
    changed = false
    for (let i = values.length - 1; i >= 0; i--) {
      const value = values[i]!
      let best = value.length
      fuel.spend(2 + value.arrays.length * 4)
      for (const shape of value.arrays) shape.forget()
      for (const shape of value.arrays) best = Math.min(best, arrayLength(shape))
      for (const shape of value.objects) fuel.spend(shape.properties.length)
      for (const shape of value.objects) best = Math.min(best, objectLength(shape, fuel))
      value.graph?.forget()
      if (value.graph !== undefined) best = Math.min(best, 1 + value.graph.rest(value.graph.start, 0, fuel))
      if (layout.bounded(best) < value.length) {
        value.length = layout.bounded(best)
        changed = true
      }
    }
  }
}

function arrayLength(shape: ArrayShape): number {
  return 1 + shape.rest(0, 0)
}

export function objectLength(shape: ObjectShape, fuel?: Fuel): number {
  return 1 + planObject(shape, startOf(shape), shape.min, fuel).length
}

/** The values directly inside a value. */
export function allParts(value: Value): readonly Value[] {
  return [...[...value.arrays, ...value.objects].flatMap((shape) => shape.values), ...(value.graph?.values ?? [])]
}

/** Those that decide whether there is such a value at all. */
export function obligatoryParts({ literals, numbers, strings, arrays, objects, graph }: Value): readonly Value[] {
  const plain = literals.length + numbers.length + strings.length > 0
  if (plain || arrays.some((shape) => shape.canStop(0, 0)) || objects.some(canBeEmpty)) return []
  return [
    ...arrays.flatMap((shape) => shape.values),
    ...objects.flatMap((shape) =>
      shape.min > 0 || shape.pending.length > 0
        ? shape.values
        : shape.properties.filter((property) => property.required).map((property) => property.value),
    ),
    ...(graph?.values ?? []),
  ]
}

function canBeEmpty(shape: ObjectShape): boolean {
  return shape.min === 0 && shape.pending.length === 0 && !shape.properties.some((property) => property.required)
}
