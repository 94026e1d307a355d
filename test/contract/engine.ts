/**
 * What a chat model behind `/v1` must keep, whatever it says: over stand-ins in our tests, over the real thing in scripts,
 * in any runtime. It asks for few tokens, because a GPU in software takes seconds for each.
 */

import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

export interface Served {
  fetch(request: Request): Promise<Response>
  readonly model: string
  /** Its context, which a prompt is made to exceed. */
  readonly contextLength: number
  /** Looks at answers against OpenAI's description of the wire, where that is at hand. */
  valid?(name: string, value: unknown): unknown
}

export interface Check {
  readonly name: string
  run(served: Served): Promise<void>
}

interface Completion {
  readonly created: number
  readonly id: string
  readonly choices: readonly {
    readonly finish_reason: string
    readonly message: {
      readonly content: string | null
      readonly tool_calls?: readonly { readonly function: { readonly name: string; readonly arguments: string } }[]
    }
    readonly logprobs: { readonly content: readonly Logprob[] } | null
  }[]
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly total_tokens: number }
}

interface Logprob {
  readonly logprob: number
  readonly top_logprobs: readonly { readonly logprob: number }[]
}

const USER = [{ role: 'user', content: 'Hi' }]
const greedy = { temperature: 0, max_tokens: 3 }

const schema = {
  type: 'object',
  properties: {
    ok: { type: 'boolean' },
    unit: { enum: ['celsius', 'kelvin'] },
    day: { type: 'integer', minimum: 5, maximum: 9 },
  },
  required: ['ok', 'unit', 'day'],
  additionalProperties: false,
}
const strictly = (wanted: unknown) => ({
  response_format: { type: 'json_schema', json_schema: { name: 'it', strict: true, schema: wanted } },
})

/** Nested and recursive, listed and chosen, texts and numbers under rules. */
const kindsOfSchema = [
  {
    $ref: '#/$defs/node',
    $defs: {
      node: {
        type: 'object',
        properties: { id: { type: 'integer' }, next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } },
        required: ['id', 'next'],
        additionalProperties: false,
      },
    },
  },
  {
    type: 'object',
    properties: {
      tags: { type: 'array', items: { enum: ['a', 'b', 3, null] }, minItems: 1, maxItems: 3 },
      code: { type: 'string', pattern: '^[A-Z]{2}-[0-9]{3}$' },
    },
    required: ['tags', 'code'],
    additionalProperties: false,
  },
  {
    type: 'object',
    properties: {
      day: { type: 'string', format: 'date' },
      share: { type: 'number', minimum: 0, exclusiveMaximum: 1 },
      größe: { const: 'groß' },
    },
    required: ['day', 'share', 'größe'],
    additionalProperties: false,
  },
]

