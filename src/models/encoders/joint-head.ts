/**
 * Clef's head: options read the text, questions read each other and the text, and each option is scored by its question.
 * All rows are on the device; what is summed over a question's options, and compared with it, is done here.
 */
import type { TextField, TextTokens } from '../../contract/index.js'
import {
  type Activations,
  addNorm,
  attend,
  type Batch,
  type Device,
  embed,
  type KeyValueCache,
  type Matrix,
  matmul,
  PAGE,
  type Pass,
  pool,
  rope,
  type Span,
  type Vector,
} from '../../device/index.js'
import { softmax } from '../../platform/index.js'
import { angleTable } from '../angles.js'
import type { TensorLoader } from '../tensors.js'
import { HEAD_EPSILON } from './decision-plan.js'
import { type Dense, loadNorm, loadOne, type Norm } from './encoder-weights.js'
import { MOST_TOGETHER, type PlannedJoint, type PlannedJointLayer, PROJECTIONS, type Projection } from './joint-plan.js'

interface JointLayer {
  readonly own?: { readonly norm: Norm; readonly qkv: Dense; readonly output: Dense }
  readonly norm: Norm
  readonly readNorm?: Norm
  readonly reading: { readonly queries: Dense; readonly kept: Dense; readonly output: Dense }
  readonly innerNorm: Norm
  readonly inner: Dense
  readonly down: Dense
}

export interface JointWeights {
  readonly width: number
  readonly inner: number
  readonly heads: number
  readonly layers: readonly JointLayer[]
  readonly hiddenNorm: Norm
  readonly summaryNorm: Norm
  readonly fieldNorm: Norm
  readonly optionNorm: Norm
  readonly projections: Readonly<Record<Projection, Matrix>>
  readonly scales: Float32Array
  readonly kinds: Matrix
  readonly scorer: Dense
  readonly score: Dense
  readonly words?: Matrix
  /** Angles that turn nothing. */
  readonly still: Vector
}

/** `length`: tokens of the longest text. */
export async function loadJoint(loader: TensorLoader, planned: PlannedJoint, length: number): Promise<JointWeights> {
  const norm = (of: PlannedJoint['hiddenNorm']) => loadNorm(loader, of, HEAD_EPSILON)
  const layers: JointLayer[] = []
  for (const layer of planned.layers) layers.push(await loadLayer(loader, layer, norm))
  const projections: Partial<Record<Projection, Matrix>> = {}
  for (const own of PROJECTIONS) projections[own] = await loader.matrix(planned.projections[own])
  const { width, inner, heads, words } = planned
  return {
    ...{ width, inner, heads, layers },
    hiddenNorm: await norm(planned.hiddenNorm),
    summaryNorm: await norm(planned.summaryNorm),
    fieldNorm: await norm(planned.fieldNorm),
    optionNorm: await norm(planned.optionNorm),
    projections: projections as Record<Projection, Matrix>,
    scales: await loader.vectorValues(planned.scales),
    kinds: await loader.matrix(planned.kinds),
    scorer: await loadOne(loader, planned.scorer),
    score: await loadOne(loader, planned.score),
    ...(words && { words: await loader.matrix(words) }),
    still: loader.floats(angleTable(Math.max(length, MOST_TOGETHER), { size: 0, theta: 1 }, width / heads)),
  }
}

async function loadLayer(
  loader: TensorLoader,
  { own, norm, readNorm, reading, innerNorm, inner, down }: PlannedJointLayer,
  normed: (of: PlannedJoint['hiddenNorm']) => Promise<Norm>,
): Promise<JointLayer> {
  return {
    ...(own && {
      own: {
        norm: await normed(own.norm),
        qkv: await loadOne(loader, own.qkv),
        output: await loadOne(loader, own.output),
      },
    }),
    norm: await normed(norm),
    ...(readNorm && { readNorm: await normed(readNorm) }),
    reading: {
      queries: await loadOne(loader, reading.queries),
      kept: await loadOne(loader, reading.kept),
      output: await loadOne(loader, reading.output),
    },
    innerNorm: await normed(innerNorm),
    inner: await loadOne(loader, inner),
    down: await loadOne(loader, down),
  }
}

