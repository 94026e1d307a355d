/** Laya: a ModernBERT and a head that scores the options of a question at the mark before each of them. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Metadata } from '../../../bench/peers/gguf-file.js'
import { type GgufTensor, matrix, norm, type TensorSpec, vector, type Weights } from '../family.js'
import { wordPiece } from '../files/repository.js'
import { safetensors } from '../files/safetensors.js'
import { add, frequencies, gelu, geluTanh, layerNorm, product, rotate, type Vector } from '../float64.js'
import { Random } from '../random.js'
import { CLS, MARKS, SEP } from './bert.js'
import type { EncoderCase } from './encoder-case.js'
import {
  attended,
  SHAPE as MODERN,
  type ModernShape,
  modernConfig,
  modernGguf,
  modernGgufTensors,
  modernRows,
  modernTensors,
} from './modern-bert.js'
import { encoderWeights } from './source.js'

/** As such models number them. */
export const KINDS = ['choice', 'score', 'noul'] as const
export const MASK = MARKS.indexOf('[MASK]')

/** Heads of 64, whatever the encoder has. */
export const LAYA_SHAPE: ModernShape = { ...MODERN, hidden: 128, inner: 160, heads: 2, positions: 512, layers: 3 }
export const HEAD_LAYERS = 2
const SIZE = 64

export interface LayaInput {
  readonly tokens: readonly number[]
  /** Where options are read. */
  readonly marks: readonly number[]
  readonly kind: number
}

export interface LayaCase extends Pick<EncoderCase, 'name' | 'config' | 'tensors'> {
  readonly gguf: NonNullable<EncoderCase['gguf']>
  /** `rl_agent_config.json` */
  readonly agent: Readonly<Record<string, unknown>>
  readonly mistakes: readonly string[]
  /** A score for each mark. */
  reference(weights: Weights, input: LayaInput, mistake?: string): Vector
}

const dense = (name: string, rows: number, columns: number, gain = 1): TensorSpec[] => [
  matrix(`${name}.weight`, rows, columns, gain),
  vector(`${name}.bias`, rows, 0, 0.1),
]
const centred = (name: string, size: number): TensorSpec[] => [
  norm(`${name}.weight`, size),
  vector(`${name}.bias`, size, 0, 0.2),
]

const { hidden } = LAYA_SHAPE
const ACT = 24

/** Of a head over rows so wide. */
export const headTensors = (hidden: number): TensorSpec[] => [
  { name: 'type_emb.weight', shape: [KINDS.length, hidden], mean: 0, deviation: 0.6 },
  ...Array.from({ length: HEAD_LAYERS }, (_, i) => `head.layers.${i}`).flatMap((at) => [
    ...dense(`${at}.self_attn.in_proj`, 3 * hidden, hidden, 1.4),
    ...dense(`${at}.self_attn.out_proj`, hidden, hidden),
    ...centred(`${at}.norm1`, hidden),
    ...centred(`${at}.norm2`, hidden),
    ...dense(`${at}.linear1`, 4 * hidden, hidden, 1.4),
    ...dense(`${at}.linear2`, hidden, 4 * hidden),
  ]),
  ...centred('scorer.0', hidden),
  ...dense('scorer.1', hidden, hidden, 1.4),
  ...dense('scorer.3', 1, hidden, 3),
]

export const layaTensors = (shape: ModernShape, { hidden } = shape): TensorSpec[] => [
  ...modernTensors(shape, 'encoder.'),
  ...headTensors(hidden),
  ...dense('act_head.0', ACT, hidden + 4),
  ...dense('act_head.2', 2, ACT),
  vector('temperature', KINDS.length, 1, 0),
]

const EPSILON = 1e-5

