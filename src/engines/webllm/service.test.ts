import { describe, expect, test } from 'vitest'
import { engineChecks } from '../../../test/contract/engine.js'
import { valid } from '../../../test/contract/speak.js'
import { createV1 } from '../../index.js'
import { isStretch } from '../../platform/borders.js'
import { WebLlmEngine } from './engine.js'
import { chatConfig, files, record, standInLibrary, WINDOW } from './stand-in.test-helper.js'

/** The same checks run over the real WebLLM: `npm run check:webllm`. */
describe('the service over WebLLM, as its stand-in behaves', () => {
  const engine = new WebLlmEngine(
    { log: () => {} },
    {
      loadLibrary: async () => standInLibrary([record('one')]).library,
      probeGpu: async () => ({ features: new Set<string>(), maxStorageBufferBindingSize: 2 ** 30 }),
      readText: async () => ({ ...files, chatConfig }),
    },
  )
  // It is listed although nobody has waited for WebLLM's own list.
  const { fetch } = createV1({ engine, keys: 'none' })
  const served = { fetch, model: 'test/one', contextLength: WINDOW, valid }

  test.each(engineChecks.map((check) => [check.name, check] as const))('%s', (_, check) => check.run(served))

  test('strings that are to be quotes are stretches of what was said, each with its place', async () => {
    const text = 'The old man, Ann Lee, sat by the sea for 1,250.00 days.'
    const schema = {
      type: 'object',
      properties: { who: { type: 'string' }, what: { type: ['string', 'null'], maxLength: 20 } },
      required: ['who', 'what'],
      additionalProperties: false,
    }
    const seen = new Set<string>()
    for (let seed = 0; seed < 12; seed++) {
      const format = { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } }
      const request = { model: 'test/one', messages: [{ role: 'user', content: text }], max_tokens: 60, seed }
      const response = await fetch(
        new Request('http://127.0.0.1/v1/chat/completions', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ ...request, response_format: format, quote: true, evidence: true }),
        }),
      )
      const { choices, error } = await response.json()
      expect(error).toBe(undefined)
      const [{ message, evidence }] = choices
      for (const [name, value] of Object.entries<string | null>(JSON.parse(message.content))) {
        if (value === null) continue
        seen.add(value)
        expect([value, isStretch(text, value)]).toEqual([value, true])
        const { start, end } = evidence[`/${name}`].source
        expect(text.slice(start, end)).toBe(value)
      }
    }
    expect(seen.size).toBeGreaterThan(4)
  })
})
