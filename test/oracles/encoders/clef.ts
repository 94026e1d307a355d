/**
 * Clef: Qwen 3.5, and a head that decides all questions of a text together, from the published definition
 * (`JointSchemaHead`), under the names that its own files have.
 */

import { QWEN35_SHAPE, qwen35, qwen35Metadata, qwen35Reference } from '../families/qwen3-5.js'
import { type Case, type GgufTensor, matrix, norm, type TensorSpec, vector, type Weights } from '../family.js'
import { add, both, gelu, geluTanh, layerNorm, product, sigmoid, softmax, times, type Vector } from '../float64.js'
import { Random } from '../random.js'
import { attended } from './modern-bert.js'

/** As it numbers them. */
export const CLEF_KINDS = ['noul', 'choice', 'score'] as const

export interface Span {
  readonly from: number
  readonly to: number
}
export interface ClefInput {
  readonly tokens: readonly number[]
  readonly fields: readonly (Span & { readonly kind: number; readonly options: readonly Span[] })[]
}

const { hidden, vocab } = QWEN35_SHAPE
const WIDTH = 32
const HEADS = 2
const INNER = 48
const ROUTING = 2
const JOINT = 2
const EPSILON = 1e-5

const dense = (name: string, rows: number, columns: number, gain = 1): TensorSpec[] => [
  matrix(`${name}.weight`, rows, columns, gain),
  vector(`${name}.bias`, rows, 0, 0.2),
]
const centred = (name: string, size = WIDTH): TensorSpec[] => [
  norm(`${name}.weight`, size),
  vector(`${name}.bias`, size, 0, 0.2),
]
const attention = (name: string): TensorSpec[] => [
  ...dense(`${name}.in_proj`, 3 * WIDTH, WIDTH, 1.5),
  ...dense(`${name}.out_proj`, WIDTH, WIDTH),
]
const PROJECTIONS = ['memory', 'question', 'option_question', 'global', 'option_context', 'option_lexical']

const tensors: TensorSpec[] = [
  ...qwen35.tensors,
  matrix('lm_head.weight', vocab, hidden, 2),
  ...centred('hidden_norm', hidden),
  ...PROJECTIONS.map((name) => matrix(`${name}_projection.weight`, WIDTH, hidden)),
  { name: 'type_embedding.weight', shape: [CLEF_KINDS.length, WIDTH], deviation: 0.6 },
  ...Array.from({ length: ROUTING }, (_, i) => `evidence_layers.${i}`).flatMap((at) => [
    ...centred(`${at}.query_norm`),
    ...centred(`${at}.memory_norm`),
    ...attention(`${at}.attention`),
    ...centred(`${at}.feedforward_norm`),
    ...dense(`${at}.feedforward.0`, INNER, WIDTH, 1.5),
    ...dense(`${at}.feedforward.3`, WIDTH, INNER),
  ]),
  ...Array.from({ length: JOINT }, (_, i) => `layers.${i}`).flatMap((at) => [
    ...['norm1', 'norm2', 'norm3'].flatMap((name) => centred(`${at}.${name}`)),
    ...attention(`${at}.self_attn`),
    ...attention(`${at}.multihead_attn`),
    ...dense(`${at}.linear1`, INNER, WIDTH, 1.5),
    ...dense(`${at}.linear2`, WIDTH, INNER),
  ]),
  ...['option_summary_norm', 'field_norm', 'option_norm'].flatMap((name) => centred(name)),
  ...dense('residual_scorer.0', WIDTH, 4 * WIDTH, 1.5),
  ...dense('residual_scorer.3', 1, WIDTH, 2),
  vector('prior_logit_scale', 1, 0.7, 0),
  vector('joint_logit_scale', 1, 1.1, 0),
  vector('residual_gate', 1, 0.4, 0),
]

const mean = (rows: readonly Vector[], { from, to }: Span): Vector =>
  times(
    rows.slice(from, to).reduce((sum, row) => add(sum, row)),
    1 / (to - from),
  )
const unit = (x: Vector): Vector => times(x, 1 / Math.hypot(...x))
const dot = (a: Vector, b: Vector): number => both(a, b).reduce((sum, value) => sum + value, 0)
/** Scales are kept as logarithms, and bounded. */
const scaleOf = (value: number): number => Math.exp(Math.min(value, Math.log(100)))