/** Of the encoder's rows, by a head over rows so wide. */
export function headScores(
  weights: Weights,
  trunk: readonly Vector[],
  { marks, kind }: LayaInput,
  hidden: number,
  mistake?: string,
): Vector {
  const bias = (name: string) => (mistake === 'forgets the biases of the head' ? undefined : weights(`${name}.bias`))
  const through = (name: string, x: Vector) => product(weights(`${name}.weight`), x, bias(name))
  const normed = (name: string, x: Vector) => layerNorm(x, weights(`${name}.weight`), weights(`${name}.bias`), EPSILON)
  const row = mistake === 'takes a score for a choice' ? (kind + 1) % KINDS.length : kind
  const type = weights('type_emb.weight').slice(row * hidden, (row + 1) * hidden)
  let rows = trunk.map((x) => (mistake === 'forgets the kind of question' ? x : add(x, type)))
  const act = mistake === 'takes the gelu in layers of the head' ? gelu : (value: number) => Math.max(0, value)
  const turns = frequencies(10_000, SIZE)
  const after = mistake === 'norms after it adds'
  for (let i = 0; i < HEAD_LAYERS; i++) {
    const at = `head.layers.${i}`
    const parts = rows.map((x, position) => {
      const qkv = through(`${at}.self_attn.in_proj`, after ? x : normed(`${at}.norm1`, x))
      const part = (n: number) => qkv.slice(n * hidden, (n + 1) * hidden)
      const turned = (n: number) =>
        mistake === 'turns queries in the head' ? rotate(part(n), SIZE, position, turns) : part(n)
      return [turned(0), turned(1), part(2)] as const
    })
    const qkv = [0, 1, 2].map((n) => parts.map((part) => part[n]!)) as [Vector[], Vector[], Vector[]]
    const seen = attended(
      qkv,
      SIZE,
      (position, other) =>
        mistake !== 'sees what is near alone in the head' || Math.abs(position - other) <= LAYA_SHAPE.local / 2,
    )
    rows = rows.map((x, position) => {
      const added = add(x, through(`${at}.self_attn.out_proj`, seen[position]!))
      const mixed = after ? normed(`${at}.norm1`, added) : added
      const inner = through(`${at}.linear1`, after ? mixed : normed(`${at}.norm2`, mixed)).map(act)
      const out = add(mixed, through(`${at}.linear2`, inner))
      return after ? normed(`${at}.norm2`, out) : out
    })
  }
  return Float64Array.from(marks, (mark) => {
    const x = rows[mistake === 'reads what follows a mark' ? mark + 1 : mark]!
    const score = mistake === 'forgets the norm before a score' ? x : normed('scorer.0', x)
    const gate = mistake === 'takes the gelu of tanh for a score' ? geluTanh : gelu
    return through('scorer.3', through('scorer.1', score).map(gate))[0]!
  })
}

function layaScores(weights: Weights, input: LayaInput, mistake?: string): Vector {
  const last = mistake === 'forgets the last norm of the encoder' ? 'forgets the last norm' : undefined
  const rows = modernRows(LAYA_SHAPE, weights, input, { prefix: 'encoder.', mistake: last })
  return headScores(weights, rows, input, hidden, mistake)
}

/** Mistakes of the head. */
export const HEAD_MISTAKES = [
  'forgets the kind of question',
  'takes a score for a choice',
  'forgets the biases of the head',
  'takes the gelu in layers of the head',
  'norms after it adds',
  'turns queries in the head',
  'sees what is near alone in the head',
  'reads what follows a mark',
  'forgets the norm before a score',
  'takes the gelu of tanh for a score',
]

/** The head's layers behind the encoder's, as llama.cpp's converter has them. */
export function headGguf(weights: Weights, hidden: number, layers: number): GgufTensor[] {
  const list: GgufTensor[] = []
  const put = (name: string, from: string, rows: number, columns?: number) => {
    list.push({
      name: `${name}.weight`,
      dims: columns ? [columns, rows] : [rows],
      values: weights(`${from}.weight`),
    })
    list.push({ name: `${name}.bias`, dims: [rows], values: weights(`${from}.bias`) })
  }
  list.push({ name: 'token_types.weight', dims: [hidden, KINDS.length], values: weights('type_emb.weight') })
  for (let i = 0; i < HEAD_LAYERS; i++) {
    const [to, at] = [`blk.${layers + i}`, `head.layers.${i}`]
    put(`${to}.attn_norm`, `${at}.norm1`, hidden)
    put(`${to}.attn_qkv`, `${at}.self_attn.in_proj`, 3 * hidden, hidden)
    put(`${to}.attn_output`, `${at}.self_attn.out_proj`, hidden, hidden)
    put(`${to}.ffn_norm`, `${at}.norm2`, hidden)
    put(`${to}.ffn_up`, `${at}.linear1`, 4 * hidden, hidden)
    put(`${to}.ffn_down`, `${at}.linear2`, hidden, 4 * hidden)
  }
  put('cls.norm', 'scorer.0', hidden)
  put('cls', 'scorer.1', hidden, hidden)
  put('cls.output', 'scorer.3', 1, hidden)
  return list
}

/** In the form that llama.cpp asks for: every value by its name, and marks as they are spelled. */
export const TEMPLATE =
  '[CLS]{{ type }} question: {{ instructions }}[SEP]{% for o in options %}[MASK] ' +
  "{% if type == 'score' %}level {{ o.key }}: {{ o.description }}" +
  "{% elif type == 'noul' %}{{ o.key }}: {% if o.description %}{{ o.description }}{% elif o.key == 'true' %}" +
  'yes, the statement holds{% else %}no, the statement does not hold{% endif %}' +
  '{% else %}{{ o.key }}{% if o.description %}: {{ o.description }}{% endif %}{% endif %}' +
  '{% endfor %}[SEP]{{ state if state is string else state | tojson }}[SEP]'

const TEMPERATURES = { choice: 1.5, score: 0.75, noul: 2 }

