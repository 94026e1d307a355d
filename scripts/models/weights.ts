import type { Case, Weights } from './family.js'
import { Random } from './random.js'

const known = new WeakMap<Case['tensors'], Map<string, Weights>>()

/** Made-up weights, which every format can hold: each number is one of f16's and of bf16's. Made once. */
export function weightsOf(of: Pick<Case, 'name' | 'tensors'>): Weights {
  const byName = known.get(of.tensors) ?? new Map<string, Weights>()
  known.set(of.tensors, byName)
  const weights = byName.get(of.name) ?? made(of)
  byName.set(of.name, weights)
  return weights
}

function made({ name: model, tensors }: Pick<Case, 'name' | 'tensors'>): Weights {
  const values = new Map<string, Float64Array<ArrayBuffer>>()
  for (const { name, shape, mean = 0, deviation } of tensors) {
    const random = new Random(`${model} ${name}`)
    const size = shape.reduce((a, b) => a * b)
    values.set(
      name,
      Float64Array.from({ length: size }, () => rounded(mean + deviation * random.normal())),
    )
  }
  return (name) => {
    const found = values.get(name)
    if (!found) throw new Error(`${model} has no tensor ${name}.`)
    return found
  }
}

/** Eight bits after the leading one, as bf16 has; down to 2^-14 such a number is also one of f16. */
function rounded(value: number): number {
  if (Math.abs(value) < 2 ** -14) return 0
  const unit = 2 ** (Math.floor(Math.log2(Math.abs(value))) - 7)
  return Math.round(value / unit) * unit
}