/** The rows of the text under the head; from here on nothing is known of what they were computed by. */
function rowsOf(weights: Weights, { tokens }: ClefInput, mistake?: string): Vector[] {
  const reference = qwen35Reference(weights)
  return tokens.map((token) => reference.row(token, mistake !== 'forgets the last norm under the head'))
}

/** A score for each option, one question's after the other's. */
export function headScores(
  weights: Weights,
  rows: readonly Vector[],
  { tokens, fields }: ClefInput,
  mistake?: string,
): Vector {
  const is = (name: (typeof MISTAKES)[number]) => mistake === name
  const act = is('takes the gelu of tanh') ? geluTanh : gelu
  const through = (name: string, x: Vector) =>
    product(weights(`${name}.weight`), x, is('forgets the biases of the head') ? undefined : weights(`${name}.bias`))
  const project = (name: string, x: Vector) => product(weights(`${name}_projection.weight`), x)
  const normed = (name: string, x: Vector) => layerNorm(x, weights(`${name}.weight`), weights(`${name}.bias`), EPSILON)
  const part = (x: Vector, n: number) => x.slice(n * WIDTH, (n + 1) * WIDTH)
  /** `sees`: whether a query sees what stands at this place. */
  const attend = (
    name: string,
    queries: readonly Vector[],
    read: readonly Vector[],
    sees: (query: number, place: number) => boolean = () => true,
  ) => {
    const all = [...queries, ...read].map((x) => through(`${name}.in_proj`, x))
    const queryRows = all.slice(0, queries.length).map((x) => part(x, 0))
    const kept = all.slice(queries.length)
    const size = is('takes one head for all') ? WIDTH : WIDTH / HEADS
    const seen = attended([queryRows, kept.map((x) => part(x, 1)), kept.map((x) => part(x, 2))], size, sees)
    return seen.map((x) => through(`${name}.out_proj`, x))
  }
  const within = (x: Vector, before: string, first: string, second: string) =>
    add(x, through(second, through(first, normed(before, x)).map(act)))

  const text = is('forgets the norm before the head') ? rows : rows.map((x) => normed('hidden_norm', x))
  const memory = text.map((x) => project('memory', x))
  const end = text[is('reads the first token for the whole') ? 0 : text.length - 1]!
  const questions = fields.map((field) =>
    is('reads a question by its last token') ? text[field.to - 1]! : mean(text, field),
  )
  const table = weights(is('says words as it reads them') ? 'model.embed_tokens.weight' : 'lm_head.weight')
  const tokenRows = tokens.map((token) => table.slice(token * hidden, (token + 1) * hidden))
  const spans = fields.flatMap(({ options }, owner) => options.map((span) => ({ ...span, owner })))
  const read = is('reads one token behind an option') ? spans.map((span) => ({ ...span, to: span.to + 1 })) : spans
  const lexical = read.map((span) => mean(tokenRows, span))
  let options = spans.map(({ owner }, i) => {
    const context = add(project('option_context', mean(text, read[i]!)), project('option_lexical', lexical[i]!))
    return is('forgets what is asked of an option')
      ? context
      : add(context, project('option_question', questions[owner]!))
  })
  for (let i = 0; i < ROUTING; i++) {
    const at = `evidence_layers.${i}`
    const kept = is('reads the text as it is for options') ? memory : memory.map((x) => normed(`${at}.memory_norm`, x))
    const queries = options.map((x) => normed(`${at}.query_norm`, x))
    const looked = attend(`${at}.attention`, queries, kept, (option, place) =>
      is('sees nothing behind an option') ? place < spans[option]!.to : true,
    )
    options = options.map((x, k) => add(x, looked[k]!))
    options = options.map((x) => within(x, `${at}.feedforward_norm`, `${at}.feedforward.0`, `${at}.feedforward.3`))
  }

  const kinds = weights('type_embedding.weight')
  let decided = fields.map(({ kind }, field) => {
    const question = project('question', questions[field]!)
    const own = options.filter((_, i) => is('sums up what others may be answered') || spans[i]!.owner === field)
    const scale = is('forgets the scale of a summary') ? 1 : WIDTH ** -0.5
    const shares = softmax(own.map((option) => dot(option, question) * scale))
    const even = is('sums up options evenly') ? own.map(() => 1 / own.length) : [...shares]
    const summary = own.map((option, i) => times(option, even[i]!)).reduce(add)
    const base = add(question, normed('option_summary_norm', summary))
    const whole = is('forgets the end of the text') ? base : add(base, project('global', end))
    const number = is('numbers kinds as others do') ? (kind + 2) % CLEF_KINDS.length : kind
    return is('forgets the kind of question') ? whole : add(whole, part(kinds, number))
  })
  for (let i = 0; i < JOINT; i++) {
    const at = `layers.${i}`
    const own = decided.map((x) => normed(`${at}.norm1`, x))
    const met = attend(`${at}.self_attn`, own, own, (a, b) => {
      if (is('decides each question by itself')) return a === b
      return is('lets no question see a later one') ? b <= a : true
    })
    decided = decided.map((x, k) => add(x, met[k]!))
    const queries = decided.map((x) => normed(`${at}.norm2`, x))
    const kept = is('norms the text for questions') ? memory.map((x) => normed(`${at}.norm2`, x)) : memory
    const looked = attend(`${at}.multihead_attn`, queries, kept)
    decided = decided.map((x, k) => add(x, looked[k]!))
    decided = decided.map((x) => within(x, `${at}.norm3`, `${at}.linear1`, `${at}.linear2`))
  }
  if (!is('forgets the norm of questions')) decided = decided.map((x) => normed('field_norm', x))

  return Float64Array.from(spans, ({ owner }, i) => {
    const [question, option] = [decided[owner]!, normed('option_norm', options[i]!)]
    const apart = question.map((value, at) => {
      const between = value - option[at]!
      return is('tells which of both is greater') ? between : Math.abs(between)
    })
    const both4 = [question, option, both(question, option), apart]
    const features = is('takes the option for the question') ? [option, question, ...both4.slice(2)] : both4
    const scored = through('residual_scorer.0', Float64Array.from(features.flatMap((x) => [...x]))).map(act)
    const alike = dot(unit(question), unit(option))
    const residual = through('residual_scorer.3', scored)[0]!
    const [priorScale, jointScale, gate] = ['prior_logit_scale', 'joint_logit_scale', 'residual_gate'].map(
      (name) => weights(name)[0]!,
    ) as [number, number, number]
    const anchor = is('forgets the end of the text for words') ? questions[owner]! : add(questions[owner]!, end)
    const prior = scaleOf(priorScale) * dot(unit(lexical[i]!), unit(anchor))
    const joint = scaleOf(jointScale) * alike + residual
    return (is('forgets the words of an option') ? 0 : prior) + (is('forgets the gate') ? 1 : sigmoid(gate)) * joint
  })
}

