import {
  aBody,
  aBoolean,
  anArray,
  anInteger,
  anObject,
  aString,
  at,
  badRequest,
  noteUnknown,
  optional,
  type Refused,
  refuseUnsupported,
  required,
  unsupported,
  wrongType,
} from '../../wire/fields.js'
import { GUIDANCE_FIELDS, readForm, readOutputFormat, withNames } from '../../wire/output-format.js'
import type { CallSpec, FieldNames } from '../../wire/reply.js'
import { aToken, readEnding, readReturnTokens, readSampling, SAMPLING_FIELDS, tokenLimit } from '../../wire/sampling.js'

export interface TextRequest {
  readonly spec: CallSpec
  readonly stream: boolean
  readonly includeUsage: boolean
  /** The tokens of prompts and answers are returned. */
  readonly returnsTokens: boolean
  /** The prompt is sent before what the model says. */
  readonly echo: boolean
  readonly ignored: readonly string[]
}

const KNOWN = new Set([
  ...[
    'model',
    'prompt',
    'max_tokens',
    'n_predict',
    'n',
    'logprobs',
    'echo',
    'stream',
    'stream_options',
    'user',
    'best_of',
    'suffix',
    'return_token_ids',
    'return_tokens_as_token_ids',
  ],
  'response_format',
  ...GUIDANCE_FIELDS,
  ...SAMPLING_FIELDS,
])
const NOTHING_STORED = "A completion has all of its 'prompt': what is stored is continued by 'responses'."
/** Those of the other interfaces, which whoever sends them relies on. */
const WHY: Refused = new Map([
  ['messages', "A completion has a 'prompt': send 'messages' to 'chat/completions'."],
  ['input', "In a completion it is 'prompt'."],
  ['max_completion_tokens', "In a completion it is 'max_tokens'."],
  ['max_output_tokens', "In a completion it is 'max_tokens'."],
  ['num_predict', "In a completion it is 'max_tokens'."],
  ['stop_sequences', "In a completion it is 'stop'."],
  ['top_logprobs', "In a completion it is 'logprobs', as a number."],
  ['tools', "A completion calls no tools: use 'chat/completions'."],
  ['functions', "A completion calls no tools: use 'chat/completions'."],
  ['instructions', "A completion has only its 'prompt': use 'chat/completions'."],
  ['system', "A completion has only its 'prompt': use 'chat/completions'."],
  ['text', "In a completion it is 'response_format'."],
  ['output_format', "In a completion it is 'response_format'."],
  ['output_config', "In a completion it is 'response_format'."],
  ['tool_choice', "A completion calls no tools: use 'chat/completions'."],
  ['previous_response_id', NOTHING_STORED],
  ['conversation', NOTHING_STORED],
  ['quote', "A completion has no messages to quote from: use 'chat/completions'."],
])
const FIELDS: FieldNames = { format: 'response_format', parameters: () => 'prompt' }

const KNOWN_STREAM_OPTIONS = new Set(['include_usage', 'include_obfuscation'])
const aTokenLimit = tokenLimit(0)
const aChoiceCount = anInteger(1, 128)
/** OpenAI's own limit is 5; evaluation harnesses ask other servers for up to 20. */
const aTopCount = anInteger(0, 20)
/** Of one request. */
const MOST_PROMPTS = 256
/** Of all prompts of one request together. */
const MOST_ANSWERS = 1024
const somePrompts = anArray(1, Number.POSITIVE_INFINITY)

export function readTextRequest(json: unknown): TextRequest {
  const body = aBody(json)
  const ignored: string[] = []
  refuseUnsupported(body, WHY)
  noteUnknown(body, KNOWN, '', ignored)
  optional(body, 'user', '', aString)
  const n = optional(body, 'n', '', aChoiceCount) ?? 1
  if ((optional(body, 'best_of', '', aChoiceCount) ?? n) !== n) {
    throw unsupported('best_of', "All answers are returned: use 'n' instead.")
  }
  const model = required(body, 'model', '', aString)
  const prompts = required(body, 'prompt', '', readPrompts)
  if (n * prompts.length > MOST_ANSWERS) throw tooManyAnswers(prompts.length, n)
  const suffix = optional(body, 'suffix', '', aString)
  if (suffix && prompts.some((prompt) => typeof prompt !== 'string')) {
    throw unsupported('suffix', 'It needs a prompt that is a text, not tokens.')
  }
  const topLogprobs = optional(body, 'logprobs', '', aTopCount)
  const echo = optional(body, 'echo', '', aBoolean) ?? false
  if (echo && suffix && topLogprobs !== undefined) {
    throw unsupported('echo', "'echo', 'suffix' and 'logprobs' cannot be combined: leave one of them out.")
  }
  // What the official description says of this endpoint.
  const limit = body.max_tokens == null ? 'n_predict' : 'max_tokens'
  const maxTokens = body[limit] == null ? 16 : aTokenLimit(body[limit], limit)
  const form = readForm(body, readOutputFormat(body, ignored), FIELDS.format, ignored)
  const stream = optional(body, 'stream', '', aBoolean) ?? false
  const options = optional(body, 'stream_options', '', anObject)
  if (options) noteUnknown(options, KNOWN_STREAM_OPTIONS, 'stream_options', ignored)
  return {
    stream,
    returnsTokens: readReturnTokens(body).returnTokens === true,
    includeUsage: (options && optional(options, 'include_usage', 'stream_options', aBoolean)) ?? false,
    echo,
    ignored,
    spec: {
      model,
      messages: [],
      prompt: prompts[0]!,
      ...(prompts.length > 1 && { prompts }),
      ...(suffix && { suffix }),
      n: n * prompts.length,
      maxTokens,
      ...readEnding(body, maxTokens),
      ...readReturnTokens(body),
      // What tokens spell comes with them.
      ...(echo && prompts.some((prompt) => typeof prompt !== 'string') && { returnTokens: true }),
      sampling: readSampling(body),
      topLogprobs,
      ...(echo && topLogprobs !== undefined && { promptLogprobs: true }),
      output: form.output,
      tools: [],
      toolChoice: 'none',
      parallelToolCalls: true,
      fields: withNames({ ...FIELDS, ...(body.return_token_ids !== true && { tokens: 'echo' }) }, form.outputField),
    },
  }
}

function tooManyAnswers(prompts: number, n: number) {
  const message = `Invalid value for 'n': ${prompts} prompts with ${n} answers each are ${prompts * n} answers, and one request may ask for ${MOST_ANSWERS}. Send several requests.`
  return badRequest('n', message, 'invalid_value')
}

/** A text, the tokens of one, or a list of either. */
function readPrompts(value: unknown, param: string): (string | readonly number[])[] {
  if (!Array.isArray(value)) {
    if (typeof value === 'string') return [aText(value, param)]
    throw wrongType(param, 'a string or an array', value)
  }
  const items = somePrompts(value, param)
  if (typeof items[0] === 'number') return [someTokens(items, param)]
  if (items.length > MOST_PROMPTS) anArray(1, MOST_PROMPTS)(items, param)
  return items.map((item, i) => {
    const place = at(param, i)
    if (Array.isArray(item)) return someTokens(somePrompts(item, place), place)
    return aText(item, place)
  })
}

const someTokens = (items: readonly unknown[], param: string) => items.map((item, i) => aToken(item, at(param, i)))

function aText(value: unknown, param: string): string {
  const text = aString(value, param)
  if (text === '') throw badRequest(param, `Invalid '${param}': the prompt is empty.`, 'empty_string')
  return text
}
