/** The numbers that a GGUF in f32 has for the tensors of a case, under the names that its definition in float64 knows. */
import type { WeightSource } from '../../src/models/files/source.js'
import type { Case, Weights } from '../../test/oracles/family.js'
import { weightsOf } from '../../test/oracles/weights.js'

/**
 * A GGUF has rows in another order, and tensors in one piece that are several here: where each number came from is seen by
 * making its tensors of the places in place of the numbers. What has one dimension stands in no block, and is as it was.
 */
export async function numbersIn(source: WeightSource, of: Case): Promise<Weights> {
  const original = of.tensors.map(({ name }) => ({ name, values: weightsOf(of)(name) }))
  const numbers = new Float64Array(original.reduce((sum, { values }) => sum + values.length, 0))
  const places = numbers.map((_, i) => i)
  const ranges = new Map<string, [from: number, to: number]>()
  let from = 0
  for (const { name, values } of original) {
    numbers.set(values, from)
    ranges.set(name, [from, from + values.length])
    from += values.length
  }
  for (const { name, dims, values } of of.gguf!.tensors((name) => places.subarray(...ranges.get(name)!))) {
    if (dims.length < 2) continue
    const { dtype, data } = await source.read(name)
    if (dtype !== 'f32') throw new Error(`${name} is in ${dtype}.`)
    const read = new DataView(data.buffer, data.byteOffset, data.byteLength)
    for (const [i, place] of values.entries()) numbers[place] = read.getFloat32(4 * i, true)
  }
  return (name) => numbers.subarray(...ranges.get(name)!)
}
