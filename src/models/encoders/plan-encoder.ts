/** Which stored tensors make an encoder. All is known from their names, shapes and types. */
import type { V1Error } from '../../contract/index.js'
import type { WeightOutline } from '../files/source.js'
import { canShrink, type PlannedMatrix, type PlannedVector, type StoredForm } from '../planned.js'
import { assertNoneLeft, malformedWeights, refuse } from '../refuse.js'
import { ENCODERS, IDLE, POOLER } from './bert.js'
import type { EncoderPlan, VectorPlan } from './vector-plan.js'

export interface PlannedNorm {
  readonly weight: PlannedVector
  readonly bias?: PlannedVector
}

/** A product behind the pool, and the norm of its result. */
export interface PlannedDense extends PlannedMatrix {
  readonly norm?: PlannedNorm
}

export interface PlannedEncoderLayer {
  readonly qkv: PlannedMatrix
  readonly output: PlannedMatrix
  readonly outputNorm: PlannedNorm
  readonly inner: PlannedMatrix
  readonly down: PlannedMatrix
  readonly downNorm: PlannedNorm
}

export interface PlannedEncoder {
  readonly words: PlannedMatrix
  readonly positions: PlannedMatrix
  readonly types: PlannedMatrix
  readonly norm: PlannedNorm
  readonly layers: readonly PlannedEncoderLayer[]
  /** The layers after the pool. */
  readonly dense: readonly PlannedDense[]
}

/** Throws the name of a tensor that is missing, has another shape than the configuration demands, or has no use. */
export function planEncoder(
  outline: WeightOutline,
  plan: EncoderPlan,
  vectors: VectorPlan,
  quantize: boolean,
  name: string,
): PlannedEncoder {
  if (outline.naming === 'gguf') throw refuse(name, 'an encoder in this form', 'Use its safetensors files.')
  const { hidden, intermediate, vocabulary, positions, types } = plan
  const { prefix } = ENCODERS.get(plan.architecture)!
  const tensors = new EncoderTensors(outline, prefix, quantize)
  const at = (layer: number, rest: string) => `encoder.layer.${layer}.${rest}`
  const planned = {
    words: tensors.matrix(['embeddings.word_embeddings'], vocabulary, hidden, { table: true }),
    positions: tensors.matrix(['embeddings.position_embeddings'], positions, hidden, { table: true }),
    types: tensors.matrix(['embeddings.token_type_embeddings'], types, hidden, { table: true }),
    norm: tensors.norm('embeddings.LayerNorm', hidden),
    layers: Array.from({ length: plan.layers }, (_, i): PlannedEncoderLayer => {
      const own = (rest: string) => at(i, rest)
      const heads = (outline.naming === 'huggingface' ? ['query', 'key', 'value'] : ['qkv']).map((each) =>
        own(`attention.self.${each}`),
      )
      return {
        qkv: tensors.matrix(heads, 3 * hidden, hidden),
        output: tensors.matrix([own('attention.output.dense')], hidden, hidden),
        outputNorm: tensors.norm(own('attention.output.LayerNorm'), hidden),
        inner: tensors.matrix([own('intermediate.dense')], intermediate, hidden),
        down: tensors.matrix([own('output.dense')], hidden, intermediate),
        downNorm: tensors.norm(own('output.LayerNorm'), hidden),
      }
    }),
    dense: tensors.dense(vectors),
  }
  tensors.assertAllUsed(IDLE, POOLER)
  return planned
}

/** The layers after the pool, of a model whose other tensors are found elsewhere. */
export function planDense(outline: WeightOutline, vectors: VectorPlan): PlannedDense[] {
  return new EncoderTensors(outline, '', false).dense(vectors)
}

interface MatrixTraits {
  /** It is looked up in, and has no bias. */
  readonly table?: boolean
  /** There is no bias. */
  readonly plain?: boolean
  /** Its name is whole: no prefix stands before it. */
  readonly whole?: boolean
}

/** Tensors by their names, each of which is taken once, and of which none may be left. */
export class EncoderTensors {
  readonly #outline: WeightOutline
  readonly #prefix: string
  readonly #quantize: boolean
  readonly #names: ReadonlySet<string>
  readonly #used = new Set<string>()

  /** `prefix`: stands before all names, or before none. */
  constructor(outline: WeightOutline, prefix: string, quantize: boolean) {
    this.#outline = outline
    this.#prefix = outline.names.some((each) => each.startsWith(prefix)) ? prefix : ''
    this.#quantize = quantize
    this.#names = new Set(outline.names)
  }

  /** Of parts of as many rows each. */
  matrix(names: readonly string[], rows: number, columns: number, traits: MatrixTraits = {}): PlannedMatrix {
    const { table = false, plain = table, whole = false } = traits
    const each = rows / names.length
    const parts = names.map((own) => {
      const name = whole ? own : `${this.#prefix}${own}`
      return { name, rows: each, stored: this.#take(`${name}.weight`, [each, columns]) }
    })
    const bias = { parts: parts.map(({ name }) => ({ name: `${name}.bias`, length: each })), length: rows }
    if (!plain) for (const { name, length } of bias.parts) this.#take(name, [length])
    const quantize = this.#quantize && !table && columns % 32 === 0 && parts.some(({ stored }) => canShrink(stored))
    return { parts, rows, columns, scaleType: 'f16', quantize, ...(!plain && { bias }) }
  }

  dense(vectors: VectorPlan): PlannedDense[] {
    return vectors.dense.map(({ name, rows, columns, bias, norm }) => ({
      ...this.matrix([name], rows, columns, { whole: true, plain: !bias }),
      ...(norm && { norm: this.norm(norm.name, rows, { whole: true, plain: true }) }),
    }))
  }

  norm(own: string, length: number, { plain = false, whole = false }: MatrixTraits = {}): PlannedNorm {
    const name = whole ? own : `${this.#prefix}${own}`
    const weight = this.#vector(`${name}.weight`, length)
    return plain ? { weight } : { weight, bias: this.#vector(`${name}.bias`, length) }
  }

  vector(name: string, length: number): PlannedVector {
    return this.#vector(name, length)
  }

  /** Of a matrix that alone tells them. */
  rowsOf(name: string): number {
    if (!this.#names.has(name)) throw missing(name)
    const { dtype, shape } = this.#outline.describe(name)
    if (shape.length === 2) return shape[0]!
    throw malformedWeights(`Tensor ${name} is ${dtype} [${shape.join('][')}], which is no matrix.`)
  }

  /** `idle`: tensors that files carry along, and nothing asks for. */
  assertAllUsed(...idle: readonly RegExp[]): void {
    const left = this.#outline.names.filter((name) => !this.#used.has(name) && !idle.some((each) => each.test(name)))
    assertNoneLeft(left)
  }

  #vector(name: string, length: number): PlannedVector {
    this.#take(name, [length])
    return { parts: [{ name, length }], length }
  }

  #take(name: string, wanted: readonly number[]): StoredForm {
    if (!this.#names.has(name)) throw missing(name)
    this.#used.add(name)
    const { dtype, shape } = this.#outline.describe(name)
    if (dtype !== 'u32' && shape.length === wanted.length && shape.every((side, i) => side === wanted[i])) return dtype
    const is = `${dtype} [${shape.join('][')}]`
    throw malformedWeights(`Tensor ${name} is ${is}; the configuration requires [${wanted.join('][')}].`)
  }
}

const missing = (name: string): V1Error => malformedWeights(`The model has no tensor ${name}.`)
