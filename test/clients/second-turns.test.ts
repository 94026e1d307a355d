/** What agents do between one request and the next, by the official client: restarts, other tools, answers out of order. */
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ChatCall, Part } from '../../src/contract/engine.js'
import { type Step, scripted } from '../../src/engines/scripted.js'
import { createV1, folderResponses, type V1 } from '../../src/index.js'
import { until } from '../contract/speak.js'
import { ownFolder } from '../support/own-folder.js'

const model = 'test/agent'
const folder = ownFolder()
let v1: V1
let client: OpenAI
let calls: ChatCall[] = []
/** The next answer waits, once it has begun. */
let held: { begun: () => void; goOn: Promise<void> } | undefined

async function* agent(call: ChatCall): AsyncIterable<Step> {
  calls.push(call)
  const now = held
  held = undefined
  const made = call.messages.at(-1)?.role === 'tool' ? [] : call.tools
  for (const [index, { name }] of made.entries()) {
    yield { type: 'tool-call-delta', choice: 0, index, id: `call_${calls.length}${name}`, name, arguments: '{"x":' }
    now?.begun()
    await now?.goOn
    yield { type: 'tool-call-delta', choice: 0, index, arguments: '1}' }
  }
  if (made.length === 0) yield { type: 'text-delta', choice: 0, text: 'Done' }
  if (made.length === 0) now?.begun()
  await now?.goOn
  if (made.length === 0) yield { type: 'text-delta', choice: 0, text: '.' }
  yield { type: 'finish', choice: 0, reason: made.length > 0 ? 'tool_calls' : 'stop' } satisfies Part
}

function start(): void {
  const engine = scripted({ models: { [model]: agent } })
  v1 = createV1({ engine, keys: 'none', responses: folderResponses(folder), log: () => {} })
  client = new OpenAI({
    baseURL: 'http://device.test/v1',
    apiKey: 'none',
    maxRetries: 0,
    fetch: (url, init) => v1.fetch(new Request(url, init as RequestInit)),
  })
}
beforeAll(async () => {
  start()
})
afterAll(() => v1.close())

/** Holds the next answer when it has begun, until `goOn`. */
function hold(): { begun: Promise<void>; goOn: () => void } {
  let [begin, goOn] = [() => {}, () => {}]
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  held = {
    begun: begin,
    goOn: new Promise<void>((resolve) => {
      goOn = resolve
    }),
  }
  return { begun, goOn: () => goOn() }
}

const tool = (name: string) => ({ type: 'function' as const, name, parameters: { type: 'object' }, strict: false })
const result = (id: string, output: string) => ({ type: 'function_call_output' as const, call_id: id, output })
const received = () => calls.at(-1)!.messages.map(({ role, content }) => `${role}: ${content}`)
const saidIn = async (id: string) => {
  const texts: string[] = []
  for await (const item of client.conversations.items.list(id, { order: 'asc' }))
    if (item.type === 'message') texts.push(item.content.map((part) => ('text' in part ? part.text : '')).join(''))
  return texts
}

test('calls made at once are answered in another order, with other tools, by a server that was started anew', async () => {
  const { id, output } = await client.responses.create({ model, input: 'Go.', tools: [tool('a'), tool('b')] })
  const ids = output.flatMap((item) => (item.type === 'function_call' ? [item.call_id] : []))
  expect(ids).toHaveLength(2)
  await v1.close()
  start()
  const input = [result(ids[1]!, 'B'), result(ids[0]!, 'A')]
  const request = { model, previous_response_id: id, input, tools: [tool('c')] }
  expect((await client.responses.create(request)).output_text).toBe('Done.')
  expect(received()).toEqual(['user: Go.', 'assistant: ', 'tool: B', 'tool: A'])
  expect(calls.at(-1)!.tools.map(({ name }) => name)).toEqual(['c'])
  // One without the other is refused by name, as is what was never asked for.
  await expect(client.responses.create({ ...request, input: [input[0]!] })).rejects.toThrow(ids[0])
  await expect(client.responses.create({ ...request, input: [...input, result('call_z', 'Z')] })).rejects.toThrow(
    'call_z',
  )
})

test('who leaves in the middle of a call goes on as if it had not been asked for', async () => {
  const { id } = await client.conversations.create({})
  const { begun, goOn } = hold()
  const request = { model, input: 'Go.', tools: [tool('a')], conversation: id }
  const stream = await client.responses.create({ ...request, stream: true })
  let seen = false
  const reading = (async () => {
    for await (const event of stream) seen ||= event.type === 'response.function_call_arguments.delta'
  })()
  await begun
  await until(async () => seen, Boolean)
  stream.controller.abort()
  goOn()
  // Quietly, as behind a socket.
  await reading
  calls = []
  await client.responses.create({ model, input: 'Stop that.', conversation: id })
  expect(received()).toEqual(['user: Stop that.'])
  expect(await saidIn(id)).toEqual(['Stop that.', 'Done.'])
})

test('a call that was cut off may stand in a history', async () => {
  const input = [
    { role: 'user' as const, content: 'Go.' },
    { type: 'function_call' as const, call_id: 'call_1', name: 'a', arguments: '{"x":' },
    result('call_1', 'aborted'),
    { role: 'user' as const, content: 'Again.' },
  ]
  expect((await client.responses.create({ model, input })).output_text).toBe('Done.')
})

test('what is said while an answer is written is kept, and told in the next', async () => {
  const { id } = await client.conversations.create({})
  const { begun, goOn } = hold()
  const answer = client.responses.create({ model, input: 'Go.', conversation: id })
  await begun
  await client.conversations.items.create(id, { items: [{ type: 'message', role: 'user', content: 'Meanwhile.' }] })
  goOn()
  await answer
  await client.responses.create({ model, input: 'And?', conversation: id })
  expect((await saidIn(id)).sort()).toEqual(['And?', 'Done.', 'Done.', 'Go.', 'Meanwhile.'])
  expect(received()).toContain('user: Meanwhile.')
})

test('a compacted conversation is gone on from by the id of what followed it', async () => {
  const first = await client.responses.create({ model, input: 'Go.' })
  const { output } = await client.responses.compact({ model, previous_response_id: first.id })
  const input = [...output, { role: 'user' as const, content: 'And?' }] as OpenAI.Responses.ResponseInput
  const second = await client.responses.create({ model, input })
  await client.responses.create({ model, previous_response_id: second.id, input: 'More?' })
  expect(received()).toEqual(['user: Go.', 'system: Done.', 'user: And?', 'assistant: Done.', 'user: More?'])
})
