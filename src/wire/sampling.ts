import type { Sampling } from '../engine.js'
import type { JsonObject } from '../platform/json.js'
import { aNumber, anArray, anInteger, anObject, aString, at, optional, refuse, wrongType } from './fields.js'

export const SAMPLING_FIELDS = [
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'logit_bias',
  'seed',
  'stop',
] as const

const aTemperature = aNumber(0, 2)
const aShare = aNumber(0, 1)
const aPenalty = aNumber(-2, 2)
const aBias = aNumber(-100, 100)
const aSeed = anInteger(-(2 ** 63), 2 ** 63)
const someStops = anArray(1, 4)

export function readSampling(body: JsonObject): Sampling {
  return {
    temperature: optional(body, 'temperature', '', aTemperature) ?? 1,
    topP: optional(body, 'top_p', '', aShare) ?? 1,
    presencePenalty: optional(body, 'presence_penalty', '', aPenalty) ?? 0,
    frequencyPenalty: optional(body, 'frequency_penalty', '', aPenalty) ?? 0,
    logitBias: optional(body, 'logit_bias', '', readLogitBias),
    seed: optional(body, 'seed', '', aSeed),
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

export function readStop(body: JsonObject): readonly string[] {
  const stop = body.stop
  if (stop === undefined || stop === null) return []
  if (typeof stop !== 'string' && !Array.isArray(stop)) throw wrongType('stop', 'a string or an array of strings', stop)
  if (typeof stop === 'string') return [aStop(stop, 'stop')]
  return someStops(stop, 'stop').map((item, i) => aStop(item, at('stop', i)))
}

function aStop(value: unknown, param: string): string {
  const stop = aString(value, param)
  if (stop === '')
    throw refuse(param, `Invalid '${param}': an empty string stops before the first word.`, 'empty_string')
  return stop
}