export const laya: LayaCase = {
  name: 'laya',
  config: { ...modernConfig(LAYA_SHAPE), architectures: ['ModernBertModel'] },
  agent: {
    encoder: 'answerdotai/ModernBERT-large',
    head_layers: HEAD_LAYERS,
    max_len: 320,
    head_max_len: 192,
    max_prefixes: 6,
    temperature: Object.values(TEMPERATURES),
    temperature_by_options: { 'choice:3-5': 1.25, 'choice:11+': 0.5 },
    act_costs: { act: 1 },
  },
  tensors: layaTensors(LAYA_SHAPE),
  reference: layaScores,
  mistakes: [...HEAD_MISTAKES, 'forgets the last norm of the encoder'],
  gguf: {
    ...modernGguf(LAYA_SHAPE, 0),
    metadata(out) {
      const { layers, inner } = LAYA_SHAPE
      modernGguf(LAYA_SHAPE, 0).metadata(out)
      const own = (name: string) => `modern-bert.${name}`
      out.u32(own('block_count'), layers + HEAD_LAYERS)
      const widths = [...new Array<number>(layers).fill(inner), ...new Array<number>(HEAD_LAYERS).fill(4 * hidden)]
      out.integers(own('feed_forward_length'), Int32Array.from(widths))
      out.text(own('decision.type'), 'laya')
      out.u32(own('decision.block_count'), HEAD_LAYERS)
      out.u32(own('decision.max_head_tokens'), 192)
      for (const [kind, value] of Object.entries(TEMPERATURES)) out.float(own(`decision.temperature.${kind}`), value)
      out.float(own('decision.temperature.choice.3_5'), 1.25)
      out.float(own('decision.temperature.choice.11'), 0.5)
      out.text('tokenizer.chat_template.systemone', TEMPLATE)
    },
    tensors: (weights) => [
      ...modernGgufTensors(LAYA_SHAPE, weights, 'encoder.'),
      ...headGguf(weights, hidden, LAYA_SHAPE.layers),
    ],
    words: addLetters,
  },
}

/** Questions of made-up words, and of all kinds. */
export function layaInputs(): LayaInput[] {
  const random = new Random('questions of laya')
  const words = (count: number) => Array.from({ length: count }, () => 300 + random.below(300))
  return [3, 2, 5, 12].map((options, i) => {
    const tokens = [CLS, ...words(4 + i), SEP]
    const marks = Array.from({ length: options }, () => {
      const at = tokens.length
      tokens.push(MASK, ...words(1 + random.below(4)))
      return at
    })
    tokens.push(SEP, ...words(20 + 10 * i), SEP)
    return { tokens, marks, kind: i % KINDS.length }
  })
}

/** WordPiece over letters and signs, one by one: any text has tokens. */
export function lettersTokenizer() {
  const signs = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).filter((sign) => !/[A-Z]/.test(sign))
  return wordPiece([...MARKS, ...signs, ...signs.map((sign) => `##${sign}`)], MARKS)
}

/** The same in a GGUF file, where words that begin one have a mark, and not those that go on. */
function addLetters(out: Metadata): void {
  const { model } = lettersTokenizer()
  // An object has digits first.
  const names = Object.entries(model.vocab)
    .sort(([, one], [, other]) => one - other)
    .map(([name]) => name)
  const spelled = (name: string) => (name.startsWith('##') ? name.slice(2) : `▁${name}`)
  out.text('tokenizer.ggml.model', 'bert')
  out.texts(
    'tokenizer.ggml.tokens',
    Array.from({ length: LAYA_SHAPE.vocab }, (_, i) => {
      if (i < MARKS.length) return MARKS[i]!
      return i < names.length ? spelled(names[i]!) : `[unused${i}]`
    }),
  )
  const kind = (i: number) => (i < MARKS.length || i >= names.length ? 3 : 1)
  out.integers(
    'tokenizer.ggml.token_type',
    Int32Array.from({ length: LAYA_SHAPE.vocab }, (_, i) => kind(i)),
  )
  out.u32('tokenizer.ggml.token_type_count', KINDS.length)
  for (const [name, id] of Object.entries({ unknown: 1, mask: MASK, padding: 3, cls: CLS, bos: CLS, seperator: SEP }))
    out.u32(`tokenizer.ggml.${name}_token_id`, id)
  out.u32('tokenizer.ggml.eos_token_id', SEP)
}

/** As Laya's makers publish it. */
export async function writeLaya(folder: string, of: LayaCase = laya): Promise<void> {
  const put = async (name: string, content: string | Uint8Array) => {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), content)
  }
  await put('rl_agent_config.json', JSON.stringify(of.agent))
  await put('encoder/config.json', JSON.stringify(of.config))
  await put('tokenizer/tokenizer.json', JSON.stringify(lettersTokenizer()))
  await put('tokenizer/tokenizer_config.json', JSON.stringify({ model_max_length: 512 }))
  const stored = (name: string) => name.replace(/\.in_proj\.(weight|bias)$/, '.in_proj_$1')
  const plain = (name: string) => name.replace(/\.in_proj_(weight|bias)$/, '.in_proj.$1')
  const weights = encoderWeights(of)
  const specs = of.tensors.map((spec) => ({ ...spec, name: stored(spec.name) }))
  await put(
    'model.safetensors',
    safetensors(specs, (name) => weights(plain(name))),
  )
}
