/** How sentence-transformers' files, or a head for scores, say what becomes of a model's rows. */
import type { ClassForm } from '../../contract/index.js'
import { isRecord, type JsonObject } from '../../platform/index.js'
import type { SentenceFiles, SentenceModule } from '../files/sentence.js'
import type { WeightOutline } from '../files/source.js'
import { refuse } from '../refuse.js'
import type { DensePlan, Purpose, VectorPlan } from './vector-plan.js'

/**
 * What a model is for: one with modules makes vectors, one with a head for classes scores or classifies. `name`: Qwen3-Reranker's files
 * are those of a model for chat.
 */
export function purposeOf(
  {
    chatConfig,
    sentence,
    decision,
    rowLength,
  }: Pick<WeightOutline, 'chatConfig' | 'sentence' | 'decision' | 'rowLength'>,
  name: string,
): Purpose {
  if (decision || rowLength !== undefined) return 'decide'
  if (sentence || isMlcEncoder(chatConfig)) return 'embed'
  if (judges(chatConfig, name)) return 'rank'
  const { architectures } = chatConfig
  const named = Array.isArray(architectures) ? architectures.map(String) : []
  if (!named.some((name) => name.endsWith('ForSequenceClassification'))) return 'chat'
  return labelsOf(chatConfig).length === 1 ? 'rank' : 'classify'
}

/** MLC has encoders for vectors alone, and keeps what transformers says of them in an object of its own. */
export const isMlcEncoder = ({ model_type: type, model_config: config }: JsonObject): boolean =>
  type === 'bert' && isRecord(config)

/** Whether pairs are put to it as a question. */
export const judges = ({ model_type: type, architectures }: JsonObject, name: string): boolean =>
  type === 'qwen3' && /reranker/i.test(name) && String(architectures) === 'Qwen3ForCausalLM'

const POOLS: Readonly<Record<string, VectorPlan['pool']>> = {
  pooling_mode_mean_tokens: 'mean',
  pooling_mode_cls_token: 'first',
  pooling_mode_lasttoken: 'last',
}
/** As sentence-transformers 5.4 and later write it. */
const POOL_WORDS: Readonly<Record<string, VectorPlan['pool']>> = { mean: 'mean', cls: 'first', lasttoken: 'last' }

const MLC_POOLS: ReadonlyMap<unknown, VectorPlan['pool']> = new Map([
  ['cls', 'first'],
  ['mean', 'mean'],
  ['last', 'last'],
])

/** `hidden`: numbers of a row. `positions`: tokens that the model can read. */
export function readVectors(files: SentenceFiles, name: string, hidden: number, positions: number): VectorPlan {
  const foreign = files.modules.find(({ type }) => type.includes('.'))
  // It may choose adapters by task, as Jina's does: the plain weights would give other vectors without a word.
  if (foreign) throw refuse(name, `the module ${foreign.type}, which is code of its own (modules.json)`)
  const [transformer, pooling, ...rest] = files.modules
  if (transformer?.type !== 'Transformer' || pooling?.type !== 'Pooling') {
    throw refuse(name, `the modules ${files.modules.map(({ type }) => type).join(', ') || 'none'} (modules.json)`)
  }
  const dense: DensePlan[] = []
  for (const module of rest) {
    if (module.type === 'Dense') dense.push(readDense(module, name))
    else if (module.type !== 'Normalize') throw refuse(name, `the module ${module.type} (modules.json)`)
  }
  const limit = files.transformer.max_seq_length
  return {
    pool: readPool(pooling.config, name),
    dense,
    size: dense.at(-1)?.rows ?? hidden,
    most: typeof limit === 'number' && limit > 0 ? Math.min(limit, positions) : positions,
  }
}

/** Its older files do not say how rows are pooled: MLC takes the first. */
export function readMlcVectors(config: JsonObject, name: string, hidden: number, positions: number): VectorPlan {
  const metadata = isRecord(config.embedding_metadata) ? config.embedding_metadata : {}
  const { pooling_strategy: word = 'cls', normalize = true } = metadata
  const pool = MLC_POOLS.get(word)
  if (!pool) throw refuse(name, `embedding_metadata.pooling_strategy = ${JSON.stringify(word)}`)
  if (normalize !== true) throw refuse(name, `embedding_metadata.normalize = ${JSON.stringify(normalize)}`)
  return { pool, dense: [], size: hidden, most: positions }
}

