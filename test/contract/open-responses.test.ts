import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { express } from '../../adapters/express.js'
import { type Script, scripted } from '../../src/engines/scripted.js'
import { createV1, type V1 } from '../../src/index.js'
import { type Judges, judges, judgesAreHere } from '../../src/service/endpoints/responses/wire/judges.test-helper.js'

/**
 * The compliance tests of Open Responses (openresponses/openresponses, of 2026-04-24), under their own names: what each
 * asks and what must hold of the answer, over HTTP. The schemas are the specification's, and OpenAI's beside them.
 */

const MODEL = 'test/compliant'
const KEY = 'sk-compliance'

const user = (content: unknown) => ({ type: 'message', role: 'user', content })
const assistant = (content: string, phase?: string) => ({
  type: 'message',
  role: 'assistant',
  content,
  ...(phase && { phase }),
})
const location = { type: 'string', description: 'The city and state, e.g. San Francisco, CA' }
const weather = {
  type: 'function',
  name: 'get_weather',
  description: 'Get the current weather for a location',
  parameters: { type: 'object', properties: { location }, required: ['location'] },
}
const asksForWeather = { input: [user("What's the weather like in San Francisco?")], tools: [weather] }

interface Resource {
  readonly status: string
  readonly object: string
  readonly output: readonly { readonly type: string }[]
}

type Holds = (resource: Resource, events: readonly StreamEvent[]) => void
const completed: Holds = ({ status, output }) => {
  expect(status).toBe('completed')
  expect(output.length).toBeGreaterThan(0)
}
const calls: Holds = ({ output }) => expect(output.map(({ type }) => type)).toContain('function_call')
const tellsItsCall: Holds = (_, events) => {
  const ofType = (type: string) => events.filter((event) => event.type === type)
  for (const type of ['response.output_item.added', 'response.output_item.done']) {
    expect(ofType(type).map(({ item }) => item?.type)).toContain('function_call')
  }
  expect(ofType('response.function_call_arguments.delta').length).toBeGreaterThan(0)
  expect(ofType('response.function_call_arguments.done')).toHaveLength(1)
}

interface Compliance {
  readonly id: string
  readonly body: object
  readonly stream?: true
  readonly holds: readonly Holds[]
}

const TESTS: readonly Compliance[] = [
  { id: 'basic-response', body: { input: [user('Say hello in exactly 3 words.')] }, holds: [completed] },
  {
    id: 'assistant-phase',
    body: { input: [assistant('Let me see.', 'commentary'), assistant('It is four.', 'final_answer'), user('Again?')] },
    holds: [completed],
  },
  { id: 'streaming-response', body: { input: [user('Count from 1 to 5.')] }, stream: true, holds: [completed] },
  {
    id: 'system-prompt',
    body: { input: [{ type: 'message', role: 'system', content: 'You are a pirate.' }, user('Say hello.')] },
    holds: [completed],
  },
  { id: 'tool-calling', body: asksForWeather, holds: [completed, calls] },
  { id: 'tool-calling-streaming', body: asksForWeather, stream: true, holds: [completed, calls, tellsItsCall] },
  {
    id: 'multi-turn',
    body: { input: [user('My name is Alice.'), assistant('Hello Alice!'), user('What is my name?')] },
    holds: [completed],
  },
]

type StreamEvent = { readonly type: string; readonly response?: Resource; readonly item?: { readonly type: string } }

function eventsOf(text: string): StreamEvent[] {
  const frames = text.split('\n\n')
  expect(frames.splice(-2)).toEqual(['data: [DONE]', ''])
  return frames.map((frame) => JSON.parse(frame.replace(/^event: .*\ndata: /, '')) as StreamEvent)
}

const TERMINAL = ['response.completed', 'response.incomplete', 'response.failed']

