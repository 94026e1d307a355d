import { SAMPLING, type Sampling } from '../../contract/index.js'
import type { JsonObject } from '../../platform/index.js'
import { anInteger, anObject, at, noteUnknown, optional } from '../wire/fields.js'
import { readSampling, readStop } from '../wire/sampling.js'

/** By Ollama's name: how the other interfaces call it. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ...Object.values(SAMPLING).flatMap(({ wire, ollama = wire }) => (ollama === false ? [] : [[ollama, wire] as const])),
  ['seed', 'seed'],
])
const KNOWN: ReadonlySet<string> = new Set([...NAMES.keys(), 'num_predict', 'stop'])
const PATH = 'options'

/** -1 and 0: no limit; -2: as far as the context reaches. */
const aTokenLimit = anInteger(-2, Number.MAX_SAFE_INTEGER)
/** Ollama names no limit; a request of more than so many texts means something else. */
const MOST_STOPS = 64

export interface ReadOptions {
  readonly sampling: Sampling
  readonly stop: readonly string[]
  readonly maxTokens?: number
}

/**
 * What `options` says of drawing and length. Its other fields choose how a server of Ollama's computes (`num_gpu`,
 * `num_ctx`) or draw in ways that nothing here has (`mirostat`): they are ignored and named.
 */
export function readOptions(body: JsonObject, ignored: string[]): ReadOptions {
  const options = optional(body, PATH, '', anObject) ?? {}
  noteUnknown(options, KNOWN, PATH, ignored)
  const limit = optional(options, 'num_predict', PATH, aTokenLimit) ?? 0
  const renamed = Object.fromEntries([...NAMES].map(([name, other]) => [other, options[name]]))
  return {
    sampling: readSampling(renamed, optionName),
    stop: optional(options, 'stop', PATH, readStops) ?? [],
    ...(limit > 0 && { maxTokens: limit }),
  }
}

/** Clients send what they have none of as an empty list. */
const readStops = (value: unknown, param: string): readonly string[] =>
  Array.isArray(value) && value.length === 0 ? [] : readStop(value, param, MOST_STOPS)

/** The place in a request of what the other interfaces call `name`. */
export function optionName(name: string): string {
  const own = [...NAMES].find(([, other]) => other === name)?.[0]
  return own === undefined ? name : at(PATH, own)
}
