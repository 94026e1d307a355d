import { describe, expect, it } from 'vitest'
import type { ExtractCall } from '../../contract/engine.js'
import { createV1 } from '../../service/v1.js'
import { errorOf, jsonOf, posting, serviceOf } from '../../service/v1.test-helper.js'
import { scripted } from '../scripted.js'
import { fallback, upstream } from '../upstream.js'

const NAMES = { 'cluster/reads': 'test/reads' }
const STATE = 'Total 1,250.00, contacts Ana and Bo.'
const FIELDS = {
  total: { type: 'number', unit: 'EUR', decimals: 2, null_threshold: 0.25 },
  who: { type: 'list', items: 'text', instructions: 'the contacts' },
  day: { type: 'date' },
  no: { type: 'text' },
}

/** A service of ours that passes on by `send`. */
function passing(send: (url: string, init: RequestInit) => Promise<Response>) {
  const engine = upstream({
    baseURL: 'http://localhost/v1',
    models: NAMES,
    capabilities: { extractions: true },
    fetch: send,
  })
  const { ask } = serviceOf(engine)
  const post = (body: object) =>
    ask('/extractions', posting({ model: 'cluster/reads', state: STATE, fields: FIELDS, ...body }))
  return { engine, post }
}

/** Our own service in front of another of our services, which keeps what it is asked. */
function chained() {
  const calls: ExtractCall[] = []
  const behind = createV1({
    engine: {
      ...scripted({ models: { 'test/reads': '' }, capabilities: { extractions: true } }),
      async extract(call) {
        calls.push(call)
        return {
          answers: [
            { value: 1250, guess: 1250, confidence: 0.75, pNull: 0.125, span: { start: 6, end: 14 } },
            { value: ['Ana', 'Bo'], confidence: 0.5, items: [{ confidence: 0.5, span: { start: 25, end: 28 } }, {}] },
            { value: null, guess: '2026-01-02' },
            { refused: true },
          ],
          truncated: false,
          usage: { promptTokens: 9, completionTokens: 4, cachedTokens: 2 },
        }
      },
    },
    keys: 'none',
    log: () => {},
  })
  return { calls, ...passing((url, init) => behind.fetch(new Request(url, init))) }
}

describe('upstream extracts', () => {
  it('as the other service does, with all that was asked', async () => {
    const { post, calls } = chained()
    const answer = await post({ reference_date: '2026-11-25', locale: 'de-CH' })
    const { id, ...body } = jsonOf(answer)
    expect(body).toEqual({
      object: 'extraction',
      model: 'cluster/reads',
      answers: {
        total: { type: 'number', value: 1250, guess: 1250, confidence: 0.75, p_null: 0.125, span: [6, 14] },
        who: {
          type: 'list',
          value: ['Ana', 'Bo'],
          confidence: 0.5,
          spans: [[25, 28], null],
          items: [{ confidence: 0.5, span: [25, 28] }, {}],
        },
        day: { type: 'date', value: null, guess: '2026-01-02' },
        no: { type: 'refusal' },
      },
      truncated: false,
      usage: {
        input_tokens: 9,
        input_tokens_details: { cached_tokens: 2 },
        output_tokens: 4,
        total_tokens: 13,
      },
    })
    expect(calls).toMatchObject([{ model: 'test/reads', state: STATE, referenceDate: '2026-11-25', locale: 'de-CH' }])
    expect(calls[0]!.fields).toEqual([
      { name: 'total', type: 'number', unit: 'EUR', decimals: 2, nullThreshold: 0.25 },
      { name: 'who', type: 'list', items: 'text', instructions: 'the contacts', nullThreshold: 0.5 },
      { name: 'day', type: 'date', nullThreshold: 0.5 },
      { name: 'no', type: 'text', nullThreshold: 0.5 },
    ])
  })

  it('says where the other service has no /extractions, and what else it refuses', async () => {
    for (const status of [404, 405]) {
      const { post } = passing(async () => Response.json({ detail: 'Not Found' }, { status }))
      const error = errorOf(await post({}))
      expect(error).toMatchObject({ code: 'unsupported_model', param: 'model' })
      expect(error.message).toContain('has no /extractions')
    }
    const missing = passing(async () => Response.json({ message: 'No test/reads here.' }, { status: 404 }))
    expect(errorOf(await missing.post({})).message).toBe('No test/reads here.')
    expect((await passing(async () => Response.json({ error: {} }, { status: 429 })).post({})).status).toBe(429)
  })

  it('takes no answer that is none, and no place that is not in the text', async () => {
    const sent = (answers: unknown) => passing(async () => Response.json({ answers })).post
    const fields = { total: { type: 'number' }, who: { type: 'list', items: 'text' } }
    const who = { type: 'list', value: ['Ana'], items: [{ span: [25, 99] }, null] }
    const fine = jsonOf(await sent({ total: { type: 'number', value: 7, span: [9, 2], guess: {} }, who })({ fields }))
    expect(fine.answers).toEqual({
      total: { type: 'number', value: 7 },
      who: { type: 'list', value: ['Ana'], spans: [null, null], items: [{}, {}] },
    })
    for (const answers of [
      undefined,
      {},
      { total: { type: 'text', value: '7' }, who },
      { total: { type: 'number', value: '7' }, who },
      { total: { type: 'number', value: 7 }, who: { type: 'list', value: [7] } },
      { total: { type: 'number', value: 7 }, who: null },
    ]) {
      expect(errorOf(await sent(answers)({ fields })).code).toBe('upstream_error')
    }
  })

  it('behind a device that has no such model', async () => {
    const { engine, calls } = chained()
    const { ask } = serviceOf(fallback(scripted({ models: { 'test/here': 'Hi' } }), engine))
    const body = JSON.stringify({ model: 'cluster/reads', state: STATE, fields: FIELDS })
    const answer = await ask('/extractions', { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    expect(jsonOf(answer).answers.total.value).toBe(1250)
    expect(calls).toHaveLength(1)
  })
})
