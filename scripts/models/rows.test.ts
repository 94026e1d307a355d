import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { floatToHalf, halfToFloat } from '../../src/platform/half.js'
import { Attention, half, inHalves } from '../../test/oracles/float64.js'
import { apart, compare } from '../../test/oracles/judge.js'
import { Random } from '../../test/oracles/random.js'
import { codeOf } from './code.js'
import { AS_FAR } from './our-core.js'
import { FORM, OVER_LLAMA_CPP } from './over-llama-cpp.js'
import { lineOf, type Row, Rows } from './rows.js'
import { report, withTables } from './table.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'local-v1-rows-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const IS = { family: 'llama', kind: 'text', what: 'safetensors F32', device: 'CPU' } as const
const FOUND = { tokens: 4, otherTokens: 0, rms: 0, worst: 0, bound: 1, good: true }

describe('rows of the check of architectures', () => {
  it('are computed again once the code has changed that they were computed by, and only then', async () => {
    const path = join(folder, 'rows.jsonl')
    let computed = 0
    const ask = () =>
      new Rows(path).once(IS, 'decoders on cpu', async () => {
        computed++
        return FOUND
      })
    await ask()
    await ask()
    expect(computed).toBe(1)
    const row = JSON.parse(readFileSync(path, 'utf8')) as Row
    expect(row).toMatchObject({ ...IS, by: 'decoders on cpu', code: codeOf('decoders on cpu') })
    writeFileSync(path, `${JSON.stringify({ ...row, code: 'another' })}\n`)
    expect(new Rows(path)).toMatchObject({ current: [], outdated: 1 })
    await ask()
    expect(computed).toBe(2)
    expect(new Rows(path)).toMatchObject({ current: [row], outdated: 0 })
  })

  it('are computed again where more tokens are asked for than they speak of', async () => {
    const path = join(folder, 'rows.jsonl')
    const computed: number[] = []
    for (const tokens of [4, 2, 4, 12, 4]) {
      await new Rows(path).once(
        IS,
        'decoders on cpu',
        async () => {
          computed.push(tokens)
          return { ...FOUND, tokens }
        },
        tokens,
      )
    }
    expect(computed).toEqual([4, 12])
  })

  it('become tables in the place of those that a section has, in one order', () => {
    const row = (family: string, what: string, device: string): Row => {
      return { ...FOUND, family, kind: 'text', what, device, by: 'decoders on cpu', code: '', seconds: 1, worst: 2e-3 }
    }
    const found = [
      row('qwen2', 'safetensors F16', 'webgpu, cut for hardware'),
      row('qwen2', 'GGUF F16', 'CPU'),
      { ...row('llama', 'safetensors F16', 'CPU'), good: false },
    ]
    const tables = report(found, ['llama', 'qwen2'])
    expect(tables.split('\n')).toEqual([
      '| CPU | tokens or texts | safetensors F16 | GGUF F16 |',
      '|---|---|---|---|',
      '| llama | 4 | **2e-3** | – |',
      '| qwen2 | 4 | – | 2e-3 |',
      '',
      '| webgpu, cut for hardware | tokens or texts | safetensors F16 |',
      '|---|---|---|',
      '| qwen2 | 4 | 2e-3 |',
    ])
    const older = [
      '| CPU | tokens or texts | safetensors F32 | GGUF F16 |',
      '|---|---|---|---|',
      '| llama | 128 | 1e-5 | 4e-3 |',
      '| qwen3 | 12 | 3e-5† | – |',
    ].join('\n')
    const text = `# Results\n\n## One\n\n| CPU | a |\n|---|\n\n## Two\n\nWords.\n\n${older}\n\n## Three\n`
    const families = ['llama', 'qwen2', 'qwen3']
    // What was known alone is known by older code.
    const both = [
      '| CPU | tokens or texts | safetensors F32 | safetensors F16 | GGUF F16 |',
      '|---|---|---|---|---|',
      '| llama | 4 | 1e-5† | **2e-3** | 4e-3† |',
      '| qwen2 | 4 | – | – | 2e-3 |',
      '| qwen3 | 12 | 3e-5† | – | – |',
    ].join('\n')
    const [, other] = tables.split('\n\n')
    expect(withTables(text, 'Two', tables, families)).toBe(text.replace(older, `${both}\n\n${other}`))
    expect(() => withTables(text, 'Three', tables, families)).toThrow(/no table/)
    expect(() => withTables(text, 'Four', tables, families)).toThrow(/no section/)
  })

  it('say of an engine over llama.cpp how far off it is beside llama.cpp itself, and what was asked of it', () => {
    const is = { family: 'llama', kind: 'text', what: FORM, device: OVER_LLAMA_CPP } as const
    const far = { rms: 2e-3, bound: 4e-3, mistaken: 0.5, documents: true }
    const row: Row = { ...FOUND, ...is, ...far, by: 'decoders over llama.cpp', code: '', seconds: 1 }
    expect(report([row], ['llama']).split('\n').at(-1)).toBe(`| llama | 4 | ${(AS_FAR / 2).toFixed(2)} x |`)
    expect(lineOf(row)).toContain('a mistake from 5.0e-1; documents hold')
    expect(lineOf({ ...row, documents: false, good: false })).toMatch(/^FAIL .*documents do not hold/)
  })

  it('know their device by the kernels that run there', () => {
    expect(new Set((['decoders', 'decoders on cpu', 'decoders on gpu'] as const).map(codeOf)).size).toBe(3)
  })
})

describe('float64 that keeps keys and values in f16', () => {
  it('rounds as the product does, which rounds what is in f32', () => {
    const random = new Random('halves')
    for (let i = 0; i < 20_000; i++) {
      const value = Math.fround(random.normal() * 2 ** (random.below(40) - 28))
      if (Math.abs(value) < 65_504) expect(half(value)).toBe(halfToFloat(floatToHalf(value)) + 0)
    }
    for (const value of [
      0,
      1,
      -1,
      2 ** -24,
      2 ** -25,
      3 * 2 ** -25,
      1 + 2 ** -11,
      1 + 3 * 2 ** -11,
      2 - 2 ** -12,
      65_504,
    ]) {
      expect(half(value)).toBe(halfToFloat(floatToHalf(value)) + 0)
    }
  })

  it('rounds keys and values, and no query', () => {
    const form = { headSize: 2, keyHeads: 1, scale: 1 }
    const of = (...values: number[]) => Float64Array.from(values)
    const third = half(1 / 3)
    expect(third).not.toBe(1 / 3)
    const seen = new Attention(inHalves).look(of(1 / 3, 0), of(1 / 3, 0), of(1 / 3, 1), form)
    expect([...seen]).toEqual([third, 1])
    const two = new Attention(inHalves)
    two.look(of(1 / 3, 0), of(1 / 3, 0), of(1, 0), form)
    const share = 1 / (1 + Math.exp((1 / 3) * third))
    expect(two.look(of(1 / 3, 0), of(0, 0), of(0, 0), form)[0]).toBeCloseTo(1 - share, 12)
  })

  it('allows another token as far as rounding has moved the lead of the one over the other, and no further', () => {
    const truth = [Float64Array.of(-1, -1.01, -3)]
    const rounded = [Float64Array.of(-1.01, -1, -3)]
    const predicted = [(token: number) => rounded[0]![token]!]
    expect(compare(truth, predicted).wrongTokens).toBe(1)
    expect(compare(truth, predicted, apart(truth, rounded)).wrongTokens).toBe(0)
    const less = [Float64Array.of(-1, -1.002, -3)]
    expect(compare(truth, predicted, apart(truth, less)).wrongTokens).toBe(1)
  })
})