const MISTAKES = [
  'forgets the norm before the head',
  'takes one head for all',
  'takes the gelu of tanh',
  'forgets the biases of the head',
  'reads the first token for the whole',
  'reads a question by its last token',
  'says words as it reads them',
  'reads one token behind an option',
  'forgets what is asked of an option',
  'reads the text as it is for options',
  'sees nothing behind an option',
  'sums up what others may be answered',
  'forgets the scale of a summary',
  'sums up options evenly',
  'forgets the end of the text',
  'numbers kinds as others do',
  'forgets the kind of question',
  'decides each question by itself',
  'lets no question see a later one',
  'norms the text for questions',
  'forgets the norm of questions',
  'tells which of both is greater',
  'takes the option for the question',
  'forgets the end of the text for words',
  'forgets the words of an option',
  'forgets the gate',
] as const

/** The head as llama.cpp's converter has it. */
export function headGguf(weights: Weights): GgufTensor[] {
  const list: GgufTensor[] = []
  const put = (name: string, values: Vector, columns?: number) =>
    list.push({ name, dims: columns ? [columns, values.length / columns] : [values.length], values })
  const whole = (to: string, from: string, columns?: number) => {
    put(`${to}.weight`, weights(`${from}.weight`), columns)
    put(`${to}.bias`, weights(`${from}.bias`))
  }
  const parts = (to: string, from: string) => {
    for (const [n, letter] of ['q', 'k', 'v'].entries()) {
      const third = (values: Vector) => values.slice((n * values.length) / 3, ((n + 1) * values.length) / 3)
      put(`${to}_${letter}.weight`, third(weights(`${from}.in_proj.weight`)), WIDTH)
      put(`${to}_${letter}.bias`, third(weights(`${from}.in_proj.bias`)))
    }
    whole(`${to}_o`, `${from}.out_proj`, WIDTH)
  }
  put('output.weight', weights('lm_head.weight'), hidden)
  for (const name of ['hidden_norm', 'option_summary_norm', 'field_norm', 'option_norm'])
    whole(`decision.${name}`, name)
  for (const name of PROJECTIONS) put(`decision.proj_${name}.weight`, weights(`${name}_projection.weight`), hidden)
  put('token_types.weight', weights('type_embedding.weight'), WIDTH)
  for (let i = 0; i < ROUTING; i++) {
    const [to, at] = [`dec.blk.${i}`, `evidence_layers.${i}`]
    whole(`${to}.cross_attn_norm`, `${at}.query_norm`)
    whole(`${to}.cross_attn_norm_kv`, `${at}.memory_norm`)
    parts(`${to}.cross_attn`, `${at}.attention`)
    whole(`${to}.ffn_norm`, `${at}.feedforward_norm`)
    whole(`${to}.ffn_up`, `${at}.feedforward.0`, WIDTH)
    whole(`${to}.ffn_down`, `${at}.feedforward.3`, INNER)
  }
  for (let i = 0; i < JOINT; i++) {
    const [to, at] = [`dec.blk.${ROUTING + i}`, `layers.${i}`]
    whole(`${to}.attn_norm`, `${at}.norm1`)
    parts(`${to}.attn`, `${at}.self_attn`)
    whole(`${to}.cross_attn_norm`, `${at}.norm2`)
    parts(`${to}.cross_attn`, `${at}.multihead_attn`)
    whole(`${to}.ffn_norm`, `${at}.norm3`)
    whole(`${to}.ffn_up`, `${at}.linear1`, WIDTH)
    whole(`${to}.ffn_down`, `${at}.linear2`, INNER)
  }
  whole('decision.scorer', 'residual_scorer.0', 4 * WIDTH)
  whole('decision.scorer_out', 'residual_scorer.3', WIDTH)
  const [prior, joint, gate] = ['prior_logit_scale', 'joint_logit_scale', 'residual_gate'].map(
    (name) => weights(name)[0]!,
  )
  put('decision.scales', Float64Array.of(scaleOf(prior!), scaleOf(joint!), sigmoid(gate!)))
  return list
}

