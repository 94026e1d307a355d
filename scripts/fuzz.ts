import fc from 'fast-check'
import type { ChatCall } from '../src/engine.js'
import { type Script, type Step, scripted } from '../src/engines/scripted.js'
import { createV1, V1Error } from '../src/index.js'

export const MODEL = 'test/hello'
const KEY = 'sk-fuzz'

/** What a client might send, before it becomes a `Request`. */
export interface Hostile {
  readonly method: string
  readonly path: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: Uint8Array | string | undefined
  /** The body comes in pieces of this many bytes and without a length; 0: at once. */
  readonly pieces: number
  /** The client leaves after so many reads of the answer. */
  readonly leaveAfter: number
}

const FIELDS = [
  'model',
  'messages',
  'stream',
  'stream_options',
  'n',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'stop',
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'response_format',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'reasoning_effort',
  'chat_template_kwargs',
  'user',
  'metadata',
  'store',
  'service_tier',
  'functions',
  'function_call',
  'audio',
  'modalities',
  'prediction',
  'role',
  'content',
  'name',
  'type',
  'text',
  'tool_calls',
  'tool_call_id',
  'function',
  'arguments',
  'id',
  'parameters',
  'strict',
  'json_schema',
  'schema',
  'description',
  'include_usage',
  'allowed_tools',
  'mode',
  '__proto__',
  'constructor',
  'toString',
  '',
  'ä',
  '\u0000',
]
const WORDS = [
  'test/hello',
  'system',
  'developer',
  'user',
  'assistant',
  'tool',
  'function',
  'text',
  'image_url',
  'json_object',
  'json_schema',
  'auto',
  'none',
  'required',
  'object',
  'string',
  'call_1',
  'Hi',
  '\ud800',
  '__proto__',
  '',
]
const SCHEMA_WORDS = [
  'type',
  'properties',
  'required',
  'items',
  'enum',
  'const',
  'pattern',
  'minLength',
  'maxItems',
  'anyOf',
  '$ref',
  '$defs',
  'additionalProperties',
  'format',
  'minimum',
  'not',
  'allOf',
  'oneOf',
  '$id',
  '$schema',
]

const leaf = fc.oneof(
  fc.constantFrom(...WORDS),
  fc.constantFrom(0, 1, -1, 2, 0.5, 128, 1e308, -1e308, 2 ** 53, Number.MAX_VALUE),
  fc.constantFrom(true, false, null),
  fc.string({ maxLength: 20, unit: 'binary' }),
  fc.double(),
)
/** JSON that knows the words of the interface, and puts them where they do not belong. */
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4, depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...FIELDS, ...SCHEMA_WORDS), tie('json'), { maxKeys: 5 }),
  ),
}))

const message = fc.record(
  { role: fc.constantFrom('system', 'user', 'assistant', 'tool'), content: json },
  { requiredKeys: [] },
)
const plausible = fc
  .record({
    model: fc.constantFrom<unknown>(MODEL, MODEL, MODEL, 'no/such', 5),
    messages: fc.oneof(
      fc.constant([{ role: 'user', content: 'Hi' }]),
      fc.array(fc.oneof(fc.constant({ role: 'user', content: 'Hi' }), message), { maxLength: 4 }),
    ),
    stream: fc.constantFrom<unknown>(true, false, undefined),
  })
  .chain((base) =>
    fc.dictionary(fc.constantFrom(...FIELDS), json, { maxKeys: 2 }).map((more) => ({ ...base, ...more })),
  )
const formatted = fc.record({ schema: json, strict: fc.constantFrom(true, false, null) }).map(({ schema, strict }) => ({
  model: MODEL,
  messages: [{ role: 'user', content: 'Hi' }],
  response_format: { type: 'json_schema', json_schema: { name: 'x', strict, schema } },
}))
const text = (value: unknown): string => JSON.stringify(value) ?? ''
const body: fc.Arbitrary<Uint8Array | string | undefined> = fc.oneof(
  { weight: 8, arbitrary: plausible.map(text) },
  { weight: 2, arbitrary: formatted.map(text) },
  { weight: 2, arbitrary: json.map(text) },
  { weight: 1, arbitrary: fc.tuple(plausible.map(text), fc.nat(300)).map(([all, at]) => all.slice(0, at)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }) },
  { weight: 1, arbitrary: fc.nat(3000).map((depth) => '['.repeat(depth) + ']'.repeat(depth)) },
  { weight: 1, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.constant(`"${'x'.repeat(20_000)}"`) },
)
const path = fc.oneof(
  { weight: 8, arbitrary: fc.constant('/chat/completions') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('/models', '/models/test/hello', '/models/test%2Fhello', '/models/%', '', '/', '//'),
  },
  { weight: 1, arbitrary: fc.webPath().map((any) => `/models${any}`) },
  {
    weight: 1,
    arbitrary: fc
      .dictionary(
        fc.constantFrom('start_time', 'end_time', 'limit', 'page', 'group_by', 'bucket_width', 'models[]'),
        fc.oneof(fc.nat().map(String), fc.string()),
      )
      .map((query) => `/organization/usage/completions?${new URLSearchParams(query)}`),
  },
)
const header = fc.oneof(
  fc.tuple(
    fc.constantFrom(
      'openai-project',
      'compat-project',
      'origin',
      'content-type',
      'content-encoding',
      'content-length',
      'authorization',
      'accept',
      'x-request-id',
    ),
    fc.string({ maxLength: 20 }),
  ),
  fc.tuple(fc.constantFrom('openai-project'), fc.constantFrom('a/b', 'a', 'a/b/c')),
)

