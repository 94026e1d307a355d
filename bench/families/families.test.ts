import { describe, expect, it } from 'vitest'
import { barsOf, type Measured, verdictOf } from './bars.js'
import { blocksOf } from './blocks.js'
import { FULL } from './models.js'
import { formOf, labelOf, numbers, type Options, rowsOf, runsOf } from './plan.js'

const options: Options = { peers: 'none', rounds: 1, tokens: 1, seconds: 1 }

describe('rows of bench:families', () => {
  it('are decoding in families, and prompts and decoding of three whole models by one thread and by all', () => {
    expect(new Set(rowsOf([], options).map(({ what }) => what))).toEqual(new Set(['decode']))
    const full = rowsOf([], { ...options, full: true })
    const has = (key: 'type' | 'threads') => new Set(full.map((row) => row[key]))
    expect(has('type')).toEqual(new Set(['Q4_0', 'Q4_K_M', 'Q8_0', 'F16']))
    expect(has('threads')).toEqual(new Set([1, 2]))
    const kinds = new Set(full.map(({ what, length }) => `${what} ${length}`))
    expect(kinds).toEqual(new Set(['prompt 512', 'prompt 2048', 'decode 512', 'decode 8000']))
    expect(full).toHaveLength(FULL.length * 4 * 2 * 4)
  })

  it('are those that options name', () => {
    const some = rowsOf(['qwen2'], {
      ...options,
      full: true,
      prompts: [64],
      behind: [9, 8],
      threads: [2],
      type: ['F16'],
    })
    expect(some.map(labelOf)).toEqual([
      'Qwen2.5 0.5B F16, 2 threads, prompt of 64',
      'Qwen2.5 0.5B F16, 2 threads, decode behind 8',
      'Qwen2.5 0.5B F16, 2 threads, decode behind 9',
    ])
    const one = rowsOf([], { ...options, full: true, only: /135m q8_0, 1 thread, prompt of 512/i })
    expect(one.map(labelOf)).toEqual(['SmolLM2 135M Q8_0, 1 thread, prompt of 512'])
    expect(() => rowsOf(['nothing'], options)).toThrow('"nothing" is none of')
  })

  it('of one file are neighbours, so that it is written once', () => {
    const full = rowsOf([], { ...options, full: true })
    expect(runsOf(full, ({ family, type }) => `${family.like} ${type}`)).toHaveLength(FULL.length * 4)
  })

  it('take lists of whole numbers, and forms that there are', () => {
    expect(numbers('512,2048')).toEqual([512, 2048])
    for (const wrong of ['', '512,', '-1', '1.5', 'all']) expect(() => numbers(wrong)).toThrow('no whole number')
    expect(formOf('F16', ['Q8_0'])).toEqual(['Q8_0', 'F16'])
    expect(() => formOf('Q3_K')).toThrow('is none of Q4_0')
  })
})

describe('whole models', () => {
  it.each(FULL)('$like has as many weights as its name says', ({ like, sizes, vocabulary, layer }) => {
    const rows = Array.from({ length: sizes.layers }, (_, i) => layer((name) => `blk.${i}.${name}`, i)).flat()
    const inLayers = rows.reduce((sum, { dims }) => sum + dims.reduce((a, b) => a * b), 0)
    const [, number, unit] = like.match(/([\d.]+)([BM])$/)!
    const parameters = Number(number) * (unit === 'B' ? 1e9 : 1e6)
    const ratio = (inLayers + vocabulary! * sizes.hidden) / parameters
    expect(ratio).toBeGreaterThan(0.95)
    expect(ratio).toBeLessThan(1.25)
  })

  it('in F16 have small numbers of both signs', async () => {
    const { data } = blocksOf('F16', 64, 640, 'token_embd.weight', { layers: 1, head: 'token_embd.weight' })
    const bytes = await data()
    const halves = Array.from({ length: 640 }, (_, i) => bytes.readUInt16LE(2 * i))
    // An exponent of 2^-6, whatever is behind it.
    for (const half of halves) expect((half >> 10) & 31).toBe(9)
    expect(new Set(halves.map((half) => half >> 15)).size).toBe(2)
    expect(new Set(halves).size).toBeGreaterThan(300)
  })
})

describe('what was promised', () => {
  const [row] = rowsOf([], options)
  const rows = (what: 'prompt' | 'decode', ...ratios: number[]) =>
    ratios.map((ratio, i): Measured => ({ ...row!, what, ratio, label: `row ${i}` }))

  it('is kept where every decode is level, the middle ahead, and prompts near', () => {
    expect(verdictOf([...rows('decode', 1, 1.2, 1.3), ...rows('prompt', 0.5, 0.8, 0.9)], true).kept).toBe(true)
  })

  it.each([
    ['a decode below', rows('decode', 0.99, 1.3, 1.4), false],
    ['a middle below', rows('decode', 1, 1.1, 1.4), false],
    ['prompts below', rows('prompt', 0.5), false],
    ['prompts that would do without revectorized kernels', rows('prompt', 0.6), true],
    ['nothing measured', [], true],
  ])('is not kept by %s', (_, measured, revectorized) => {
    expect(verdictOf(measured, revectorized).kept).toBe(false)
  })

  it('is printed beside the median and the worst, and for prompts hangs on the kernels', () => {
    const [line] = verdictOf(rows('decode', 2, 0.5, 1, 3), false).lines
    expect(line).toBe(
      'decode: median 1.50 of 4, worst 0.50 (row 1); wanted 1.20 in the median, 1.00 in each: not kept, 1 below',
    )
    expect(barsOf(false).prompt.median).toBeLessThan(barsOf(true).prompt.median)
  })
})
