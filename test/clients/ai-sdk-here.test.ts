import { embedMany, generateObject, generateText, rerank, stepCountIs, streamObject, streamText, tool } from 'ai'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { localV1 } from '../../adapters/ai-sdk.js'
import { scripted } from '../../src/engines/scripted.js'
import { createV1, type RankCall } from '../../src/index.js'
import { scenarioEngine } from '../contract/scenario.js'
import { scenario } from '../contract/scripts.js'

const script = { ...scenario, 'test/tools-then-text': { ...scenario['test/hello'], first: [scenario['test/tools']!] } }
const v1 = createV1({ engine: scenarioEngine(script), keys: 'none', log: () => {} })
const local = localV1(v1)
afterAll(() => v1.close())

describe('the AI SDK without HTTP', () => {
  test('generateText and streamText', async () => {
    const { text, usage } = await generateText({ model: local('test/hello'), prompt: 'Hello?' })
    expect(text).toBe('Hello, wörld 🌍')
    expect(usage).toMatchObject({ inputTokens: 12, outputTokens: 3 })
    const pieces: string[] = []
    for await (const piece of streamText({ model: local('test/hello'), prompt: 'Hello?' }).textStream)
      pieces.push(piece)
    expect(pieces.join('')).toBe('Hello, wörld 🌍')
    expect(pieces.length).toBeGreaterThan(1)
  })

  test('generateObject and streamObject, which are strict', async () => {
    const requests: unknown[] = []
    const engine = scripted({
      models: {
        'test/object': (call) => {
          requests.push(call.output)
          return '{"city":"Oslo"}'
        },
      },
    })
    const model = localV1(createV1({ engine, keys: 'none' }))('test/object')
    const schema = z.object({ city: z.string() })
    expect((await generateObject({ model, schema, prompt: 'Where?' })).object).toEqual({ city: 'Oslo' })
    const streamed = streamObject({ model, schema, prompt: 'Where?' })
    for await (const _ of streamed.partialObjectStream);
    expect(await streamed.object).toEqual({ city: 'Oslo' })
    expect(requests).toMatchObject([{ type: 'json_schema', strict: true }, { type: 'json_schema' }])
  })

  test('tools, to the end of the conversation', async () => {
    const seen: unknown[] = []
    const weather = tool({
      inputSchema: z.object({ city: z.string() }),
      execute: async (input) => {
        seen.push(input)
        return 'sunny'
      },
    })
    const tools = { weather }
    const { text, steps } = await generateText({
      model: local('test/tools-then-text'),
      prompt: 'Weather?',
      tools,
      stopWhen: stepCountIs(3),
    })
    expect(seen).toEqual([{ city: 'Bern' }])
    expect(steps).toHaveLength(2)
    expect(text).toBe('Hello, wörld 🌍')
  })

  test('embedMany', async () => {
    const engine = scripted({
      models: { 'test/embed': '' },
      capabilities: { embeddings: true },
      embed: (input) => [String(input).length, 1],
    })
    const model = localV1(createV1({ engine, keys: 'none' })).embeddingModel('test/embed')
    expect((await embedMany({ model, values: ['a', 'bcd'] })).embeddings).toEqual([
      [1, 1],
      [3, 1],
    ])
  })

  test('rerank, of texts and of objects', async () => {
    const requests: RankCall[] = []
    const engine = {
      ...scripted({ models: { 'test/rank': '' }, capabilities: { rerank: true } }),
      async rank(call: RankCall) {
        requests.push(call)
        return { scores: call.documents.map((each) => each.length / 100), promptTokens: 1 }
      },
    }
    const model = localV1(createV1({ engine, keys: 'none' })).rerankingModel('test/rank')
    const { ranking } = await rerank({ model, query: 'Q', documents: ['a', 'bcd', 'ef'], topN: 2 })
    expect(ranking).toEqual([
      { originalIndex: 1, score: 0.03, document: 'bcd' },
      { originalIndex: 2, score: 0.02, document: 'ef' },
    ])
    await rerank({ model, query: 'Q', documents: [{ a: 1 }] })
    expect(requests.map(({ documents }) => documents)).toEqual([['a', 'bcd', 'ef'], ['{"a":1}']])
    const refused = rerank({ model: localV1(v1).rerankingModel('test/hello'), query: 'Q', documents: ['a'] })
    await expect(refused).rejects.toThrow('test/hello')
  })

  test('leaving stops the model', async () => {
    const engine = scenarioEngine(scenario)
    const model = localV1(createV1({ engine, keys: 'none', log: () => {} }))('test/thinking')
    const leaving = new AbortController()
    const result = generateText({ model, prompt: 'x', abortSignal: leaving.signal, maxRetries: 0 })
    await expect.poll(() => engine.probe('test/thinking').active).toBe(1)
    leaving.abort()
    await expect(result).rejects.toThrow()
    await expect.poll(() => engine.probe('test/thinking')).toMatchObject({ active: 0, aborted: 1 })
  })
})
