/**
 * A case as mlx-lm writes it (`mlx.core.quantize`, mode affine, and each family's `sanitize`): of every matrix whose rows
 * are whole groups four bits a number, beside them a scale and what is added; all else in BF16.
 */
import type { Case, TensorSpec, Weights } from '../family.js'
import type { Vector } from '../float64.js'
import { type StoredTensor, storedAs } from './safetensors.js'

const GROUP = 64

const isMatrix = ({ shape }: TensorSpec) => shape.length === 2 && shape[1]! % GROUP === 0

/** The next number of BF16. */
const brief = (value: number): number => {
  const bits = new Uint32Array(Float32Array.of(value).buffer)[0]!
  return new Float32Array(Uint32Array.of((bits + 0x7fff + ((bits >>> 16) & 1)) & 0xffff0000).buffer)[0]!
}

interface Affine {
  readonly codes: Uint32Array
  readonly scales: Float64Array
  readonly biases: Float64Array
}

/** The end that is further from zero is met, as is zero itself: it has a code. */
function affine(values: Vector): Affine {
  const groups = values.length / GROUP
  const out = {
    codes: new Uint32Array(values.length / 8),
    scales: new Float64Array(groups),
    biases: new Float64Array(groups),
  }
  for (let group = 0; group < groups; group++) {
    const own = values.subarray(group * GROUP, (group + 1) * GROUP)
    const [least, most] = [Math.min(...own), Math.max(...own)]
    const [edge, across] = Math.abs(least) > Math.abs(most) ? [least, most] : [most, least]
    const step = Math.max((most - least) / 15, 1e-7) * (across > edge ? 1 : -1)
    const first = Math.round(edge / step)
    const scale = brief(first === 0 ? step : edge / first)
    const bias = brief(first === 0 ? 0 : edge)
    out.scales[group] = scale
    out.biases[group] = bias
    own.forEach((value, i) => {
      const code = Math.min(15, Math.max(0, Math.round((value - bias) / scale)))
      const at = group * GROUP + i
      out.codes[at >> 3]! |= code << (4 * (at & 7))
    })
  }
  return out
}

const asBytes = (words: Uint32Array) => new Uint8Array(words.buffer)

/** The one that norms add is in their weights. */
const grows = (of: Case, name: string) =>
  /^qwen3_5/.test(String(of.config.model_type)) && /(_layernorm|model\.norm|\.[qk]_norm)\.weight$/.test(name)

/** What mlx-lm calls otherwise: of Granite 4.0 it takes the one MLP apart. */
function named(spec: TensorSpec, values: Vector): readonly { readonly spec: TensorSpec; readonly values: Vector }[] {
  const [, at, part] = /^(.*)\.shared_mlp\.(input|output)_linear\.weight$/.exec(spec.name) ?? []
  if (at === undefined) return [{ spec, values }]
  const [rows, columns] = spec.shape as [number, number]
  const parts = part === 'input' ? ['gate', 'up'] : ['down']
  const shape = [rows / parts.length, columns]
  return parts.map((name, i) => ({
    spec: { ...spec, name: `${at}.mlp.${name}_proj.weight`, shape },
    values: values.subarray((i * values.length) / parts.length, ((i + 1) * values.length) / parts.length),
  }))
}

export function mlxTensors(of: Case, weights: Weights): StoredTensor[] {
  return of.tensors
    .flatMap((whole) => named(whole, weights(whole.name)))
    .flatMap(({ spec, values }): StoredTensor[] => {
      const { name, shape } = spec
      if (isMatrix(spec)) {
        const { codes, scales, biases } = affine(values)
        const groups = [shape[0]!, shape[1]! / GROUP]
        const part = (kind: string) => ({ name: name.replace(/weight$/, kind), shape: groups, deviation: 0 })
        return [
          { name, dtype: 'U32', shape: [shape[0]!, shape[1]! / 8], data: asBytes(codes) },
          storedAs(part('scales'), 'BF16', scales),
          storedAs(part('biases'), 'BF16', biases),
        ]
      }
      // Channels come last.
      if (shape.length === 3) return [storedAs({ ...spec, shape: [shape[0]!, shape[2]!, shape[1]!] }, 'BF16', values)]
      return [storedAs(spec, 'BF16', grows(of, name) ? values.map((value) => brief(value + 1)) : values)]
    })
}

export const mlxConfig = ({ config }: Case) => ({ ...config, quantization: { group_size: GROUP, bits: 4 } })

/** What is left of the weights. */
export function throughMlx(of: Case, weights: Weights): Weights {
  const specs = new Map(of.tensors.map((spec) => [spec.name, spec]))
  const known = new Map<string, Vector>()
  return (name) => {
    const values = known.get(name) ?? rounded(of, specs.get(name)!, weights(name))
    known.set(name, values)
    return values
  }
}

function rounded(of: Case, spec: TensorSpec, values: Vector): Vector {
  if (grows(of, spec.name)) return values.map((value) => brief(value + 1) - 1)
  if (!isMatrix(spec)) return values
  const { codes, scales, biases } = affine(values)
  return values.map((_, i) => {
    const group = Math.floor(i / GROUP)
    return ((codes[i >> 3]! >>> (4 * (i & 7))) & 15) * scales[group]! + biases[group]!
  })
}