function readPool(config: JsonObject, name: string): VectorPlan['pool'] {
  const word = config.pooling_mode
  if (typeof word === 'string') {
    if (Object.hasOwn(POOL_WORDS, word)) return POOL_WORDS[word]!
    throw refuse(name, `pooling_mode = ${JSON.stringify(word)} (1_Pooling/config.json)`)
  }
  const on = Object.entries(config).filter(([key, value]) => key.startsWith('pooling_mode_') && value === true)
  const [first] = on
  if (on.length === 1 && Object.hasOwn(POOLS, first![0])) return POOLS[first![0]]!
  throw refuse(name, `${on.map(([key]) => key).join(' and ') || 'no way of pooling'} (1_Pooling/config.json)`)
}

function readDense({ path, config }: SentenceModule, name: string): DensePlan {
  const { in_features: columns, out_features: rows, bias = true, activation_function: activation } = config
  const place = `${path}/config.json`
  if (!isCount(columns) || !isCount(rows)) throw refuse(name, `${place} without in_features and out_features`)
  const kind = String(activation).split('.').at(-1)
  if (kind !== 'Identity' && kind !== 'Tanh') throw refuse(name, `activation_function = ${kind} (${place})`)
  return { name: `${path}/linear`, rows, columns, bias: bias === true, tanh: kind === 'Tanh' }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0

/** Sentence-transformers' prompt before every text, unless another is named. */
export function defaultPrompt({ settings, modules }: SentenceFiles, name: string): string {
  const { prompts, default_prompt_name: key } = settings
  const prompt = typeof key === 'string' && isRecord(prompts) ? prompts[key] : undefined
  if (typeof prompt !== 'string' || prompt === '') return ''
  const pooling = modules.find(({ type }) => type === 'Pooling')
  if (pooling?.config.include_prompt === false) throw refuse(name, 'a prompt that is not pooled (include_prompt)')
  return prompt
}

/** The head of a decoder that scores or classifies: its last row, one product. */
export function scoreOf({ chatConfig }: WeightOutline, hidden: number, positions: number, name: string): VectorPlan {
  // By how much the one word is likelier than the other.
  const verdict = { name: '', rows: 1, columns: hidden, bias: false, tanh: false }
  if (judges(chatConfig, name)) return { pool: 'last', dense: [verdict], size: 1, most: positions }
  const rows = classCount(chatConfig, name)
  const dense = { name: 'score', rows, columns: hidden, bias: false, tanh: false }
  return { pool: 'last', dense: [dense], size: rows, most: positions }
}

/** More than any published head has. */
const MOST_CLASSES = 65_536

/** Names of classes, as transformers reads them: numbers where nothing names them, two where nothing counts them. */
function labelsOf({ num_labels: count, id2label }: JsonObject): string[] {
  const names = isRecord(id2label) ? id2label : {}
  const labels = typeof count === 'number' ? count : Object.keys(names).length || 2
  const some = Number.isSafeInteger(labels) && labels > 0 && labels <= MOST_CLASSES ? labels : 0
  return Array.from({ length: some }, (_, i) => (typeof names[i] === 'string' ? names[i] : `LABEL_${i}`))
}

/** Rows of a head, of which each tells of one class. */
export function classCount(config: JsonObject, name: string): number {
  const { length } = labelsOf(config)
  if (length === 0) throw refuse(name, `num_labels = ${JSON.stringify(config.num_labels)}`)
  // With one label it is how scores were learned, and nothing else.
  if (length > 1 && config.problem_type === 'regression')
    throw refuse(name, 'several numbers that are no classes (regression)')
  return length
}

/** The classes of a model that scores or classifies. */
export const classFormOf = (config: JsonObject): ClassForm => ({
  labels: labelsOf(config),
  several: config.problem_type === 'multi_label_classification',
})
