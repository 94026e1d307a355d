/** Which stored tensors make the decoder's matrices and vectors. All is known from their names, shapes and types. */
import { V1Error } from '../../../errors.js'
import type { TensorType, WeightOutline } from '../../../repository/source.js'
import type { Architecture, Names } from '../architectures/architecture.js'
import { turnedOrder } from './angles.js'
import type { LayerPlan, MatrixRole, ModelPlan, NormRole, Role } from './model-plan.js'
import { refuse } from './refuse.js'

export interface PlannedMatrix {
  /** Without their suffixes; they lie one below the other. */
  readonly parts: readonly { readonly name: string; readonly rows: number }[]
  readonly rows: number
  readonly columns: number
  readonly stored: 'q4' | Plain
  /** Of 4-bit weights, and of those that become such on their way. */
  readonly scaleType: 'f16' | 'f32'
  /** It is stored plain and gets four bits on its way to the device. */
  readonly quantize: boolean
  readonly bias?: PlannedVector
  /** Which stored row comes where. @default as they are stored */
  readonly order?: readonly number[]
}

export interface PlannedVector {
  /** In whole; they follow each other. */
  readonly parts: readonly { readonly name: string; readonly length: number }[]
  readonly length: number
  /** Which stored value comes where. */
  readonly order?: readonly number[]
  /** Each value v becomes (v + offset) * scale. */
  readonly offset?: number
  readonly scale?: number
}

export interface PlannedLayer {
  readonly attentionNorm?: PlannedVector
  readonly qkv: PlannedMatrix
  readonly queryNorm?: PlannedVector
  readonly keyNorm?: PlannedVector
  readonly output: PlannedMatrix
  readonly attentionAfter?: PlannedVector
  readonly mlpNorm?: PlannedVector
  readonly gateUp: PlannedMatrix
  readonly down: PlannedMatrix
  readonly mlpAfter?: PlannedVector
}

export interface PlannedTensors {
  readonly embedding: PlannedMatrix
  readonly layers: readonly PlannedLayer[]
  readonly norm: PlannedVector
  /** Absent: the embedding. */
  readonly head?: PlannedMatrix
}

type Plain = Exclude<TensorType, 'u32'>

/** Throws the name of a tensor that is missing, has another shape than the configuration demands, or has no use. */
export function planTensors(
  outline: WeightOutline,
  architecture: Architecture,
  model: ModelPlan,
  quantize: boolean,
  name = 'This model',
): PlannedTensors {
  const { vocabulary, hidden } = model
  const offset = outline.naming === 'huggingface' ? model.normOffset : undefined
  const finder = new Finder(outline, architecture, quantize, name)
  const embedding = finder.matrix('embedding', [vocabulary], hidden)
  const interleaved = outline.naming === 'gguf' && architecture.gguf?.interleaved === true
  const layers = model.layers.map((layer, i) => planLayer(finder, model, layer, i, { offset, interleaved }))
  const { logitScale: scale } = model
  // Logits grow with what the last norm gives.
  const norm = { ...finder.vector('norm', hidden), ...(offset && { offset }), ...(scale && { scale }) }
  const separate = model.tied === undefined ? finder.has('head') : !model.tied
  const head = separate ? finder.matrix('head', [vocabulary], hidden) : undefined
  if (!separate) finder.passOver('head')
  finder.assertAllUsed()
  return { embedding, layers, norm, ...(head && { head }) }
}

