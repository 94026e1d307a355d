import { describe, expect, it } from 'vitest'
// Blocks and their values as llama.cpp's own library quantises and reads them back: scripts/gguf/types.py.
import fixture from './types.fixture.json' with { type: 'json' }
import { READABLE, typeOf } from './types.js'

const cases = Object.entries(fixture as Record<string, { bytes: string; values: string }>)
const bytesOf = (base64: string) => Uint8Array.from(Buffer.from(base64, 'base64'))

describe('blocks of ggml', () => {
  it.each(cases)('%s stand for what llama.cpp reads', (label, { bytes, values }) => {
    const type = Object.values(Array.from({ length: 64 }, (_, i) => typeOf(i))).find((each) => each.label === label)!
    const stored = bytesOf(bytes)
    const expected = new Float32Array(bytesOf(values).buffer)
    expect(stored.length).toBe((expected.length / type.block) * type.bytes)
    const got = new Float32Array(expected.length)
    const view = new DataView(stored.buffer)
    for (let i = 0; i * type.block < got.length; i++) type.read!(view, i * type.bytes, got, i * type.block)
    const most = Math.max(...expected.map(Math.abs))
    // A product and a difference in f32, rounded once or twice.
    got.forEach((value, i) => {
      expect(Math.abs(value - expected[i]!), `value ${i}`).toBeLessThanOrEqual(most * 2 ** -22)
    })
  })

  it('are held against llama.cpp in every type but the plain ones', () => {
    expect([...cases.map(([label]) => label), 'F32', 'F16', 'BF16'].sort()).toEqual([...READABLE].sort())
  })
})
