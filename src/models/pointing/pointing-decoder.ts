/** A decoder that reads texts both ways, with questions behind each, and the numbers that say what answers them. */
import type { TextTokens } from '../../contract/index.js'
import {
  type Activations,
  type Batch,
  type Device,
  gatherRows,
  matmul,
  type Pass,
  type Span,
} from '../../device/index.js'
import { DecoderRows } from '../decoder-rows.js'
import type { SequenceMemory } from '../kept.js'
import type { ModelPlan } from '../model-plan.js'
import type { Laid, RowEncoder } from '../vector-core.js'
import { adaptedPass } from './adapted-pass.js'
import type { PointingWeights } from './pointing-weights.js'

export interface PointingParts {
  /** Of layers that see both ways. */
  readonly model: ModelPlan
  readonly weights: PointingWeights
  readonly kept: SequenceMemory
}

type Begin = (batch: Batch) => Pass

export class PointingDecoder extends DecoderRows implements RowEncoder {
  readonly decider: NonNullable<RowEncoder['decider']>
  readonly #weights: PointingWeights
  readonly #epsilon: number
  readonly #room

  /** `rows` and `marks`: tokens and questions of the largest batch. */
  constructor(device: Device, { model, weights, kept }: PointingParts, rows: number, marks: number) {
    super(device, { model, weights: weights.decoder, kept }, rows)
    this.#weights = weights
    this.#epsilon = model.epsilon
    this.#room = {
      low: device.activations(rows, weights.rank),
      heads: device.activations(rows, weights.heads.rows),
      questions: device.activations(marks, model.hidden),
      nothings: device.activations(marks, weights.nothings.rows),
      words: device.activations(marks, model.vocabulary),
    }
    this.decider = {
      scores: (spans: readonly Span[], batch: readonly TextTokens[]) => this.#scores(device, spans, batch),
      rehearse: (begin, spans) => {
        void this.#record(begin, spans, Int32Array.of(0))
      },
    }
  }

  override layer(pass: Pass, index: number): void {
    super.layer(adaptedPass(pass, this.#weights.adapters, this.#room.low), index)
  }

  end(_pass: Pass, _laid: Laid): undefined {}

  /** Of each text: the heads of all its tokens, then of each question what is nothing to it and what the decoder would say. */
  async #scores(device: Device, spans: readonly Span[], batch: readonly TextTokens[]): Promise<Float32Array[]> {
    let first = 0
    const marks = batch.flatMap(({ tokens, marks = [] }) => {
      const own = marks.map((at) => first + at)
      first += tokens.length
      return own
    })
    const { pass, reads } = this.#record((of) => device.begin(of), spans, Int32Array.from(marks))
    await pass.submit()
    const [heads, nothings, words] = await reads
    const taken = [0, 0, 0]
    const take = (of: Float32Array, index: number, count: number, room: Activations) => {
      const from = taken[index]!
      taken[index] = from + count * room.columns
      return of.subarray(from, taken[index])
    }
    return batch.map(({ tokens, marks: { length: questions } = [] }) =>
      joinedFloats([
        take(heads!, 0, tokens.length, this.#room.heads),
        take(nothings!, 1, questions, this.#room.nothings),
        take(words!, 2, questions, this.#room.words),
      ]),
    )
  }

  #record(begin: Begin, spans: readonly Span[], marks: Int32Array) {
    const { decoder, headNorm, heads, nothings } = this.#weights
    const room = this.#room
    const norm = { weight: headNorm, epsilon: this.#epsilon }
    const rows = marks.length
    const pass = begin({ spans, steady: true })
    pass.run(matmul, heads, this.decoder.hidden, room.heads, { norm })
    pass.run(gatherRows, this.decoder.hidden, marks, room.questions)
    pass.run(matmul, nothings, room.questions, room.nothings, { rows, norm })
    const last = { weight: decoder.norm, epsilon: this.#epsilon }
    pass.run(matmul, decoder.head.matrix, room.questions, room.words, { rows, norm: last })
    const reads = Promise.all([
      pass.read(room.heads, pass.rows),
      pass.read(room.nothings, rows),
      pass.read(room.words, rows),
    ])
    return { pass, reads }
  }

  override destroy(): void {
    super.destroy()
    for (const activations of Object.values(this.#room)) activations.destroy()
  }
}

function joinedFloats(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
