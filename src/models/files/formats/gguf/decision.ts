/** GGUF files of decision models, as llama.cpp writes them, in the words of Laya's own files. */
import { MADE_TYPES, type MadeForm, type MadeType } from '../../../../generate/index.js'
import type { JsonObject } from '../../../../platform/index.js'
import { broken } from '../../failure.js'
import type { SentenceFiles } from '../../sentence.js'
import type { Naming } from '../../source.js'

/** What makes vectors, as transformers would say it. */
export interface VectorForm {
  readonly naming: Naming
  readonly config: JsonObject
  readonly sentence?: SentenceFiles
  /** Of one that decides, in the words of Laya's `rl_agent_config.json`. */
  readonly decision?: JsonObject
  rename(tensor: string): string
}

/** How a question is put to it. */
export const SYSTEMONE = 'tokenizer.chat_template.systemone'

const TYPE = 'decision.type'
const PREFIX = 'decision.'
const TEMPERATURE = 'temperature.'
/** `choice.3_5`, and `choice.11` for eleven and more. */
const GROUPS: ReadonlyMap<string, string> = new Map(
  Object.entries({ '2': '2', '3_5': '3-5', '6_10': '6-10', '11': '11+' }),
)

export interface TakenDecision {
  /** As Laya has it. */
  readonly config: JsonObject
  readonly layers: number
}

/** Its questions are decided together. */
const JOINT = 'clef'

/** Encoders with a head that scores options at their marks or all together, each over one architecture. */
const MARKED: ReadonlyMap<unknown, { readonly over: string; readonly called: string }> = new Map([
  ['laya', { over: 'modern-bert', called: 'ModernBERT' }],
  ['lfm2-d1-omni', { over: 'lfm2', called: 'LFM2' }],
  [JOINT, { over: 'clef', called: 'a Qwen 3.5 of that name' }],
])

/** What a file may say that it decides by. */
export const DECISION_TYPES: readonly string[] = [...[...MARKED.keys()].map(String), ...MADE_TYPES]

/** Takes the fields of decisions out of those of a model; undefined where there are none. */
export function takeDecision(
  place: string,
  fields: Record<string, unknown>,
  template: unknown,
): TakenDecision | undefined {
  const type = fields[TYPE]
  if (type === undefined) return undefined
  if (MARKED.get(type)?.over !== fields.model_type) {
    const marked = [...MARKED].map(([name, { over, called }]) => `"${name}" over ${called} (${over})`)
    const known = `Supported are the types ${marked.join(' and ')}, and ${listed(MADE_TYPES)} over decoders.`
    const fault = `it is a decision model of the type ${JSON.stringify(type)} over ${String(fields.model_type)}`
    throw broken(place, `${fault} (${String(fields.model_type)}.${TYPE}), which cannot be run. ${known}`)
  }
  if (typeof template !== 'string') throw broken(place, `it does not say how it is asked (${SYSTEMONE}).`)
  const own: Record<string, unknown> = {}
  for (const key of Object.keys(fields)) {
    if (!key.startsWith(PREFIX)) continue
    own[key.slice(PREFIX.length)] = fields[key]
    delete fields[key]
  }
  const counted = type === JOINT ? ['block_count', 'routing_block_count', 'head_count'] : ['block_count']
  for (const key of counted) if (!isCount(own[key])) throw broken(place, `its ${PREFIX}${key} is ${String(own[key])}.`)
  const { type: _, max_head_tokens } = own
  const layers = own.block_count as number
  const more = Object.entries(own).filter(([key]) => ![...counted, 'type', 'max_head_tokens'].includes(key))
  const isLaya = type === 'laya'
  // The other's length follows from its options.
  if (isLaya ? !isCount(max_head_tokens) : max_head_tokens !== undefined)
    throw broken(place, `its ${PREFIX}max_head_tokens is ${String(max_head_tokens)}.`)
  const temperature_by_options: Record<string, unknown> = {}
  for (const [key, value] of more) {
    const [kind, group] = key.slice(TEMPERATURE.length).split('.')
    const known = key.startsWith(TEMPERATURE) && (group === undefined || GROUPS.has(group))
    if (!known) throw broken(place, `its ${PREFIX}${key} is not known.`)
    temperature_by_options[group === undefined ? kind! : `${kind}:${GROUPS.get(group)}`] = numberOf(place, key, value)
  }
  const config = { type, head_layers: layers, temperature_by_options, systemone: template }
  if (type === JOINT)
    return { config: { ...config, routing_layers: own.routing_block_count, heads: own.head_count }, layers }
  return { config: isLaya ? { ...config, head_max_len: max_head_tokens } : config, layers }
}

const isMadeType = (type: unknown): type is MadeType => (MADE_TYPES as readonly unknown[]).includes(type)
const listed = (names: readonly string[]) => names.map((name) => `"${name}"`).join(', ')

/** Of a head that makes rows: how many numbers a row has. */
const ROW_LENGTH = 'embedding_length_out'

/**
 * The fields of decisions of a decoder that was made for them, and the others; undefined where it is none. What
 * the file has for chat stays as it is.
 */
