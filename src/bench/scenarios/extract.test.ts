import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { openCpuDevice } from '../../device/cpu/index.js'
import { compile } from '../../grammar/index.js'
import { openRepository } from '../../models/files/open.js'
import { coreCandidate } from '../candidates.js'
import { openExtraction } from '../extraction-subject.js'
import { EXTRACTIONS } from '../extractions.js'
import { FIELD_KINDS, kindsIn } from '../field-kinds.js'
import { openMadeUp } from '../made-up.js'
import type { Metric } from '../report.js'
import type { Subject } from '../subject.js'
import { extractScenario } from './extract.js'

const words = { id: 'local-v1/nano', from: fileURLToPath(new URL('../../../models/nano', import.meta.url)) }

describe('strict extraction', () => {
  it('leads made-up weights along right answers, in fewer passes with guesses, and tells of each kind of field', async () => {
    const options = { report: () => {}, signal: new AbortController().signal, cache: false } as const
    const { text } = await openRepository({ kind: 'folder', path: words.from }, options)
    const { weights } = openMadeUp('made-up/nano-like')
    const openDevice = () => openCpuDevice({ threads: 1 })
    // Whether guesses gain hangs on time: here all are made.
    const of = await openExtraction({ openDevice, weights, text, led: true, drafts: 'always' })
    const readings = await extractScenario(EXTRACTIONS.slice(0, 3)).run({
      extraction: async () => of,
    } as unknown as Subject)
    await of.close()
    const value = (metric: Metric) => readings.find((one) => one.metric === metric)?.value ?? Number.NaN
    expect(value('extract-guessing-ratio')).toBeCloseTo(value('extract-guessing') / value('extract-plain'))
    expect(value('extract-strict-ratio')).toBeCloseTo(value('extract-strict') / value('extract-plain'))
    expect(value('extract-guessing-passes')).toBeLessThan(value('extract-passes'))
    expect(value('extract-right-string')).toBeGreaterThan(0)
    for (const kind of FIELD_KINDS) {
      if (Number.isNaN(value(`extract-saved-${kind}`))) continue
      expect(value(`extract-saved-${kind}`)).toBeLessThanOrEqual(100)
      expect(value(`extract-right-${kind}`)).toBeLessThanOrEqual(100)
    }
  })

  it.each([
    ['have no words that mean anything', 'nano-like', undefined],
    ['are too few for those words', 'pico-like', words],
  ])('is left out where made-up weights %s', async (_, shape, words) => {
    const options = { name: 'it', model: `made-up/${shape}`, device: 'cpu', threads: 1, words } as const
    const subject = await coreCandidate(options).open()
    expect(extractScenario().suits(subject)).toBe(false)
    await subject.close()
  })

  it('has answers that satisfy their schemas, and stand in its order', () => {
    for (const { schema, answer } of EXTRACTIONS) expect(compile(schema).accepts(JSON.stringify(answer))).toBe(true)
  })
})

describe('kinds of fields', () => {
  it('are told by bytes of the answer, up to where the next name begins', () => {
    const properties = {
      name: { type: 'string' },
      day: { type: 'string', format: 'date' },
      kind: { enum: ['a', 'b'] },
      counts: { type: 'array', items: { type: 'integer' } },
    }
    const text = '{"name":"Zoë","day":"2026-03-04","kind":"a","counts":[1,2]}'
    const at = kindsIn(text, { type: 'object', properties })
    const kindAt = (part: string) => at(new TextEncoder().encode(text.slice(0, text.indexOf(part))).length)
    expect(kindAt('{')).toBe('form')
    expect(kindAt('"Zoë')).toBe('string')
    expect(kindAt(',"day')).toBe('string')
    expect(kindAt('"day')).toBe('form')
    expect(kindAt('"2026')).toBe('date')
    expect(kindAt('"a"')).toBe('enum')
    expect(kindAt('[1')).toBe('list')
    expect(kindAt('2]')).toBe('list')
  })
})
