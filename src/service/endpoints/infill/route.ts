import type { Part, V1Error } from '../../../contract/index.js'
import { isRecord, type JsonObject } from '../../../platform/index.js'
import { answering } from '../../answer/answering.js'
import { readJson } from '../../answer/body.js'
import { lookedAround } from '../../answer/loader.js'
import type { Route, Service } from '../../answer/service.js'
import { sseEvent } from '../../stream/sse.js'
import { aBody, aBoolean, anArray, aString, at, noteUnknown, optional, required } from '../../wire/fields.js'
import { newId } from '../../wire/ids.js'
import type { Answer, CallSpec, Reply, ReplyHead } from '../../wire/reply.js'
import { readEnding, readSampling, SAMPLING_FIELDS, tokenLimit } from '../../wire/sampling.js'

/** `POST infill`: what stands between two texts, as plugins for editors ask llama.cpp's server. */
export const infill: Route = (service, exchange) =>
  answering(service, exchange, async ({ signal }) => {
    const body = aBody(await readJson(service, exchange, signal))
    const request = readInfillRequest(body, await modelOf(service, body, signal))
    return { spec: request.spec, reply: replyTo(request), id: newId('cmpl-'), ignored: request.ignored }
  })

/** That server has one model; here it is named where there are several. */
async function modelOf({ engine }: Service, { model }: JsonObject, signal: AbortSignal): Promise<string | undefined> {
  if (model != null) return undefined
  await lookedAround(engine, signal)
  return engine.models.length === 1 ? engine.models[0]!.id : undefined
}

interface InfillRequest {
  readonly spec: CallSpec
  readonly stream: boolean
  /** Of a response these alone are told, each under its path. */
  readonly fields: readonly string[] | undefined
  /** Nothing is to be written: a plugin only warms a cache. */
  readonly silent: boolean
  readonly ignored: readonly string[]
}

const OWN = ['model', 'input_prefix', 'input_suffix', 'prompt', 'n_predict', 'stream', 'response_fields'] as const
const REPEATS = ['repetition_penalty', 'repeat_penalty'] as const
const wireName = (name: string) => (name === REPEATS[0] ? REPEATS[1] : name)
/** What plugins send of other texts, of samplers and of times is ignored and named. */
const KNOWN = new Set<string>([...OWN, ...SAMPLING_FIELDS.map(wireName)])

const aTokenLimit = tokenLimit(0)
const someFields = anArray(0, 100)

/** `only`: the model where none is named. */
function readInfillRequest(body: JsonObject, only: string | undefined): InfillRequest {
  const ignored: string[] = []
  noteUnknown(body, KNOWN, '', ignored)
  const prefix = required(body, 'input_prefix', '', aString)
  const suffix = required(body, 'input_suffix', '', aString)
  // The line in which the gap is, up to the gap.
  const begun = optional(body, 'prompt', '', aString) ?? ''
  const maxTokens = optional(body, 'n_predict', '', aTokenLimit)
  const fields = optional(body, 'response_fields', '', someFields)
  const seed = body.seed === -1 ? undefined : body.seed
  const sampling = Object.fromEntries(SAMPLING_FIELDS.map((name) => [name, body[wireName(name)]]))
  return {
    stream: optional(body, 'stream', '', aBoolean) ?? false,
    fields: fields?.map((field, i) => aString(field, at('response_fields', i))),
    silent: maxTokens === 0,
    ignored,
    spec: {
      model: only ?? required(body, 'model', '', aString),
      messages: [],
      prompt: prefix + begun,
      suffix,
      n: 1,
      maxTokens: maxTokens === 0 ? 1 : maxTokens,
      ...readEnding(body, maxTokens),
      sampling: readSampling({ ...sampling, seed }, wireName),
      topLogprobs: undefined,
      output: { type: 'text' },
      tools: [],
      toolChoice: 'none',
      parallelToolCalls: true,
      fields: { format: 'prompt', parameters: () => 'prompt', suffix: 'input_suffix', sampling: wireName },
    },
  }
}

function replyTo(request: InfillRequest): Reply {
  let head: ReplyHead
  let answer: Answer
  let firstAt = 0
  const began = (given: ReplyHead, to: Answer) => {
    ;[head, answer, firstAt] = [given, to, performance.now()]
    return ''
  }
  const whole = (content: string) => chosen(bodyOf(head, answer, firstAt, content), request.fields)
  if (!request.stream) {
    return {
      stream: false,
      begin: began,
      part() {},
      whole: () => whole(request.silent ? '' : answer.choices[0]!.text),
    }
  }
  return {
    stream: true,
    begin: began,
    part(part: Part) {
      if (part.type !== 'text-delta' || part.text === '' || request.silent) return ''
      return sseEvent(JSON.stringify(chosen({ index: 0, content: part.text, stop: false }, request.fields)))
    },
    end: () => sseEvent(JSON.stringify(whole(''))),
    failed: (error: V1Error) => sseEvent(JSON.stringify(error)),
  }
}

/** Times begin when the engine is called. */
function bodyOf({ model, calledAt }: ReplyHead, { choices, usage }: Answer, firstAt: number, content: string) {
  const { text, finish, stop } = choices[0]!
  const { promptTokens, completionTokens, cachedTokens } = usage
  return {
    index: 0,
    content,
    model,
    stop: true,
    stop_type: stop !== undefined ? 'word' : finish === 'length' ? 'limit' : 'eos',
    stopping_word: stop ?? '',
    has_new_line: text.includes('\n'),
    truncated: false,
    tokens_evaluated: promptTokens,
    tokens_predicted: completionTokens,
    tokens_cached: promptTokens + completionTokens,
    timings: {
      cache_n: cachedTokens,
      ...timed('prompt', promptTokens - cachedTokens, firstAt - calledAt),
      ...timed('predicted', completionTokens, performance.now() - firstAt),
    },
  }
}

function timed(phase: 'prompt' | 'predicted', tokens: number, ms: number): Readonly<Record<string, number>> {
  return {
    [`${phase}_n`]: tokens,
    [`${phase}_ms`]: ms,
    [`${phase}_per_token_ms`]: tokens > 0 ? ms / tokens : 0,
    [`${phase}_per_second`]: ms > 0 ? (1000 * tokens) / ms : 0,
  }
}

/** `timings/prompt_n` is told under this name; what is not there is left out. */
function chosen(body: JsonObject, fields: readonly string[] | undefined): JsonObject {
  if (!fields) return body
  const found = (path: string) =>
    path.split('/').reduce<unknown>((within, name) => (isRecord(within) ? within[name] : undefined), body)
  return Object.fromEntries(
    fields.map((path) => [path, found(path)] as const).filter(([, value]) => value !== undefined),
  )
}