function planLayer(
  finder: Finder,
  { hidden }: ModelPlan,
  layer: LayerPlan,
  index: number,
  { offset, interleaved }: { offset: number | undefined; interleaved: boolean },
): PlannedLayer {
  const { heads, keyHeads, headSize, intermediate, queryKeyNorm, normsBefore, normsAfter } = layer
  const [queries, keys] = [heads * headSize, keyHeads * headSize]
  const turned = turnedOrder(layer.angles, headSize)
  const order = interleaved ? apart(headSize, turned) : turned
  const matrix = (role: MatrixRole, rows: readonly number[], columns: number) => {
    const bias = finder.bias(role, rows, index, layer.biased.includes(role))
    return { ...finder.matrix(role, rows, columns, index), ...(bias && { bias }) }
  }
  const norm = (role: NormRole, length: number) => ({
    ...finder.vector(role, length, index),
    ...(offset && { offset }),
  })
  const across = order && headOrder(order, heads + keyHeads, keys)
  const qkv = matrix('qkv', [queries, keys, keys], hidden)
  const { bias } = qkv
  const normOrder = (count: number) => order && { order: headOrder(order, queryKeyNorm === 'row' ? count : 1, 0) }
  const row = queryKeyNorm === 'row'
  return {
    ...(normsBefore && { attentionNorm: norm('attentionNorm', hidden), mlpNorm: norm('mlpNorm', hidden) }),
    qkv: across ? { ...qkv, order: across, ...(bias && { bias: { ...bias, order: across } }) } : qkv,
    ...(queryKeyNorm && {
      queryNorm: { ...norm('queryNorm', row ? queries : headSize), ...normOrder(heads) },
      keyNorm: { ...norm('keyNorm', row ? keys : headSize), ...normOrder(keyHeads) },
    }),
    output: matrix('output', [hidden], queries),
    gateUp: matrix('gateUp', [intermediate, intermediate], hidden),
    down: matrix('down', [hidden], intermediate),
    ...(normsAfter && { attentionAfter: norm('attentionAfter', hidden), mlpAfter: norm('mlpAfter', hidden) }),
  }
}

/** Rows that are stored as pairs, which are turned together: the first of all pairs, then the second; or as `order` says. */
function apart(
  size: number,
  order = Array.from({ length: size }, (_, i) => i) as readonly number[],
): readonly number[] {
  return order.map((i) => 2 * (i % (size / 2)) + Math.floor(i / (size / 2)))
}

/** The order of a head for each of `heads`, and `rest` values as they are. */
function headOrder(order: readonly number[], heads: number, rest: number): number[] {
  const all = Array.from({ length: heads * order.length + rest }, (_, i) => i)
  return all.map((i) => {
    const within = i % order.length
    return i < heads * order.length ? i - within + order[within]! : i
  })
}

/** Finds tensors by their roles, and remembers which it has found. */
class Finder {
  readonly #outline: WeightOutline
  readonly #architecture: Architecture
  readonly #quantize: boolean
  readonly #roles: Names
  /** What stands in place of `model.`. */
  readonly #prefix: string
  readonly #names: ReadonlySet<string>
  readonly #used = new Set<string>()

  constructor(outline: WeightOutline, architecture: Architecture, quantize: boolean, name: string) {
    this.#outline = outline
    this.#architecture = architecture
    this.#quantize = quantize
    const naming = outline.naming ?? 'mlc'
    const roles = architecture.names[naming]
    if (!roles) throw refuse(name, `this architecture in the form "${naming}"`, 'Take its safetensors.')
    this.#roles = roles
    this.#names = new Set(outline.names)
    const prefixes = ['model.', ...(architecture.prefixes ?? [])]
    this.#prefix =
      prefixes.find((prefix) => outline.names.some((name) => name.startsWith(`${prefix}embed`))) ?? 'model.'
  }

  has(role: Role): boolean {
    return this.#partsOf(role).every((name) => this.#names.has(`${name}.weight`) || this.#names.has(`${name}.q_weight`))
  }

  /** What is there under this role is not needed, and is no fault either. */
  passOver(role: Role): void {
    for (const name of this.#partsOf(role)) {
      for (const suffix of ['weight', 'q_weight', 'q_scale']) this.#used.add(`${name}.${suffix}`)
    }
  }

