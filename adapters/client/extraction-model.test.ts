import { afterAll, describe, expect, it } from 'vitest'
import type { ExtractCall, FieldAnswer } from '../../src/contract/engine.js'
import { scripted } from '../../src/engines/scripted.js'
import { createV1 } from '../../src/index.js'
import { localV1 } from '../ai-sdk.js'
import type { Extracting } from './extraction-model.js'

const calls: ExtractCall[] = []
/** Each field is found where its name stands. */
const found = ({ state, fields }: ExtractCall): FieldAnswer[] =>
  fields.map(({ name, type }) => {
    const start = state.indexOf(name)
    if (start < 0) return { refused: true }
    const span = { start, end: start + name.length }
    if (type === 'list') return { value: [name, name], items: [{ confidence: 0.5, span }, {}], confidence: 0.5 }
    if (type === 'date') return { value: null, guess: '2026-03-04', pNull: 0.75 }
    return { value: name, guess: name, confidence: 0.5, pNull: 0.25, span }
  })
const engine = {
  ...scripted({ models: { 'test/extracts': '' }, capabilities: { extractions: true } }),
  async extract(call: ExtractCall) {
    calls.push(call)
    const usage = { promptTokens: 9, completionTokens: 2, cachedTokens: 0 }
    return { answers: found(call), truncated: false, usage }
  },
}
const v1 = createV1({ engine, keys: 'none', log: () => {} })
afterAll(() => v1.close())
const model = localV1(v1).extractionModel('test/extracts')
const TEXT = { type: 'text', text: 'an 🍏 apple' } as const

describe('extractionModel', () => {
  it('answers fields under their names, with sources in the part that says them', async () => {
    const { answers, usage, warnings } = await model.doExtract({
      state: [TEXT, { type: 'json', value: { pear: 1 } }, { type: 'text', text: 'a plum, a fig' }],
      fields: {
        apple: { type: 'text', instructions: { which: 'fruit' } },
        pear: { type: 'text', instructions: null },
        plum: { type: 'list', items: 'text' },
        fig: { type: 'date' },
        lemon: { type: 'number', unit: 'kg', integer: true, decimals: 2 },
        '"}\na': { type: 'text' },
      },
      referenceDate: '2026-11-24',
    })
    const sure = { guess: 'apple', confidence: 0.5, pNull: 0.25 }
    expect(answers).toEqual({
      apple: { type: 'text', value: 'apple', ...sure, source: { type: 'text', part: 0, start: 6, end: 11 } },
      pear: { type: 'text', value: 'pear', ...sure, guess: 'pear' },
      plum: {
        type: 'list',
        value: ['plum', 'plum'],
        confidence: 0.5,
        items: [{ confidence: 0.5, source: { type: 'text', part: 2, start: 2, end: 6 } }, {}],
      },
      fig: { type: 'date', value: null, guess: '2026-03-04', pNull: 0.75 },
      lemon: { type: 'refusal' },
      '"}\na': { type: 'refusal' },
    })
    expect(TEXT.text.slice(6, 11)).toBe('apple')
    expect(usage).toEqual({ inputTokens: 9, outputTokens: 2 })
    expect(warnings).toEqual([])
    expect(calls.at(-1)).toMatchObject({
      state: 'an 🍏 apple\n{"pear":1}\na plum, a fig',
      referenceDate: '2026-11-24',
      fields: [
        { name: 'apple', instructions: '{"which":"fruit"}' },
        { name: 'pear' },
        { items: 'text' },
        {},
        { unit: 'kg', integer: true, decimals: 2 },
        {},
      ],
    })
  })

  it('says what says nothing, refuses by name, and leaves where it is left', async () => {
    const ask = (call: Partial<Extracting>) =>
      model.doExtract({ state: [TEXT], fields: { apple: { type: 'text' } }, ...call })
    const { warnings } = await ask({ maxOutputTokens: 5, reasoning: 'high' })
    expect(warnings.map(({ feature }) => feature)).toEqual(['maxOutputTokens', 'reasoning'])
    await expect(ask({ state: [{ type: 'file', data: { type: 'data' } }] })).rejects.toMatchObject({
      param: 'state[0]',
    })
    await expect(ask({ referenceDate: 'today' })).rejects.toMatchObject({ status: 400, param: 'reference_date' })
    await expect(ask({ abortSignal: AbortSignal.abort() })).rejects.toThrow()
  })
})
