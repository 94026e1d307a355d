import { type ChatCall, SAMPLING, type Sampling, type SamplingSetting, samplingFrom } from '../../contract/index.js'
import type { JsonObject } from '../../platform/index.js'
import {
  aBoolean,
  aNumber,
  anArray,
  anInteger,
  anObject,
  aString,
  at,
  badRequest,
  hint,
  noteUnknown,
  oneOf,
  optional,
  someTexts,
} from './fields.js'

export const SAMPLING_FIELDS: readonly string[] = [
  ...Object.values(SAMPLING).map(({ wire }) => wire),
  ...['logit_bias', 'seed', 'stop'],
  // Those of local servers, as vLLM names them.
  ...['min_tokens', 'stop_token_ids', 'ignore_eos'],
]

const READERS: ReadonlyMap<SamplingSetting, (value: unknown, param: string) => number> = new Map(
  Object.values(SAMPLING).map((setting) => {
    const { whole, least, most } = setting
    return [setting, (whole ? anInteger : aNumber)(least, most)]
  }),
)
const aBias = aNumber(-100, 100)
const aSeed = anInteger(-(2 ** 63), 2 ** 63)
const aTokenCount = anInteger(0, Number.MAX_SAFE_INTEGER)
const someTokens = anArray(0, 128)
const readStops = someTexts([1, 4], aStop)
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
    body[name] == null ? undefined : read(body[name], nameOf(name))
  const sampling: { -readonly [F in keyof Sampling]: Sampling[F] } = samplingFrom((setting) =>
    given(setting.wire, READERS.get(setting)!),
  )
  sampling.logitBias = given('logit_bias', readLogitBias)
  sampling.seed = given('seed', aSeed)
  return sampling
}

/** There may be 90,000 in a body: nothing is made for each but its place here. */
function readLogitBias(value: unknown, param: string): ReadonlyMap<number, number> {
  const bias = new Map<number, number>()
  const given = anObject(value, param)
  for (const token in given) {
    if (!isTokenId(token)) {
      const message = `Invalid key in '${param}': '${token.slice(0, 100)}' is not a token id.`
      throw badRequest(param, message, 'invalid_value')
    }
    const amount = given[token]
    bias.set(
      Number(token),
      typeof amount === 'number' && Math.abs(amount) <= 100 ? amount : aBias(amount, at(param, token)),
    )
  }
  return bias
}

const isTokenId = (token: string): boolean => /^(0|[1-9]\d{0,8})$/.test(token)

export type EndFields = Pick<ChatCall, 'stop' | 'minTokens' | 'stopTokens' | 'ignoreEnds'>

/** When an answer ends, beside `maxTokens`. */
export function readEnding(body: JsonObject, maxTokens: number | undefined): EndFields {
  const minTokens = optional(body, 'min_tokens', '', aTokenCount) ?? 0
  if (maxTokens !== undefined && minTokens > maxTokens) {
    const message = `Invalid 'min_tokens': ${minTokens} is more than the ${maxTokens} that the answer may have.`
    throw badRequest('min_tokens', message, 'invalid_value')
  }
  const stopTokens = optional(body, 'stop_token_ids', '', someTokens) ?? []
  const ignoreEnds = optional(body, 'ignore_eos', '', aBoolean) ?? false
  return {
    stop: optional(body, 'stop', '', readStops) ?? [],
    ...(minTokens > 0 && { minTokens }),
    ...(stopTokens.length > 0 && { stopTokens: stopTokens.map((token, i) => aToken(token, at('stop_token_ids', i))) }),
    ...(ignoreEnds && { ignoreEnds }),
  }
}

/** A text at which an answer stops. */
export function aStop(value: unknown, param: string): string {
  const stop = aString(value, param)
  if (stop === '')
    throw badRequest(param, `Invalid '${param}': an empty string stops before the first word.`, 'empty_string')
  return stop
}

const AS_IDS = 'return_tokens_as_token_ids'

