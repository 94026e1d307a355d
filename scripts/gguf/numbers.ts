/** The numbers that a GGUF in f32 has for the tensors of a case, under the names that its definition in float64 knows. */
import type { WeightSource } from '../../src/models/files/source.js'
import type { Case, GgufTensor, Weights } from '../../test/oracles/family.js'
import type { Vector } from '../../test/oracles/float64.js'

/**
 * A GGUF has rows in another order, and tensors in one piece that are several here: where each number came from is seen by
 * making its tensors of the places in place of the numbers. What has one dimension stands in no block, and is as it was.
 */
export async function numbersIn(
  source: WeightSource,
  of: Case,
  tensorsOf: (weights: Weights) => readonly GgufTensor[],
  weights: Weights,
): Promise<Weights> {
  const numbers = new Map<string, Vector>()
  const places = new Map<string, Vector>()
  const starts: { readonly name: string; readonly from: number }[] = []
  let count = 0
  for (const { name } of of.tensors) {
    const from = count
    const original = weights(name)
    numbers.set(name, Float64Array.from(original))
    places.set(
      name,
      Float64Array.from(original, (_, i) => from + i),
    )
    starts.push({ name, from })
    count += original.length
  }
  for (const { name, dims, values } of tensorsOf((name) => places.get(name)!)) {
    if (dims.length < 2) continue
    const { dtype, data } = await source.read(name)
    if (dtype !== 'f32') throw new Error(`${name} is in ${dtype}.`)
    const read = new DataView(data.buffer, data.byteOffset, data.byteLength)
    values.forEach((place, i) => {
      const { name, from } = starts.findLast(({ from }) => from <= place)!
      numbers.get(name)![place - from] = read.getFloat32(4 * i, true)
    })
  }
  return (name) => numbers.get(name)!
}
