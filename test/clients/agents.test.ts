/**
 * OpenAI's Agents SDK, the newest, which asks for Node 22 (what is used of it runs on Node 20 as well), and the last for
 * Node 20: two turns of a conversation with a tool in each, in every way that it keeps what was said.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { memoryResponses } from '../../src/service/endpoints/responses/store/shelved.js'
import { scenario } from '../contract/scripts.js'
import { KEY, type Service, startService } from './service.js'

const SAID = 'Hello, wörld 🌍'
const FORMS = ['responses', 'responses, streamed', 'previousResponseId', 'a session', 'chat completions'] as const
const [talks, calls] = [scenario['test/hello']!, scenario['test/tools']!]
/** As models here have them: the newest keeps one call of each id. */
const more = { parts: calls.parts!.map((part) => ('id' in part && part.id ? { ...part, id: 'call_two' } : part)) }
/** Calls its tool in both of two turns. */
const twice = { ...talks, first: [calls, talks, more, talks] }

describe.each(['@openai/agents', 'agents-0.13'])('%s', (name) => {
  let service: Service
  let sdk: Awaited<ReturnType<typeof load>>
  const load = async () => import(name)
  beforeAll(async () => {
    sdk = await load()
    const script = {
      ...scenario,
      ...Object.fromEntries([...FORMS, 'its own'].map((form) => [`test/${form}`, twice])),
    }
    // A server that holds one model under the name that the SDK asks for where nothing is said.
    const aliases = { [sdk.getDefaultModel()]: 'test/its own' }
    service = await startService(script, { responses: memoryResponses(), aliases })
  })
  afterAll(() => service?.close())

  const runner = (useResponses = true) =>
    new sdk.Runner({
      modelProvider: new sdk.OpenAIProvider({ baseURL: service.baseURL, apiKey: KEY, useResponses }),
      // Traces would go to OpenAI.
      tracingDisabled: true,
    })
  const asker = (model?: string) =>
    new sdk.Agent({
      name: 'Asker',
      instructions: 'Ask.',
      ...(model !== undefined && { model }),
      tools: [
        sdk.tool({
          name: 'weather',
          description: 'Says how it is.',
          parameters: z.object({ city: z.string() }),
          execute: async ({ city }: { city: string }) => `sunny in ${city}`,
        }),
      ],
    })

  /** Of the second turn: everything that was said in the first is told again, in its order. */
  function expectBoth(model: string) {
    const { started, lastCall } = service.probe(model)
    expect(started).toBe(4)
    const messages = lastCall!.messages.map(({ role, content }) => `${role}: ${content}`)
    const turn = (question: string) => [`user: ${question}`, 'assistant: ', 'tool: sunny in Bern']
    expect(messages).toEqual(['system: Ask.', ...turn('Weather?'), `assistant: ${SAID}`, ...turn('And now?')])
  }

  test.each(FORMS)('two turns by %s', async (form) => {
    const model = `test/${form}`
    const agent = asker(model)
    const by = runner(form !== 'chat completions')
    const stream = form === 'responses, streamed'
    const session =
      form === 'a session' && new sdk.OpenAIConversationsSession({ baseURL: service.baseURL, apiKey: KEY })
    const ask = async (input: unknown, more: object = {}) => {
      const result = await by.run(agent, input, { stream, ...(session && { session }), ...more })
      if (stream) await result.completed
      expect(result.finalOutput).toBe(SAID)
      return result
    }
    const first = await ask('Weather?')
    if (session) await ask('And now?')
    else if (form === 'previousResponseId') await ask('And now?', { previousResponseId: first.lastResponseId })
    else await ask([...first.history, { role: 'user', content: 'And now?' }])
    expectBoth(model)
  })

  test('two turns of an agent that names no model', async () => {
    const first = await runner().run(asker(), 'Weather?')
    const second = await runner().run(asker(), [...first.history, { role: 'user', content: 'And now?' }])
    expect([first.finalOutput, second.finalOutput]).toEqual([SAID, SAID])
    expectBoth('test/its own')
  })

  test.each([true, false])('an output of a type, by responses: %s', async (useResponses) => {
    const outputType = z.object({ city: z.string(), tags: z.array(z.string()) })
    const agent = new sdk.Agent({ name: 'Cities', instructions: 'Name one.', model: 'test/json', outputType })
    const first = await runner(useResponses).run(agent, 'A city.')
    const second = await runner(useResponses).run(agent, [...first.history, { role: 'user', content: 'Another.' }])
    expect([first.finalOutput, second.finalOutput]).toEqual([first.finalOutput, { city: 'Bern', tags: ['a'] }])
    expect(service.probe('test/json').lastCall!.output).toMatchObject({ type: 'json_schema', strict: true })
  })
})