export const hostile: fc.Arbitrary<Hostile> = fc.record({
  method: fc.oneof(
    { weight: 9, arbitrary: fc.constant('POST') },
    { weight: 3, arbitrary: fc.constantFrom('GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH', 'QUERY') },
  ),
  path,
  headers: fc
    .array(header, { maxLength: 2 })
    .map((extra) => [
      ['authorization', `Bearer ${KEY}`] as const,
      ['content-type', 'application/json'] as const,
      ...(extra.length > 1 ? extra : []),
    ]),
  body,
  pieces: fc.constantFrom(0, 0, 0, 1, 7),
  leaveAfter: fc.constantFrom(99, 99, 99, 0, 1),
})

/** Keeps to the grammar as far as it can guess, and refuses where it cannot: a wrong document would be a 500. */
function obedient({ grammar, n }: ChatCall): Script {
  if (!grammar) return 'Hi there.'
  const said = ['{}', '[]', 'null', 'true', '0', '1', '""', '"Hi"', '{"id":0}'].find((guess) => grammar.accepts(guess))
  return said === undefined ? [new V1Error(400, 'No such document is known.')] : spoken(said, n)
}

function spoken(text: string, n: number): Step[] {
  return Array.from({ length: n }, (_, choice): Step[] => [
    { type: 'text-delta', choice, text },
    { type: 'finish', choice, reason: 'stop' },
  ]).flat()
}

const TIME_LIMIT = 5000

export function fuzzTarget(): { try: (each: Hostile) => Promise<string | undefined> } {
  const faults: unknown[] = []
  const v1 = createV1({
    engine: scripted({ models: { [MODEL]: obedient } }),
    keys: [KEY],
    cors: ['https://app.example'],
    bodyLimit: 16_384,
    maxInFlight: 4,
    log: (event) => event.type === 'fault' && faults.push(event.message),
  })
  return {
    /** What is wrong with the answer; undefined when all is well. */
    async try(each) {
      const request = requestOf(each)
      if (!request) return undefined
      let timer: ReturnType<typeof setTimeout> | undefined
      const late = new Promise<string>((resolve) => {
        timer = setTimeout(resolve, TIME_LIMIT, 'it hangs')
      })
      const wrong = await Promise.race([late, judge(await v1.fetch(request), each)])
      clearTimeout(timer)
      return wrong ?? (faults.length > 0 ? `faults: ${faults.join()}` : undefined)
    },
  }
}

/** Undefined for what the platform itself refuses to send. */
function requestOf({ method, path, headers, body, pieces }: Hostile): Request | undefined {
  try {
    const all = new Headers()
    for (const [name, value] of headers) all.append(name, value)
    const bare = method === 'GET' || method === 'HEAD' || body === undefined
    const sent = bare ? undefined : pieces > 0 ? inPieces(body, pieces) : body
    return new Request(`http://x/v1${path}`, { method, headers: all, body: sent, duplex: 'half' } as RequestInit)
  } catch {
    return undefined
  }
}

function inPieces(body: Uint8Array | string, size: number): ReadableStream<Uint8Array> {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  let at = 0
  // Many small pieces, but not twenty thousand of them.
  const step = Math.max(size, bytes.length >> 6)
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close()
      controller.enqueue(bytes.subarray(at, at + step))
      at += step
    },
  })
}

async function judge(response: Response, { method, leaveAfter }: Hostile): Promise<string | undefined> {
  const { status, headers } = response
  if (!/^req_/.test(headers.get('x-request-id') ?? '')) return 'it has no request id'
  const streams = headers.get('content-type')?.startsWith('text/event-stream')
  if (streams && leaveAfter < 99) return leave(response, leaveAfter)
  const text = await response.text()
  if (status >= 500) return `${status} ${text}`
  if (streams && !text.endsWith('data: [DONE]\n\n')) return `the stream ends with ${text.slice(-300)}`
  if (status < 400 || method === 'HEAD') return undefined
  return errorFault(text)
}

async function leave(response: Response, reads: number): Promise<undefined> {
  const reader = response.body!.getReader()
  for (let i = 0; i < reads; i++) await reader.read()
  await reader.cancel()
}

function errorFault(text: string): string | undefined {
  const { error } = JSON.parse(text)
  const strings = typeof error.message === 'string' && typeof error.type === 'string'
  const orNull = [error.param, error.code].every((each) => each === null || typeof each === 'string')
  if (!strings || !orNull || Object.keys(error).length !== 4) return `no error of OpenAI's form: ${text}`
  return undefined
}
