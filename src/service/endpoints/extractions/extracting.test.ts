import { describe, expect, it } from 'vitest'
import type { Engine } from '../../../contract/engine.js'
import { setUp } from '../../../generate/testing/call.test-helper.js'
import { jsonOf, MODEL, serviceOf } from '../../v1.test-helper.js'
import { fieldsAtOnce } from './extracting.js'

/** Long against what is written about it. */
const STATE = `${'The cat sat on the mat and the dog sat on the cat. '.repeat(20)}Total due: $1,250.00 by 4 March 2026.`

/** The decode loop itself over a model without weights, whose steps are counted. */
function decoding({ evidence = true, ...options }: Parameters<typeof setUp>[0] & { evidence?: boolean } = {}) {
  const { model, decoder } = setUp({ contextLength: 8192, pages: 4096, ...options })
  const engine: Engine = {
    version: 2,
    models: [{ id: MODEL, ownedBy: 'test', capabilities: { ...decoder.capabilities, evidence } }],
    generate: (call) => decoder.generate(call),
  }
  const { ask } = serviceOf(engine)
  const post = async (fields: object, signal?: AbortSignal, state = STATE) =>
    ask('/extractions', {
      method: 'POST',
      body: JSON.stringify({ model: MODEL, state, fields }),
      headers: { 'content-type': 'application/json' },
      ...(signal && { signal }),
    })
  return { model, decoder, post }
}

const fieldsOf = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`field${i}`, { type: i % 2 ? 'text' : 'number' }]))
const fed = (model: ReturnType<typeof decoding>['model']) =>
  model.steps.flat().reduce((sum, { tokens }) => sum + tokens, 0)

describe('fields of one text', () => {
  it('have it read once, and are generated in parallel', async () => {
    // Steps that take a while: whoever did not wait would begin while the text is still being read. Counted in turns of the
    // event loop, in which all fields get ready together, on however busy a machine.
    const before = async () => {
      for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve))
    }
    // What is read beside an answer for its evidence is none of its fields.
    const { model, post } = decoding({ before, evidence: false })
    // Numbers are few here, and soon written.
    const texts = Object.fromEntries(Object.keys(fieldsOf(8)).map((name) => [name, { type: 'text' }]))
    const answer = await post(texts)
    expect(answer.status).toBe(200)
    const { usage } = jsonOf(answer)
    // The text is by far the most of a prompt: had two of them read it, more than this would have been fed.
    expect(usage.input_tokens).toBeGreaterThan(400)
    expect(fed(model)).toBeLessThan(usage.input_tokens * 1.25 + usage.output_tokens * 2)
    const most = Math.max(...model.steps.map((step) => step.length))
    expect(most).toBeGreaterThan(1)
    // Whoever comes meanwhile finds a place in the batch.
    const together = fieldsAtOnce(new Array(8))
    expect(most).toBeLessThanOrEqual(together)
    expect(together).toBeLessThan(model.maxBatch)
  })

  it('wait for the first, whatever it tells before it has read the text', async () => {
    const { decoder } = setUp({ contextLength: 8192, pages: 4096 })
    const ids: string[] = []
    const begunBefore: (readonly [type: string, calls: number])[] = []
    const engine: Engine = {
      version: 2,
      models: [{ id: MODEL, ownedBy: 'test', capabilities: decoder.capabilities }],
      async *generate(call) {
        const isFirst = ids.push(call.id) === 1
        let hasRead = false
        for await (const part of decoder.generate(call)) {
          hasRead ||= part.type !== 'usage' && (part.type !== 'text-delta' || part.forced === undefined)
          yield part
          if (!isFirst || hasRead) continue
          for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
          begunBefore.push([part.type, ids.length])
        }
      },
    }
    const body = JSON.stringify({ model: MODEL, state: STATE, fields: fieldsOf(6) })
    const headers = { 'content-type': 'application/json' }
    expect((await serviceOf(engine).ask('/extractions', { method: 'POST', body, headers })).status).toBe(200)
    expect(new Map(begunBefore)).toEqual(
      new Map([
        ['usage', 1],
        ['text-delta', 1],
      ]),
    )
  })

  it('are calls of ids of their own: an engine elsewhere finds the grammar of each by it', async () => {
    const { decoder } = setUp({ contextLength: 8192, pages: 4096 })
    const ids: string[] = []
    const engine: Engine = {
      version: 2,
      models: [{ id: MODEL, ownedBy: 'test', capabilities: decoder.capabilities }],
      generate: (call) => {
        ids.push(call.id)
        return decoder.generate(call)
      },
    }
    const body = JSON.stringify({ model: MODEL, state: STATE, fields: fieldsOf(6) })
    const headers = { 'content-type': 'application/json' }
    expect((await serviceOf(engine).ask('/extractions', { method: 'POST', body, headers })).status).toBe(200)
    expect(ids.length).toBeGreaterThanOrEqual(6)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('are stretches of the text, whatever the model would write', async () => {
    const { answers } = jsonOf(await decoding().post(fieldsOf(12)))
    const values = Object.values<{ value: unknown; guess?: unknown }>(answers).flatMap(({ value, guess }) =>
      [value, guess].filter((one) => typeof one === 'string'),
    )
    expect(values.length).toBeGreaterThan(3)
    for (const one of values) expect(STATE).toContain(one)
  })

  it('have answers where a text has nothing to quote, and where it is too long to be looked through', async () => {
    for (const state of [' \n\u0301\n', 'a', `${'the '.repeat(40_000)}`]) {
      const answer = await decoding({ contextLength: 65_536, pages: 8192 }).post(fieldsOf(2), undefined, state)
      expect([state.length, jsonOf(answer).error]).toEqual([state.length, undefined])
    }
  })

  it('have room for what they are called, however long it is', async () => {
    const name = '\u{1f600}"'.repeat(85)
    const { answers, error } = jsonOf(await decoding().post({ [name]: { type: 'number' } }))
    expect([error, Object.keys(answers ?? {})]).toEqual([undefined, [name]])
  })

  it('have the same answers as alone', async () => {
    const fields = fieldsOf(4)
    const together = jsonOf(await decoding().post(fields)).answers
    for (const name of Object.keys(fields)) {
      // All are described in the prompt, so alone is not without the others: it is with room for one at a time.
      const alone = jsonOf(await decoding({ maxBatch: 1 }).post(fields)).answers
      expect(alone[name]).toEqual(together[name])
    }
  })

  it('leave nothing behind, whether finished or cancelled', async () => {
    const { model, decoder, post } = decoding()
    await post(fieldsOf(4))
    const kept = model.openSequences
    const left = new AbortController()
    const answer = post(fieldsOf(20), left.signal)
    setTimeout(() => left.abort(), 5)
    await answer.catch(() => undefined)
    while (!decoder.idle) await new Promise((resolve) => setTimeout(resolve, 1))
    expect(decoder.idle).toBe(true)
    expect(model.openSequences).toBeGreaterThanOrEqual(0)
    expect(kept).toBeLessThanOrEqual(32)
    await decoder.close()
    expect(model.openSequences).toBe(0)
  })
})