export interface JointParts {
  readonly weights: JointWeights
  /** Numbers of a row under it. */
  readonly hidden: number
  /** Of all texts of a batch, a layer for each of the head's. */
  readonly cache: KeyValueCache
  /** The embedding, for a model that takes the vectors of words from it. */
  readonly embedding: Matrix
}

/** How a pass is begun. */
type Begin = (batch: Batch) => Pass

/** A text of a batch, of which questions are asked. */
interface TextInBatch {
  readonly fields: readonly TextField[]
  readonly options: readonly OptionRow[]
  /** The position that sees all of it, and nothing after it: its last, on its own pages. */
  readonly end: Omit<Span, 'tokens'>
  readonly global: Float32Array
  readonly questions: readonly Float32Array[]
}

interface OptionRow {
  readonly field: number
  /** Means over its tokens: of the text's rows, and of the words' vectors. */
  readonly context: Float32Array
  readonly words: Float32Array
}

export class JointHead {
  readonly #device: Device
  readonly #parts: JointParts
  /** Of questions, each of which sees all others of its text. */
  readonly #own: KeyValueCache
  readonly #room
  readonly #made: readonly { destroy(): void }[]

  /** `rows`: tokens of the largest batch. */
  constructor(device: Device, parts: JointParts, rows: number) {
    this.#device = device
    this.#parts = parts
    const { hidden, weights, cache } = parts
    const { width, inner } = weights
    const made: { destroy(): void }[] = []
    const room = (count: number, columns: number): Activations => {
      const activations = device.activations(count, columns)
      made.push(activations)
      return activations
    }
    const most = MOST_TOGETHER
    const { heads, headSize } = cache.shape
    this.#own = device.cache({ layers: 1, pages: Math.ceil(most / PAGE), heads, headSize, type: 'f32' })
    this.#room = {
      ...{ memory: room(rows, width), readable: room(rows, width), kept: room(rows, 2 * width) },
      ...{ words: room(rows, hidden), pooled: room(rows, hidden), pooledWords: room(rows, hidden) },
      given: [room(most, hidden), room(most, hidden), room(most, hidden)] as const,
      ...{ rows: room(most, width), queries: room(most, width), normed: room(most, width), seen: room(most, width) },
      ...{ qkv: room(most, 3 * width), inner: room(most, inner) },
      ...{ features: room(most, 4 * width), scored: room(most, width), scores: room(most, 1) },
    }
    this.#made = [...made, this.#own]
  }

  /** From the text's rows, normed in place, to the keys and values of each layer. */
  remember(pass: Pass, hidden: Activations): void {
    const { weights, cache } = this.#parts
    const { memory, readable, kept } = this.#room
    pass.run(addNorm, hidden, hidden, { norm: weights.hiddenNorm })
    pass.run(matmul, weights.projections.memory, hidden, memory)
    weights.layers.forEach(({ readNorm, reading }, i) => {
      if (readNorm) pass.run(addNorm, memory, readable, { norm: readNorm })
      pass.run(matmul, reading.kept.matrix, readNorm ? readable : memory, kept, { bias: reading.kept.bias })
      pass.run(rope, kept, cache, i, { heads: 0, angles: weights.still })
    })
  }

  /** Of each text the scores of its options, one question's after the other's. `hidden`: as `remember` has left them. */
  async scores(hidden: Activations, spans: readonly Span[], batch: readonly TextTokens[]): Promise<Float32Array[]> {
    const texts = await this.#means((of) => this.#device.begin(of), hidden, spans, batch)
    const scores: Float32Array[] = []
    for (const each of texts) scores.push(await this.#decide(each))
    return scores
  }

  /** Records the passes of the scores; nothing is run. */
  rehearse(begin: Begin, hidden: Activations, spans: readonly Span[]): void {
    const none = new Float32Array()
    const two = [none, none]
    const { pages } = spans[0]!
    const end = { position: 1, pages }
    this.#pool(begin, hidden, spans)
    this.#ask(begin, two, none)
    this.#read(begin, end, [two, two, two])
    this.#begin(begin, two, two, Int32Array.of(0, 0))
    const joint = this.#parts.weights.layers.findIndex(({ own }) => own)
    this.#meet(begin, joint, 2)
    this.#look(begin, joint, end, 2)
    this.#score(begin, two)
  }

  async #decide({ fields, options, end, global, questions }: TextInBatch): Promise<Float32Array> {
    const { weights } = this.#parts
    const begin: Begin = (batch) => this.#device.begin(batch)
    const projected = await run(this.#ask(begin, questions, global))
    const routed: { row: Float32Array; normed: Float32Array }[] = []
    for (const some of inLots(options)) {
      const given = [
        some.map(({ context }) => context),
        some.map(({ words }) => words),
        some.map(({ field }) => questions[field]!),
      ] as const
      const [rows, normed] = await run(this.#read(begin, end, given))
      rows!.forEach((row, i) => {
        routed.push({ row, normed: normed![i]! })
      })
    }
    const [plain, whole] = projected as [Float32Array[], Float32Array[]]
    const summaries = fields.map((_, field) => {
      const own = routed.filter((_, i) => options[i]!.field === field).map(({ row }) => row)
      return summaryOf(plain[field]!, own)
    })
    await run(
      this.#begin(
        begin,
        whole,
        summaries,
        Int32Array.from(fields, ({ kind }) => kind),
      ),
    )
    let last: Float32Array[][] = []
    for (const [i, { own }] of weights.layers.entries()) {
      if (!own) continue
      await run(this.#meet(begin, i, fields.length))
      last = await run(this.#look(begin, i, end, fields.length))
    }
    const [decided] = last as [Float32Array[]]
    const features = options.map(({ field }, i) => featuresOf(decided[field]!, routed[i]!.normed))
    const residuals: number[] = []
    for (const some of inLots(features)) {
      const [scores] = await run(this.#score(begin, some))
      for (const [score] of scores!) residuals.push(score!)
    }
    const [priorScale, jointScale, gate] = weights.scales as unknown as [number, number, number]
    return Float32Array.from(options, ({ field, words }, i) => {
      const anchor = questions[field]!.map((value, at) => value + global[at]!)
      const joint = jointScale * cosine(decided[field]!, routed[i]!.normed) + residuals[i]!
      return priorScale * cosine(words, anchor) + gate * joint
    })
  }

  /** The questions of each text, and means over its stretches. */
  async #means(
    begin: Begin,
    hidden: Activations,
    spans: readonly Span[],
    batch: readonly TextTokens[],
  ): Promise<TextInBatch[]> {
    const cut = batch.map(({ tokens, fields = [] }) => bordersOf(fields, tokens.length))
    const stretches = spans.flatMap(({ tokens, pages }, text) =>
      cut[text]!.slice(1).map((to, i) => ({ tokens: tokens.subarray(cut[text]![i]!, to), position: 0, pages })),
    )
    const [rows, words] = (await run(this.#pool(begin, hidden, stretches))) as [Float32Array[], Float32Array[]]
    let first = 0
    return batch.map(({ fields = [], tokens }, text) => {
      const borders = cut[text]!
      const at = first
      first += borders.length - 1
      const of = (means: Float32Array[], from: number) => means[at + borders.indexOf(from)]!
      return {
        fields,
        options: fields.flatMap(({ options }, field) =>
          options.map(({ from }) => ({ field, context: of(rows, from), words: of(words, from) })),
        ),
        end: { position: tokens.length - 1, pages: spans[text]!.pages },
        global: of(rows, tokens.length - 1),
        questions: fields.map(({ from }) => of(rows, from)),
      }
    })
  }

  /** The mean of each span's rows, and of its words' vectors. */
  #pool(begin: Begin, hidden: Activations, spans: readonly Span[]): Recorded {
    const { weights, embedding } = this.#parts
    const { words, pooled, pooledWords } = this.#room
    const pass = begin({ spans })
    pass.run(embed, weights.words ?? embedding, words)
    pass.run(pool, hidden, pooled)
    pass.run(pool, words, pooledWords)
    return recorded(pass, [pooled, pooledWords], spans.length)
  }

  /** Questions as they are, and with the end of the text added. */
  #ask(begin: Begin, questions: readonly Float32Array[], global: Float32Array): Recorded {
    const { projections } = this.#parts.weights
    const { given, rows, queries } = this.#room
    const pass = begin(oneSpan(questions.length))
    write(pass, given[0], questions)
    write(
      pass,
      given[1],
      questions.map(() => global),
    )
    pass.run(matmul, projections.question, given[0], queries)
    pass.run(matmul, projections.question, given[0], rows)
    pass.run(matmul, projections.global, given[1], rows, { add: true })
    return recorded(pass, [queries, rows], questions.length)
  }

  /** Options, each of which reads all of the text by itself; and normed. */
  #read(begin: Begin, end: TextInBatch['end'], given: readonly (readonly Float32Array[])[]): Recorded {
    const { weights } = this.#parts
    const { projections, layers, optionNorm } = weights
    const { rows, normed } = this.#room
    const count = given[0]!.length
    const pass = begin(eachAt(end, count))
    given.forEach((some, i) => {
      write(pass, this.#room.given[i]!, some)
    })
    for (const [i, own] of (['option_context', 'option_lexical', 'option_question'] as const).entries())
      pass.run(matmul, projections[own], this.#room.given[i]!, rows, { add: i > 0 })
    layers.forEach(({ own }, i) => {
      if (own) return
      this.#lookInto(pass, i)
    })
    pass.run(addNorm, rows, normed, { norm: optionNorm })
    return recorded(pass, [rows, normed], count)
  }

  /** The rows of questions before the first layer. */
  #begin(
    begin: Begin,
    whole: readonly Float32Array[],
    summaries: readonly Float32Array[],
    kinds: Int32Array,
  ): Recorded {
    const { weights } = this.#parts
    const { rows, queries, seen } = this.#room
    const pass = begin({ spans: [{ ...oneSpan(kinds.length).spans[0]!, places: kinds }] })
    write(pass, rows, whole)
    write(pass, queries, summaries)
    pass.run(addNorm, queries, rows, { norm: weights.summaryNorm, add: true })
    pass.run(embed, weights.kinds, seen, 'places')
    pass.run(addNorm, seen, rows, { add: true })
    return recorded(pass, [], kinds.length)
  }

  /** Questions read each other. */
  #meet(begin: Begin, index: number, count: number): Recorded {
    const { weights } = this.#parts
    const { rows, normed, qkv, seen } = this.#room
    const { norm, qkv: product, output } = weights.layers[index]!.own!
    const { heads, headSize } = this.#own.shape
    const pass = begin(oneSpan(count))
    pass.run(addNorm, rows, normed, { norm })
    pass.run(matmul, product.matrix, normed, qkv, { bias: product.bias })
    pass.run(rope, qkv, this.#own, 0, { heads, angles: weights.still })
    pass.run(attend, qkv, this.#own, 0, seen, { heads, scale: headSize ** -0.5, causal: false })
    pass.run(matmul, output.matrix, seen, rows, { bias: output.bias, add: true })
    return recorded(pass, [], count)
  }

  /** Questions read the text; normed, for the last time. */
  #look(begin: Begin, index: number, end: TextInBatch['end'], count: number): Recorded {
    const { rows, normed } = this.#room
    const pass = begin(eachAt(end, count))
    this.#lookInto(pass, index)
    pass.run(addNorm, rows, normed, { norm: this.#parts.weights.fieldNorm })
    return recorded(pass, [normed], count)
  }

  #lookInto(pass: Pass, index: number): void {
    const { weights, cache } = this.#parts
    const { rows, normed, queries, seen, inner: within } = this.#room
    const { norm, reading, innerNorm, inner, down } = weights.layers[index]!
    const { heads, headSize } = cache.shape
    pass.run(addNorm, rows, normed, { norm })
    pass.run(matmul, reading.queries.matrix, normed, queries, { bias: reading.queries.bias })
    pass.run(attend, queries, cache, index, seen, { heads, scale: headSize ** -0.5 })
    pass.run(matmul, reading.output.matrix, seen, rows, { bias: reading.output.bias, add: true })
    pass.run(addNorm, rows, normed, { norm: innerNorm })
    pass.run(matmul, inner.matrix, normed, within, { bias: inner.bias })
    pass.run(addNorm, within, within, { gate: 'gelu_erf' })
    pass.run(matmul, down.matrix, within, rows, { bias: down.bias, add: true })
  }

  #score(begin: Begin, some: readonly Float32Array[]): Recorded {
    const { scorer, score } = this.#parts.weights
    const { features, scored, scores } = this.#room
    const pass = begin(oneSpan(some.length))
    write(pass, features, some)
    pass.run(matmul, scorer.matrix, features, scored, { bias: scorer.bias })
    pass.run(addNorm, scored, scored, { gate: 'gelu_erf' })
    pass.run(matmul, score.matrix, scored, scores, { bias: score.bias })
    return recorded(pass, [scores], some.length)
  }

  destroy(): void {
    for (const one of this.#made) one.destroy()
  }
}

/** A pass, and the rows that are read back from it. */
interface Recorded {
  readonly pass: Pass
  readonly reads: readonly Promise<Float32Array>[]
  readonly count: number
}

const recorded = (pass: Pass, out: readonly Activations[], count: number): Recorded => ({
  ...{ pass, count },
  reads: out.map((each) => pass.read(each, count)),
})

/** The rows that were read back. */
async function run({ pass, reads, count }: Recorded): Promise<Float32Array[][]> {
  await pass.submit()
  const all = await Promise.all(reads)
  return all.map((values) => {
    const columns = values.length / count
    return Array.from({ length: count }, (_, i) => values.slice(i * columns, (i + 1) * columns))
  })
}

function write(pass: Pass, out: Activations, rows: readonly Float32Array[]): void {
  const values = new Float32Array(rows.length * out.columns)
  rows.forEach((row, i) => {
    values.set(row, i * out.columns)
  })
  pass.write(out, values)
}

/** Rows that are a sequence of their own. */
const oneSpan = (count: number) => ({
  spans: [
    {
      tokens: new Int32Array(count),
      position: 0,
      pages: Int32Array.from({ length: Math.ceil(count / PAGE) }, (_, i) => i),
    },
  ],
})

/** Rows that see a text as its last token does, and nothing of one another. */
const eachAt = (end: TextInBatch['end'], count: number): Batch => ({
  spans: Array.from({ length: count }, () => ({ ...end, tokens: new Int32Array(1) })),
})

const inLots = <T>(all: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(all.length / MOST_TOGETHER) }, (_, i) =>
    all.slice(i * MOST_TOGETHER, (i + 1) * MOST_TOGETHER),
  )

/** Where a text is cut for each question, each option and its last token to be a stretch of their own. */
function bordersOf(fields: readonly TextField[], length: number): number[] {
  const all = fields.flatMap(({ from, to, options }) => [from, to, ...options.flatMap((one) => [one.from, one.to])])
  return [...new Set([0, length - 1, length, ...all])].sort((a, b) => a - b)
}

/** A question's options, each by how near it is to the question. */
function summaryOf(question: Float32Array, options: readonly Float32Array[]): Float32Array {
  const near = options.map((option) => dot(option, question) / Math.sqrt(question.length))
  const shares = softmax(near)
  return question.map((_, i) => options.reduce((total, option, k) => total + option[i]! * shares[k]!, 0))
}

function featuresOf(question: Float32Array, option: Float32Array): Float32Array {
  const { length } = question
  const features = new Float32Array(4 * length)
  features.set(question)
  features.set(option, length)
  for (let i = 0; i < length; i++) {
    features[2 * length + i] = question[i]! * option[i]!
    features[3 * length + i] = Math.abs(question[i]! - option[i]!)
  }
  return features
}

const dot = (a: Float32Array, b: Float32Array): number => a.reduce((sum, value, i) => sum + value * b[i]!, 0)

/** Of nothing, none. */
const cosine = (a: Float32Array, b: Float32Array): number =>
  dot(a, b) / Math.max(1e-12, Math.sqrt(dot(a, a)) * Math.sqrt(dot(b, b)))
