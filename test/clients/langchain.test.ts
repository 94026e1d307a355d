import { ChatOpenAI } from '@langchain/openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { scenario } from '../contract/scripts.js'
import { KEY, type Service, startService } from './service.js'

describe("LangChain's ChatOpenAI", () => {
  let service: Service
  beforeAll(async () => {
    service = await startService(scenario)
  })
  afterAll(() => service?.close())

  const model = (name: string) =>
    new ChatOpenAI({ model: name, apiKey: KEY, maxRetries: 0, configuration: { baseURL: service.baseURL } })

  test('invoke', async () => {
    const message = await model('test/hello').invoke([
      ['system', 'Be brief.'],
      ['human', 'Hello?'],
    ])
    expect(message.content).toBe('Hello, wörld 🌍')
    expect(message.usage_metadata).toMatchObject({ input_tokens: 12, output_tokens: 3, total_tokens: 15 })
  })

  test('stream', async () => {
    let text = ''
    for await (const chunk of await model('test/hello').stream('Hello?')) text += chunk.content
    expect(text).toBe('Hello, wörld 🌍')
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
    const weather = { name: 'weather', description: 'Says how it is.', schema: z.object({ city: z.string() }) }
    const message = await model('test/tools').bindTools([weather]).invoke('How is the weather?')
    expect(message.tool_calls).toMatchObject([{ id: 'call_one', name: 'weather', args: { city: 'Bern' } }])
  })

  test('a refusal carries its status', async () => {
    await expect(model('test/nothing').invoke('Hello?')).rejects.toMatchObject({ status: 404 })
  })
})