export const clef = {
  ...qwen35,
  name: 'clef',
  tensors,
  mistakes: ['forgets the last norm under the head', ...MISTAKES],
  head: { routing: ROUTING, joint: JOINT, heads: HEADS },
  rows: rowsOf,
  /** A score for each option. */
  scores: (weights: Weights, input: ClefInput, mistake?: string): Vector =>
    headScores(weights, rowsOf(weights, input, mistake), input, mistake),
  gguf: {
    architecture: 'clef',
    metadata(out) {
      qwen35Metadata(out, 'clef')
      out.float('clef.attention.layer_norm_epsilon', EPSILON)
      out.u32('clef.decision.routing_block_count', ROUTING)
      out.u32('clef.decision.block_count', JOINT)
      out.u32('clef.decision.head_count', HEADS)
    },
    tensors: (weights) => [...qwen35.gguf!.tensors(weights), ...headGguf(weights)],
  },
} satisfies Case & { scores: unknown; rows: unknown; head: unknown }

/** Texts of made-up words, in which questions of all kinds are asked; the second has 13 tokens. */
export function clefInputs(): ClefInput[] {
  const random = new Random('questions of clef')
  const words = (count: number) => Array.from({ length: count }, () => 300 + random.below(300))
  return [
    [2, 3],
    [2, 1],
    [4, 2, 1],
  ].map((counts, text) => {
    const few = text === 1
    const tokens = words(few ? 2 : 5)
    const some = () => words(few ? 1 : 1 + random.below(3))
    const stretch = (): Span => {
      tokens.push(...some())
      const from = tokens.length
      tokens.push(...some())
      return { from, to: tokens.length }
    }
    const fields = counts.map((count, i) => {
      const question = stretch()
      return { ...question, kind: i % CLEF_KINDS.length, options: Array.from({ length: count }, stretch) }
    })
    tokens.push(...words(1))
    return { tokens, fields }
  })
}
