import type { ChatCall, Sampling } from '../engine.js'
import type { JsonObject } from '../platform/json.js'
import { aBoolean, aNumber, anArray, anInteger, anObject, aString, at, optional, refuse, wrongType } from './fields.js'

export const SAMPLING_FIELDS = [
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'logit_bias',
  'seed',
  'stop',
  // Those of local servers, as vLLM names them.
  'top_k',
  'min_p',
  'repetition_penalty',
  'min_tokens',
  'stop_token_ids',
  'ignore_eos',
] as const

const aTemperature = aNumber(0, 2)
const aShare = aNumber(0, 1)
const aPenalty = aNumber(-2, 2)
const aBias = aNumber(-100, 100)
const aSeed = anInteger(-(2 ** 63), 2 ** 63)
/** Servers write "all of them" as -1 or as 0. */
const aTopK = anInteger(-1, 2 ** 31 - 1)
/** Wide enough for any use, and far from where numbers of 32 bits end. */
const aFactor = aNumber(0.01, 100)
const aTokenCount = anInteger(0, Number.MAX_SAFE_INTEGER)
const someTokens = anArray(0, 128)
/** How long an answer may be. Local servers and their clients write "no limit" as -1. */
export function tokenLimit(least: number): (value: unknown, param: string) => number | undefined {
  const aLimit = anInteger(least, Number.MAX_SAFE_INTEGER)
  return (value, param) => (value === -1 ? undefined : aLimit(value, param))
}
/** The id of a token. */
export const aToken = anInteger(0, 2 ** 31 - 1)

/** `nameOf` says what errors call a field whose name is another in the request. */
export function readSampling(body: JsonObject, nameOf: (name: string) => string = (name) => name): Sampling {
  const given = <T>(name: string, read: (value: unknown, param: string) => T): T | undefined =>
    optional(body, name, '', (value) => read(value, nameOf(name)))
  const topK = given('top_k', aTopK)
  return {
    temperature: given('temperature', aTemperature),
    topP: given('top_p', aShare),
    topK: topK && Math.max(0, topK),
    minP: given('min_p', aShare),
    presencePenalty: given('presence_penalty', aPenalty),
    frequencyPenalty: given('frequency_penalty', aPenalty),
    repetitionPenalty: given('repetition_penalty', aFactor),
    logitBias: given('logit_bias', readLogitBias),
    seed: given('seed', aSeed),
  }
}

function readLogitBias(value: unknown, param: string): ReadonlyMap<number, number> {
  const bias = new Map<number, number>()
  for (const [token, amount] of Object.entries(anObject(value, param))) {
    if (!/^(0|[1-9]\d{0,8})$/.test(token)) {
      const message = `Invalid key in '${param}': '${token.slice(0, 100)}' is no token id.`
      throw refuse(param, message, 'invalid_value')
    }
    bias.set(Number(token), aBias(amount, at(param, token)))
  }
  return bias
}

export type EndFields = Pick<ChatCall, 'stop' | 'minTokens' | 'stopTokens' | 'ignoreEnds'>

/** When an answer ends, beside `maxTokens`. */
export function readEnding(body: JsonObject, maxTokens: number | undefined): EndFields {
  const minTokens = optional(body, 'min_tokens', '', aTokenCount) ?? 0
  if (maxTokens !== undefined && minTokens > maxTokens) {
    const message = `Invalid 'min_tokens': ${minTokens} is more than the ${maxTokens} that the answer may have.`
    throw refuse('min_tokens', message, 'invalid_value')
  }
  const stopTokens = optional(body, 'stop_token_ids', '', someTokens) ?? []
  const ignoreEnds = optional(body, 'ignore_eos', '', aBoolean) ?? false
  return {
    stop: optional(body, 'stop', '', readStop) ?? [],
    ...(minTokens > 0 && { minTokens }),
    ...(stopTokens.length > 0 && { stopTokens: stopTokens.map((token, i) => aToken(token, at('stop_token_ids', i))) }),
    ...(ignoreEnds && { ignoreEnds }),
  }
}

/** A text or some. */
export function readStop(value: unknown, param: string, most = 4): readonly string[] {
  if (typeof value === 'string') return [aStop(value, param)]
  if (!Array.isArray(value)) throw wrongType(param, 'a string or an array of strings', value)
  return anArray(1, most)(value, param).map((item, i) => aStop(item, at(param, i)))
}

/** A text at which an answer stops. */
export function aStop(value: unknown, param: string): string {
  const stop = aString(value, param)
  if (stop === '')
    throw refuse(param, `Invalid '${param}': an empty string stops before the first word.`, 'empty_string')
  return stop
}
