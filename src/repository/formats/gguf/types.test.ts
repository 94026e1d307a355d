import { describe, expect, it } from 'vitest'
import type { BlockType } from '../../../platform/block-types.js'
import type { RepositoryFiles } from '../../files.js'
import { blockValues } from './dequantize.js'
import type { GgufTensor } from './head.js'
// Blocks and their values as llama.cpp's own library quantises and reads them back: scripts/gguf/types.py.
import fixture from './types.fixture.json' with { type: 'json' }
import { READABLE, typeOf } from './types.js'
import { ggufWeights } from './weights.js'

const cases = Object.entries(fixture as Record<string, { bytes: string; values: string }>)
const bytesOf = (base64: string) => Uint8Array.from(Buffer.from(base64, 'base64'))

describe('blocks of ggml', () => {
  it.each(cases)('%s stand for what llama.cpp reads', (label, { bytes, values }) => {
    const type = Object.values(Array.from({ length: 64 }, (_, i) => typeOf(i))).find((each) => each.label === label)!
    const stored = bytesOf(bytes)
    const expected = new Float32Array(bytesOf(values).buffer)
    expect(stored.length).toBe((expected.length / type.block) * type.bytes)
    const got = blockValues(type.form as BlockType, stored)
    expect(got).toHaveLength(expected.length)
    const most = Math.max(...expected.map(Math.abs))
    // A product and a difference in f32, rounded once or twice.
    got.forEach((value, i) => {
      expect(Math.abs(value - expected[i]!), `value ${i}`).toBeLessThanOrEqual(most * 2 ** -22)
    })
  })

  it.each(cases)('%s are read row by row as they lie', async (label, { bytes, values }) => {
    const type = Array.from({ length: 64 }, (_, i) => i).find((each) => typeOf(each).label === label)!
    const [block, expected] = [bytesOf(bytes), new Float32Array(bytesOf(values).buffer)]
    // Three rows, behind what belongs to another tensor.
    const file = Uint8Array.from([9, 9, 9, ...block, ...block, ...block])
    const shape = [3, expected.length]
    const of = { name: 't.weight', file: 'f', from: 3, bytes: 3 * block.length, type, shape }
    const files = { place: 'here', slice: async (_: string, from: number, to: number) => file.slice(from, to) }
    const weights = ggufWeights(files as unknown as RepositoryFiles, [of as GgufTensor])
    const rows = weights.rows!('t')
    expect(rows.rowBytes).toBe(block.length)
    const out = new Float32Array(expected.length)
    rows.widen(await rows.read(1, 3), block.length, out)
    const most = Math.max(...expected.map(Math.abs))
    out.forEach((value, i) => {
      expect(Math.abs(value - expected[i]!)).toBeLessThanOrEqual(most * 2 ** -22)
    })
  })

  it('are held against llama.cpp in every type but the plain ones', () => {
    expect([...cases.map(([label]) => label), 'F32', 'F16', 'BF16'].sort()).toEqual([...READABLE].sort())
  })
})