export function takeMade(
  place: string,
  fields: JsonObject,
  template: unknown,
): { readonly fields: JsonObject; readonly made: MadeForm; readonly rowLength?: number } | undefined {
  const type = fields[TYPE]
  // An encoder has no answer to begin.
  if (!isMadeType(type) || /bert/.test(String(fields.model_type))) return undefined
  if (typeof template !== 'string') throw broken(place, `it does not say how it is asked (${SYSTEMONE}).`)
  const temperatures: Record<string, number> = {}
  const left: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(fields)) {
    const name = key.slice(PREFIX.length)
    if (key === TYPE || (key === ROW_LENGTH && type === 'kev')) continue
    if (!key.startsWith(PREFIX)) left[key] = value
    else if (name.startsWith(TEMPERATURE)) temperatures[name.slice(TEMPERATURE.length)] = numberOf(place, name, value)
    else throw broken(place, `its ${key} is not known.`)
  }
  const made = { type, template, temperatures }
  if (type !== 'kev') return { fields: left, made }
  const rowLength = fields[ROW_LENGTH]
  // A query and a key.
  if (!isCount(rowLength) || rowLength % 2 !== 0) throw broken(place, `its ${ROW_LENGTH} is ${String(rowLength)}.`)
  return { fields: left, made, rowLength }
}

/** Converters write them as numbers or as texts. */
function numberOf(place: string, name: string, value: unknown): number {
  const number = typeof value === 'string' ? Number(value) : value
  if (typeof number === 'number' && number > 0 && Number.isFinite(number)) return number
  throw broken(place, `its ${PREFIX}${name} is ${String(value)}.`)
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0

const HEAD: readonly [RegExp, string][] = [
  [/^attn_norm\./, 'norm1.'],
  [/^attn_qkv\./, 'self_attn.in_proj.'],
  [/^attn_output\./, 'self_attn.out_proj.'],
  [/^ffn_norm\./, 'norm2.'],
  [/^ffn_up\./, 'linear1.'],
  [/^ffn_down\./, 'linear2.'],
]
const SCORES: readonly [RegExp, string][] = [
  [/^token_types\./, 'type_emb.'],
  [/^cls\.norm\./, 'scorer.0.'],
  [/^cls\.output\./, 'scorer.3.'],
  [/^cls\./, 'scorer.1.'],
]

/** The name of a tensor of the head; undefined: it is none of it. `first`: of its layers, by their count in the file. */
function headName(tensor: string, first: number): string | undefined {
  const [, layer, rest] = /^blk\.(\d+)\.(.*)$/.exec(tensor) ?? []
  const own = layer === undefined ? SCORES : Number(layer) >= first ? HEAD : []
  const name = layer === undefined ? tensor : rest!
  const [pattern, to] = own.find(([each]) => each.test(name)) ?? []
  if (pattern === undefined) return undefined
  const known = name.replace(pattern, to!)
  return layer === undefined ? known : `head.layers.${Number(layer) - first}.${known}`
}

/** What is told of each layer, those of the head with it. */
const BY_LAYER = ['feed_forward_length', 'attention.head_count', 'attention.head_count_kv']

/** The head's layers are counted as the last ones of a decoder, which keeps its names; or by themselves. */
export function headedForm(place: string, fields: JsonObject, { config, layers }: TakenDecision): VectorForm {
  const first = Number(fields.block_count) - layers
  const { 'attention.layer_norm_epsilon': epsilon = HEAD_EPSILON, type_vocab_size: kinds = 3, ...trunk } = fields
  if (!(Math.abs(Number(epsilon) - HEAD_EPSILON) <= 1e-9))
    throw broken(place, `its attention.layer_norm_epsilon is ${String(epsilon)}.`)
  if (kinds !== 3) throw broken(place, `its head distinguishes ${String(kinds)} kinds of questions.`)
  if (config.type === JOINT)
    return { naming: 'gguf', config: { ...trunk, model_type: 'qwen35' }, decision: config, rename: (tensor) => tensor }
  const own: Record<string, unknown> = { ...trunk, block_count: first }
  for (const key of BY_LAYER) if (Array.isArray(own[key])) own[key] = (own[key] as unknown[]).slice(0, first)
  return {
    naming: 'gguf',
    config: own,
    decision: config,
    rename: (tensor) => headName(tensor, first) ?? tensor,
  }
}

/** Of PyTorch's norms, unless they are told otherwise. */
const HEAD_EPSILON = 1e-5

/** The head's layers are counted as the encoder's last ones, whose names `encoder` knows. */
export function decisionForm(
  plain: JsonObject,
  { config, layers }: TakenDecision,
  encoder: (tensor: string) => string,
): VectorForm {
  const first = Number(plain.num_hidden_layers) - layers
  const widths = plain.intermediate_size
  const intermediate_size = Array.isArray(widths) ? widths[0] : widths
  return {
    naming: 'huggingface',
    config: { ...plain, num_hidden_layers: first, intermediate_size },
    decision: config,
    rename: (tensor) => headName(tensor, first) ?? `encoder.${encoder(tensor)}`,
  }
}