export const engineChecks: readonly Check[] = [
  {
    name: 'the list names the model',
    async run(served) {
      const { status, json } = await ask(served, '/models')
      equal(status, 200)
      served.valid?.('ListModelsResponse', json)
      const { data } = json as { data: { id: string; root: string }[] }
      ok(
        data.some(({ id, root }) => id === served.model && root === id),
        'it is listed',
      )
    },
  },
  {
    name: 'the smallest strict document',
    async run(served) {
      const properties = { a: { type: 'boolean' } }
      const wanted = { type: 'object', properties, required: ['a'], additionalProperties: false }
      const { choices } = await complete(served, { messages: [{ role: 'user', content: '?' }], ...strictly(wanted) })
      equal(choices[0]!.finish_reason, 'stop')
      ok(['{"a":true}', '{"a":false}'].includes(choices[0]!.message.content!), 'one of the two')
    },
  },
  {
    name: 'a completion: greedy is the same again, streamed too, and counts what it took',
    async run(served) {
      const one = await complete(served, greedy)
      const again = await complete(served, greedy)
      equal(again.choices[0]!.message.content, one.choices[0]!.message.content)
      ok(again.id !== one.id, 'each has an id of its own')
      ok(Math.abs(one.created - Date.now() / 1000) < 3600, 'created is in seconds')
      const { prompt_tokens, completion_tokens, total_tokens } = one.usage
      ok(completion_tokens >= 1 && completion_tokens <= 3, 'it keeps to max_tokens')
      equal(total_tokens, prompt_tokens + completion_tokens)
      const { text, usage } = await streamed(served, { ...greedy, stream_options: { include_usage: true } })
      equal(text, one.choices[0]!.message.content)
      equal(usage?.prompt_tokens, prompt_tokens)
      equal(usage?.completion_tokens, completion_tokens)
    },
  },
  {
    name: 'a seed draws the same tokens again',
    async run(served) {
      const drawn = async () => (await complete(served, { seed: 7, max_tokens: 3 })).choices[0]!.message.content
      equal(await drawn(), await drawn())
    },
  },
  {
    name: 'the greedy token is the most likely one',
    async run(served) {
      const { choices } = await complete(served, { ...greedy, logprobs: true, top_logprobs: 2 })
      const tokens = choices[0]!.logprobs!.content
      ok(tokens.length > 0, 'there are log probabilities')
      for (const { logprob, top_logprobs } of tokens) equal(logprob, top_logprobs[0]!.logprob)
    },
  },
  {
    name: 'strict JSON satisfies its schema, also in the fewest tokens',
    async run(served) {
      const { error } = await refused(served, { ...strictly(schema), max_tokens: 1 }, 400)
      equal(error.code, 'max_tokens_too_small')
      const fewest = Number(/takes (\d+) tokens/.exec(error.message)![1])
      for (const max_tokens of [fewest, fewest + 20]) {
        const { choices } = await complete(served, { ...strictly(schema), max_tokens, seed: max_tokens })
        equal(choices[0]!.finish_reason, 'stop')
        const it = JSON.parse(choices[0]!.message.content!) as Record<string, unknown>
        equal(Object.keys(it).join(), 'ok,unit,day')
        ok(typeof it.ok === 'boolean' && ['celsius', 'kelvin'].includes(it.unit as string), 'ok and unit')
        ok(Number.isInteger(it.day) && (it.day as number) >= 5 && (it.day as number) <= 9, 'day')
      }
    },
  },
  {
    name: 'strict JSON satisfies schemas of every kind',
    async run(served) {
      const ajv = new Ajv2020({ strict: false })
      formats.default(ajv)
      for (const [seed, wanted] of kindsOfSchema.entries()) {
        const { choices } = await complete(served, { ...strictly(wanted), max_tokens: 60, seed })
        equal(choices[0]!.finish_reason, 'stop')
        const content = choices[0]!.message.content!
        ok(ajv.validate(wanted, JSON.parse(content)), `${content} satisfies ${JSON.stringify(wanted)}`)
      }
    },
  },
  {
    name: 'a schema that cannot be enforced is refused, and the model goes on',
    async run(served) {
      const { error } = await refused(served, strictly({ type: 'nonsense' }), 400)
      equal(error.param, 'response_format')
      await complete(served, { max_tokens: 1 })
    },
  },
  {
    name: 'a required tool is called as its parameters say',
    async run(served) {
      const parameters = {
        type: 'object',
        properties: { city: { enum: ['Paris', 'Lyon'] } },
        required: ['city'],
        additionalProperties: false,
      }
      const tools = [{ type: 'function', function: { name: 'weather', strict: true, parameters } }]
      const body = { tools, tool_choice: 'required', parallel_tool_calls: false, max_tokens: 120 }
      const { choices } = await complete(served, body)
      equal(choices[0]!.finish_reason, 'tool_calls')
      const [call] = choices[0]!.message.tool_calls!
      equal(call!.function.name, 'weather')
      ok(['Paris', 'Lyon'].includes((JSON.parse(call!.function.arguments) as { city: string }).city), 'city')
    },
  },
  {
    name: 'every role and content in parts are read; several choices are told apart',
    async run(served) {
      const messages = [
        { role: 'developer', content: 'B' },
        { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
        { role: 'assistant', content: 'C' },
        { role: 'user', content: 'D' },
      ]
      // A choice that ends at once has no token: without chance none does.
      const { choices, usage } = await complete(served, { messages, n: 2, max_tokens: 1, temperature: 0 })
      equal(choices.length, 2)
      equal(usage.completion_tokens, 2)
    },
  },
  {
    name: 'a prompt that does not fit is refused with its length',
    async run(served) {
      const messages = [{ role: 'user', content: 'é '.repeat(served.contextLength) }]
      equal((await refused(served, { messages }, 400)).error.code, 'context_length_exceeded')
    },
  },
  {
    name: 'who leaves stops the answer, and the next one is as if nothing had been',
    async run(served) {
      const before = (await complete(served, greedy)).choices[0]!.message.content
      const aborter = new AbortController()
      const response = await served.fetch(request(served, { stream: true }, aborter.signal))
      const reader = response.body!.getReader()
      await reader.read()
      aborter.abort()
      await reader.read().catch(() => {})
      equal((await complete(served, greedy)).choices[0]!.message.content, before)
    },
  },
  {
    name: 'two at once are answered as if each were alone',
    async run(served) {
      const alone = (await complete(served, greedy)).choices[0]!.message.content
      const both = await Promise.all([
        complete(served, greedy),
        complete(served, { ...greedy, ...strictly(schema), max_tokens: 60 }),
      ])
      equal(both[0].choices[0]!.message.content, alone)
      JSON.parse(both[1].choices[0]!.message.content!)
    },
  },
]

function request({ model }: Served, body: object, signal?: AbortSignal): Request {
  return new Request('http://device/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: USER, ...body }),
    ...(signal && { signal }),
  })
}