/** Calls what it is given, as any model would that is asked for the weather. */
const model: Script = ({ tools: [tool] }) =>
  tool === undefined
    ? 'One, two, three.'
    : [
        { type: 'tool-call-delta', choice: 0, index: 0, name: tool.name, arguments: '{"location":' },
        { type: 'tool-call-delta', choice: 0, index: 0, arguments: '"San Francisco, CA"}' },
        { type: 'finish', choice: 0, reason: 'tool_calls' },
      ]

describe.skipIf(!judgesAreHere)('Open Responses, where its schemas lie beside the checkout', () => {
  let v1: V1
  let server: Server
  let url: string
  let judge: Judges
  beforeAll(async () => {
    judge = judges()
    v1 = createV1({ engine: scripted({ models: { [MODEL]: model } }), keys: [KEY], log: () => {} })
    server = createServer(express(v1))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/responses`
  })
  afterAll(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await v1.close()
  })

  const post = (body: object, path = '') =>
    fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
      body: JSON.stringify(body),
    })

  test.each(TESTS)('holds: $id', async ({ body, stream, holds }) => {
    const answer = await post({ model: MODEL, ...body, ...(stream && { stream }) })
    const text = await answer.text()
    expect(answer.status, text).toBe(200)
    const events = stream ? eventsOf(text) : []
    for (const event of events) expect(judge.event(event), JSON.stringify(event)).toEqual([])
    const last = events.find(({ type }) => TERMINAL.includes(type))
    const resource = (stream ? last?.response : JSON.parse(text)) as Resource
    expect(judge.response(resource)).toEqual([])
    for (const check of holds) check(resource, events)
  })

  test('compact-response', async () => {
    const input = [user('We agreed to launch on Tuesday and notify support first.'), assistant('Understood.')]
    const answer = await post({ model: MODEL, prompt_cache_key: 'openresponses-compact-test', input }, '/compact')
    const compaction = (await answer.json()) as Resource
    expect(answer.status).toBe(200)
    expect(judge.compaction(compaction)).toEqual([])
    expect(compaction.object).toBe('response.compaction')
    expect(compaction.output.map(({ type }) => type)).toContain('compaction')
  })

  test('compact-missing-model', async () => {
    const answer = await post({ input: [user('Compact this conversation.')] }, '/compact')
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ error: { param: 'model', code: 'missing_required_parameter' } })
  })

  test('response-output-phase-schema: the schemas here know phases', () => {
    const message = { id: 'msg_1', type: 'message', status: 'completed', role: 'assistant', phase: 'commentary' }
    const content = [{ type: 'output_text', text: 'Hm.', annotations: [], logprobs: [] }]
    const done = { type: 'response.output_item.done', sequence_number: 0, output_index: 0 }
    expect(judge.event({ ...done, item: { ...message, content } } as StreamEvent)).toEqual([])
    expect(judge.event({ ...done, item: { ...message, content, phase: 'neither' } } as StreamEvent)).not.toEqual([])
  })

  test('image-input is refused with an error that names its place and what to send instead', async () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' }
    const answer = await post({ model: MODEL, input: [user([{ type: 'input_text', text: 'What is it?' }, image])] })
    const { error } = (await answer.json()) as { error: { param: string; message: string } }
    expect([answer.status, error.param]).toEqual([400, 'input[0].content[1].type'])
    expect(error.message).toContain('Images are not supported: send text.')
  })

  test('websocket-*: the upgrade is refused, with what to send instead', async () => {
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      authorization: `Bearer ${KEY}`,
    }
    const { status, text } = await new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
      const sent = request(url, { headers }, (response) => {
        let text = ''
        response.on('data', (data) => {
          text += data
        })
        response.on('end', () => resolve({ status: response.statusCode, text }))
      })
      sent.on('error', reject)
      sent.end()
    })
    expect(status).toBe(405)
    const { error } = JSON.parse(text) as { error: { code: string; message: string } }
    expect(error.code).toBe('websocket_not_supported')
    expect(error.message).toContain("POST with 'stream' set to true")
  })
})
