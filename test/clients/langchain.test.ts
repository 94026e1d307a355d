/** LangChain, the newest, which asks for Node 22 (what is used of it runs on Node 20 as well), and the last for Node 20. */
import type { AIMessage } from '@langchain/core/messages'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { scenario } from '../contract/scripts.js'
import { KEY, type Service, startService } from './service.js'

const SAID = 'Hello, wörld 🌍'
const [talks, calls] = [scenario['test/hello']!, scenario['test/tools']!]

describe.each(['langchain-openai-1.6', '@langchain/openai'])('%s', (name) => {
  let service: Service
  let ChatOpenAI: typeof import('@langchain/openai').ChatOpenAI
  beforeAll(async () => {
    const load = async (): Promise<typeof import('@langchain/openai')> => import(name)
    ;({ ChatOpenAI } = await load())
    const twice = { ...talks, first: [calls, talks, calls, talks] }
    service = await startService({ ...scenario, 'test/chat': twice, 'test/responses': twice })
  })
  afterAll(() => service?.close())

  const model = (name: string, useResponsesApi = false) =>
    new ChatOpenAI({
      ...{ model: name, apiKey: KEY, maxRetries: 0, useResponsesApi },
      configuration: { baseURL: service.baseURL },
    })
  const weather = { name: 'weather', description: 'Says how it is.', schema: z.object({ city: z.string() }) }

  test('invoke', async () => {
    const message = await model('test/hello').invoke([
      ['system', 'Be brief.'],
      ['human', 'Hello?'],
    ])
    expect(message.content).toBe(SAID)
    expect(message.usage_metadata).toMatchObject({ input_tokens: 12, output_tokens: 3, total_tokens: 15 })
  })

  test('stream', async () => {
    let text = ''
    for await (const chunk of await model('test/hello').stream('Hello?')) text += chunk.content
    expect(text).toBe(SAID)
  })

  test('withStructuredOutput', async () => {
    const schema = z.object({ city: z.string(), tags: z.array(z.string()) })
    const structured = model('test/json').withStructuredOutput(schema, { name: 'city' })
    expect(await structured.invoke('A city.')).toEqual({ city: 'Bern', tags: ['a'] })
    expect(service.probe('test/json').lastCall!.output).toMatchObject({
      type: 'json_schema',
      name: 'city',
      strict: true,
    })
  })

  test('bindTools', async () => {
    const message = await model('test/tools').bindTools([weather]).invoke('How is the weather?')
    expect(message.tool_calls).toMatchObject([{ id: 'call_one', name: 'weather', args: { city: 'Bern' } }])
  })

  test.each(['chat', 'responses'])('two turns with a tool in each, by %s', async (form) => {
    const bound = model(`test/${form}`, form === 'responses').bindTools([weather])
    const messages: Parameters<typeof bound.invoke>[0] & unknown[] = [{ role: 'system', content: 'Ask.' }]
    const ask = async (): Promise<AIMessage> => {
      const message = (await bound.invoke(messages)) as AIMessage
      messages.push(message)
      return message
    }
    for (const content of ['Weather?', 'And now?']) {
      messages.push({ role: 'user', content })
      for (const { id } of (await ask()).tool_calls!)
        messages.push({ role: 'tool', content: 'sunny', tool_call_id: id })
      expect((await ask()).text).toBe(SAID)
    }
    const received = service.probe(`test/${form}`).lastCall!.messages.map(({ role, content }) => `${role}: ${content}`)
    const turn = (question: string) => [`user: ${question}`, 'assistant: ', 'tool: sunny']
    expect(received).toEqual(['system: Ask.', ...turn('Weather?'), `assistant: ${SAID}`, ...turn('And now?')])
  })

  test('a refusal carries its status', async () => {
    await expect(model('test/nothing').invoke('Hello?')).rejects.toMatchObject({ status: 404 })
  })
})