async function ask({ fetch }: Served, path: string): Promise<{ status: number; json: unknown }> {
  const response = await fetch(new Request(`http://device/v1${path}`))
  return { status: response.status, json: await response.json() }
}

async function complete(served: Served, body: object): Promise<Completion> {
  const response = await served.fetch(request(served, body))
  const text = await response.text()
  equal(response.status, 200, text)
  const completion = JSON.parse(text) as Completion
  served.valid?.('CreateChatCompletionResponse', completion)
  return completion
}

interface Refusal {
  readonly error: { readonly message: string; readonly code: string | null; readonly param: string | null }
}

async function refused(served: Served, body: object, status: number): Promise<Refusal> {
  const response = await served.fetch(request(served, body))
  const text = await response.text()
  equal(response.status, status, text)
  const refusal = JSON.parse(text) as Refusal
  served.valid?.('ErrorResponse', refusal)
  return refusal
}

async function streamed(served: Served, body: object): Promise<{ text: string; usage?: Completion['usage'] | null }> {
  const response = await served.fetch(request(served, { ...body, stream: true }))
  const frames = (await response.text()).split('\n\n').filter((frame) => frame !== '')
  equal(frames.pop(), 'data: [DONE]')
  let text = ''
  let usage: Completion['usage'] | null | undefined
  for (const frame of frames) {
    const chunk = JSON.parse(frame.slice('data: '.length))
    served.valid?.('CreateChatCompletionStreamResponse', chunk)
    text += chunk.choices[0]?.delta.content ?? ''
    usage = chunk.usage
  }
  return { text, usage }
}

/** Not a test framework's: this also runs in pages. */
function ok(holds: boolean, what: string): void {
  if (!holds) throw new Error(`does not hold: ${what}`)
}

function equal(found: unknown, expected: unknown, where = ''): void {
  if (!Object.is(found, expected)) throw new Error(`${String(found)} instead of ${String(expected)} ${where}`)
}
