import fc from 'fast-check'
import { SAMPLING } from '../src/contract/sampling.js'
import type { EndpointEntry } from '../src/service/answer/service.js'
import { messages } from '../src/service/endpoints/messages/index.js'
import { ollama } from '../src/service/endpoints/ollama/index.js'
import { ENDPOINTS } from '../src/service/endpoints.js'

export const MODEL = 'test/hello'
export const KEY = 'sk-fuzz'

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
  'stop',
  'seed',
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
  'include_forced',
  'allowed_tools',
  ...['task', 'use_activation', 'add_special_tokens', 'truncate_prompt_tokens', 'encoding_format', 'embed_dtype'],
  ...['input', 'instructions', 'previous_response_id', 'background', 'truncation', 'include', 'reasoning', 'format'],
  ...['call_id', 'output', 'summary', 'encrypted_content', 'status', 'max_output_tokens', 'conversation'],
  ...['prompt', 'suffix', 'echo', 'best_of', 'return_token_ids', 'tokens', 'dimensions', 'encoding_format'],
  ...['system', 'max_tokens', 'stop_sequences', 'thinking', 'budget_tokens', 'display', 'output_config', 'effort'],
  ...['input_schema', 'tool_use_id', 'is_error', 'signature', 'source', 'media_type', 'data', 'cache_control'],
  ...['query', 'documents', 'top_n', 'return_documents', 'truncate'],
  ...['state', 'questions', 'choices', 'levels', 'criteria', 'value', 'label', 'order', 'calibrated', 'images'],
  ...['evidence', 'quote'],
  ...['fields', 'items', 'unit', 'integer', 'decimals', 'null_threshold', 'reference_date', 'locale', 'assets'],
  ...[
    'structured_outputs',
    'guided_json',
    'guided_regex',
    'guided_choice',
    'guided_grammar',
    'grammar',
    'regex',
    'choice',
  ],
  ...Object.values(SAMPLING).map(({ wire }) => wire),
  ...['min_tokens', 'stop_token_ids', 'ignore_eos', 'thinking_budget'],
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
  ...['message', 'function_call', 'function_call_output', 'reasoning', 'item_reference', 'compaction'],
  ...['tool_use', 'tool_result', 'thinking', 'image', 'document', 'enabled', 'any', 'custom'],
  ...['input_text', 'output_text', 'summary_text', 'base64', 'float', 'high', 'resp_x'],
  ...['predicate', 'choice', 'score', 'noul', 'input_json', 'input_image', 'custom_tool_call', 'average'],
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
  'x-quote',
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
const option = fc.oneof(
  fc.constantFrom<unknown>({ value: 'a' }, { value: 'b', description: 'x' }, { value: true }, { value: '' }),
  fc.constantFrom<unknown>({ label: 'a' }, { label: 'b' }, { label: 5 }),
  json,
)
const question = fc.record(
  {
    type: fc.constantFrom<unknown>('predicate', 'choice', 'score', 'noul', 5),
    instructions: fc.oneof(fc.constant('Is it?'), json),
    name: fc.oneof(fc.constant('n'), json),
    choices: fc.array(option, { maxLength: 3 }),
    levels: fc.array(option, { maxLength: 3 }),
    criteria: fc.oneof(fc.dictionary(fc.constantFrom('a', 'b', '', '__proto__'), json), fc.array(json), json),
  },
  { requiredKeys: ['type'] },
)
const field = fc.oneof(
  fc.record(
    {
      type: fc.constantFrom<unknown>(
        ...['text', 'number', 'date', 'time', 'datetime', 'duration', 'list', 'estimate'],
        5,
      ),
      instructions: fc.oneof(fc.constant('Which?'), json),
      unit: fc.constantFrom<unknown>('days', 'kg', '', 5),
      items: fc.constantFrom<unknown>('text', 'number', 'date', 'list', 5),
      integer: fc.constantFrom<unknown>(true, 'x'),
      decimals: fc.constantFrom<unknown>(0, 6, 7, -1, 0.5),
      null_threshold: fc.constantFrom<unknown>(0, 0.5, 1, 2, 'x'),
    },
    { requiredKeys: ['type'] },
  ),
  json,
)
const names = fc.constantFrom('a', 'b', 'due date', '__proto__', 'constructor', '', '"}\n', '\ud800')
const plausible = fc
  .record({
    model: fc.constantFrom<unknown>(MODEL, MODEL, MODEL, 'no/such', 5),
    messages: fc.oneof(
      fc.constant([{ role: 'user', content: 'Hi' }]),
      fc.array(fc.oneof(fc.constant({ role: 'user', content: 'Hi' }), message), { maxLength: 4 }),
    ),
    stream: fc.constantFrom<unknown>(true, false, undefined),
    max_tokens: fc.constantFrom<unknown>(undefined, undefined, 9, 0),
    // What other endpoints than chat are asked by.
    input: fc.oneof(fc.constantFrom<unknown>('Hi', ['Hi', 'Ho'], [1, 2], [{ role: 'user', content: 'Hi' }]), json),
    prompt: fc.oneof(fc.constantFrom<unknown>('Hi', ['Hi', [1, 2]], [3, 4]), json),
    tokens: fc.constantFrom<unknown>([72, 105], [], [-1], undefined),
    query: fc.constantFrom<unknown>('Hi', undefined, 5),
    documents: fc.constantFrom<unknown>(['a', 'b'], [], undefined),
    state: fc.oneof(fc.constantFrom<unknown>('Hi', null, ['Hi'], { a: 1 }), json),
    questions: fc.oneof(
      fc.array(question, { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', '__proto__', ''), question),
    ),
    fields: fc.oneof(
      { weight: 4, arbitrary: fc.dictionary(names, field, { maxKeys: 3 }) },
      { weight: 1, arbitrary: json },
    ),
    reference_date: fc.constantFrom<unknown>(undefined, undefined, '2026-11-24', '2026-02-30', 'tomorrow', 5),
    locale: fc.constantFrom<unknown>(undefined, undefined, 'de', 'x-no', '', 5),
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
/** Every endpoint there is, asked as the table has it or for what nobody has. */
const every = [...ENDPOINTS, ...([...messages().endpoints, ...ollama().endpoints] as readonly EndpointEntry[])]
const endpoints = every.map(({ path }) => path.replace('{model}', MODEL))
const anyEndpoint = fc
  .tuple(fc.constantFrom(...endpoints), fc.oneof(fc.constantFrom('resp_x', '%', '..'), fc.string({ maxLength: 9 })))
  .map(([each, id]) => each.replace(/\{\w+\}/g, encodeURIComponent(id.replace(/\p{Surrogate}/gu, ''))))
const path = fc.oneof(
  { weight: 8, arbitrary: anyEndpoint },
  { weight: 8, arbitrary: fc.constant('/chat/completions') },
  { weight: 4, arbitrary: fc.constantFrom('/decisions', '/systemone', '/extractions', '/extraction') },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ...['/models', '/models/test/hello', '/models/test%2Fhello', '/models/%', '', '/', '//'],
      ...['/models/test/hello/load', '/models/test%2Fhello/unload', '/models/test/no/load', '/models/load'],
    ),
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

export const hostileTo = (paths: readonly string[]): fc.Arbitrary<Hostile> =>
  fc.tuple(hostile, fc.constantFrom(...paths)).map(([each, path]) => ({ ...each, path }))
