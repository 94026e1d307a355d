import { getOrMake } from '../../src/platform/maps.js'
import type { Case, TensorSpec, Weights } from './family.js'
import type { Vector } from './float64.js'
import { Random } from './random.js'

const known = new WeakMap<Case['tensors'], Map<string, Weights>>()
/** By model: a case that is made of another, with more tensors, has those of the other as they are. */
const numbers = new WeakMap<TensorSpec, Map<string, Vector>>()

/** Made-up weights, which every format can hold: each number is one of f16's and of bf16's. Made once. */
export function weightsOf(of: Pick<Case, 'name' | 'tensors'>): Weights {
  const byName = known.get(of.tensors) ?? new Map<string, Weights>()
  known.set(of.tensors, byName)
  const weights = byName.get(of.name) ?? made(of)
  byName.set(of.name, weights)
  return weights
}

/** Each tensor when it is first asked for: who only looks at shapes waits for none. */
function made({ name: model, tensors }: Pick<Case, 'name' | 'tensors'>): Weights {
  const specs = new Map(tensors.map((spec) => [spec.name, spec]))
  return (name) => {
    const spec = specs.get(name)
    if (!spec) throw new Error(`${model} has no tensor ${name}.`)
    const ofModels = getOrMake(numbers, spec, () => new Map<string, Vector>())
    return getOrMake(ofModels, model, () => numbersOf(spec, new Random(`${model} ${name}`)))
  }
}

function numbersOf({ shape, mean = 0, deviation }: TensorSpec, random: Random): Vector {
  const numbers = new Float64Array(shape.reduce((a, b) => a * b))
  // Millions of them: neither a call for each that makes an iterator's result, nor powers and logarithms for each.
  for (let i = 0; i < numbers.length; i++) numbers[i] = rounded(mean + deviation * random.normal())
  return numbers
}

const number = new Float64Array(1)
/** Of its halves the latter holds the exponent: Node's machines write the lower first. */
const halves = new Uint32Array(number.buffer)
/** By exponent plus 14. */
const UNITS = Float64Array.from({ length: 64 }, (_, i) => 2 ** (i - 14 - 7))

/** Eight bits after the leading one, as bf16 has; down to 2^-14 such a number is also one of f16. */
function rounded(value: number): number {
  number[0] = value
  const exponent = ((halves[1]! >>> 20) & 0x7ff) - 1023
  if (exponent < -14) return 0
  const unit = UNITS[exponent + 14]!
  return Math.round(value / unit) * unit
}