  /** `rows`: of each of its parts, where they are stored apart. */
  matrix(role: Role, rows: readonly number[], columns: number, layer?: number): PlannedMatrix {
    const all = rows.reduce((sum, each) => sum + each, 0)
    const names = this.#partsOf(role, layer)
    const parts = names.map((name, i) => ({ name, rows: names.length === 1 ? all : rows[i]! }))
    const forms = parts.map((part) => this.#form(part.name, part.rows, columns))
    const [first] = forms
    const other = forms.findIndex((form) => form.stored !== first!.stored || form.scaleType !== first!.scaleType)
    if (other > 0) throw malformed(`${names[0]} and ${names[other]} differ in type.`)
    const { stored, scaleType } = first!
    const quantize = this.#quantize && stored !== 'q4' && columns % 32 === 0
    return { parts, rows: all, columns, stored, scaleType, quantize }
  }

  vector(role: Role, length: number, layer?: number): PlannedVector {
    return this.#vector(this.#partsOf(role, layer).map((name) => ({ name: `${name}.weight`, length })))
  }

  /** Formats whose configuration does not speak of biases have them where there are such tensors. */
  bias(role: Role, lengths: readonly number[], layer: number, demanded: boolean): PlannedVector | undefined {
    const names = this.#partsOf(role, layer).map((name) => `${name}.bias`)
    const silent = this.#outline.naming !== 'huggingface' && names.some((name) => this.#names.has(name))
    if (!demanded && !silent) return undefined
    const all = lengths.reduce((sum, each) => sum + each, 0)
    return this.#vector(names.map((name, i) => ({ name, length: names.length === 1 ? all : lengths[i]! })))
  }

  assertAllUsed(): void {
    const idle = this.#architecture.idle
    const left = this.#outline.names.filter((name) => !this.#used.has(name) && !idle?.test(name))
    if (left.length === 0) return
    const more = left.length > 1 ? ` and ${left.length - 1} more` : ''
    throw new V1Error(500, `The tensor ${left[0]}${more} would not be used: this model is not what it says it is.`, {
      code: 'model_not_supported',
      headers: { 'x-should-retry': 'false' },
    })
  }

  #partsOf(role: Role, layer?: number): readonly string[] {
    const names = [this.#roles[role] ?? []].flat()
    return names.map((name) => name.replace(/^model\./, this.#prefix).replace('#', String(layer)))
  }

  #vector(parts: PlannedVector['parts']): PlannedVector {
    for (const { name, length } of parts) this.#expect(name, [length])
    return { parts, length: parts.reduce((sum, part) => sum + part.length, 0) }
  }

  #form(name: string, rows: number, columns: number): Pick<PlannedMatrix, 'stored' | 'scaleType'> {
    if (!this.#names.has(`${name}.q_weight`)) {
      return { stored: this.#expect(`${name}.weight`, [rows, columns]), scaleType: 'f16' }
    }
    const codes = this.#take(`${name}.q_weight`)
    const blocks = Math.ceil(columns / 32)
    const fits = codes.dtype === 'u32' && columns % 32 === 0 && same(codes.shape, [rows, columns / 8])
    if (!fits) throw mismatch(codes, `u32 [${rows}][${columns / 8}]`)
    const scales = this.#take(`${name}.q_scale`)
    const typed = scales.dtype === 'f16' || scales.dtype === 'f32'
    if (!typed || !same(scales.shape, [rows, blocks])) throw mismatch(scales, `f16 or f32 [${rows}][${blocks}]`)
    return { stored: 'q4', scaleType: scales.dtype as 'f16' | 'f32' }
  }

  #expect(name: string, shape: readonly number[]): Plain {
    const tensor = this.#take(name)
    if (tensor.dtype === 'u32' || !same(tensor.shape, shape)) throw mismatch(tensor, `[${shape.join('][')}]`)
    return tensor.dtype
  }

  #take(name: string): ReturnType<WeightOutline['describe']> {
    if (!this.#names.has(name)) throw malformed(`The model has no tensor ${name}.`)
    this.#used.add(name)
    return this.#outline.describe(name)
  }
}

const same = (a: readonly number[], b: readonly number[]) =>
  a.length === b.length && a.every((side, i) => side === b[i])

function malformed(message: string): V1Error {
  return new V1Error(500, message, { code: 'malformed_weights', headers: { 'x-should-retry': 'false' } })
}

function mismatch({ name, dtype, shape }: ReturnType<WeightOutline['describe']>, wanted: string): V1Error {
  return malformed(`Tensor ${name} is ${dtype} [${shape.join('][')}]; the configuration demands ${wanted}.`)
}