/** There only where they are wanted. */
export function readReturnTokens(body: JsonObject): { readonly returnTokens?: true; readonly tokensAsIds?: true } {
  return {
    ...(optional(body, 'return_token_ids', '', aBoolean) && { returnTokens: true }),
    // It says how log probabilities are told, and nothing without them.
    ...(optional(body, AS_IDS, '', aBoolean) &&
      body.logprobs != null &&
      body.logprobs !== false && { tokensAsIds: true }),
  }
}

/** How long a model shall think, in the words of all endpoints. */
export const anEffort = oneOf(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])

/** What local servers' and hosts' words ask of thoughts. */
export const THINKING_FIELDS: readonly string[] = [
  ...['thinking', 'enable_thinking', 'chat_template_kwargs'],
  // Qwen's name for it, and vLLM's.
  ...['thinking_budget', 'thinking_token_budget'],
]
/** What OpenRouter's `reasoning` has beside OpenAI's `effort`. */
export const REASONING_SWITCHES = ['enabled', 'max_tokens'] as const

/** What a request asks of thoughts; each is there only where it is given. */
export interface Thinking {
  /** What the chat template is told by name. */
  readonly templateOptions?: Options | undefined
  /** The most tokens that an answer may think. */
  readonly thinkingBudget?: number
  /** The field that asks for thoughts: errors name what the client wrote. */
  readonly thinkingField?: string
}

const aSwitch = oneOf(['enabled', 'disabled'])
const KNOWN_WAY = new Set(['type', 'budget_tokens'])
const readWay = (value: unknown, param: string, ignored: string[]) => {
  const given = anObject(value, param)
  noteUnknown(given, KNOWN_WAY, param, ignored)
  const budget = hint(given, 'budget_tokens', param, aTokenCount, ignored)
  const { type } = given
  return { way: type === 'adaptive' ? type : aSwitch(type, at(param, 'type')), budget }
}

/**
 * Whether to think, and how long, but for the effort: Anthropic's words, which DeepSeek's, Moonshot's and Z.ai's servers take
 * of chats (`adaptive` is the model's own way), Qwen's, OpenRouter's, and what chat templates are told by name, which wins.
 */
export function readThinking(body: JsonObject, reasoning: JsonObject, ignored: string[]): Thinking {
  const { way, budget } = hint(body, 'thinking', '', (...told) => readWay(...told, ignored), ignored) ?? {}
  const given = optional(body, 'chat_template_kwargs', '', anObject)
  // A template takes the text 'false' for a yes.
  const named = given && optional(given, 'enable_thinking', 'chat_template_kwargs', aBoolean)
  const hosted = optional(reasoning, 'enabled', 'reasoning', aBoolean)
  const qwens = optional(body, 'enable_thinking', '', aBoolean)
  const spoken = way === undefined || way === 'adaptive' ? undefined : way === 'enabled'
  const thinks = qwens ?? spoken ?? hosted
  const templateOptions = thinks === undefined ? given : { enable_thinking: thinks, ...given }
  const switched = [
    named && { thinkingField: 'chat_template_kwargs.enable_thinking' },
    qwens && { thinkingField: 'enable_thinking' },
    spoken && { thinkingField: 'thinking' },
    hosted && { thinkingField: 'reasoning.enabled' },
  ].find(Boolean)
  for (const [holder, name, path] of [
    [body, 'thinking_budget', ''],
    [body, 'thinking_token_budget', ''],
    [reasoning, 'max_tokens', 'reasoning'],
  ] as const) {
    const thinkingBudget = optional(holder, name, path, aTokenCount)
    if (thinkingBudget !== undefined) {
      return { templateOptions, thinkingBudget, thinkingField: at(path, name), ...switched }
    }
  }
  return { templateOptions, ...(spoken && budget !== undefined && { thinkingBudget: budget }), ...switched }
}

type Options = Readonly<Record<string, unknown>>

/** What chat templates of reasoning models ask for: Qwen's `enable_thinking`, the effort of others. What is given by name wins. */
export function withEffort(effort: ReturnType<typeof anEffort> | undefined, given: Options | undefined) {
  if (effort === undefined) return given
  return { reasoning_effort: effort, enable_thinking: effort !== 'none' && effort !== 'minimal', ...given }
}
