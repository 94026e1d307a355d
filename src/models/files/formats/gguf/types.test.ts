import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { ownFolder } from '../../../../../test/support/own-folder.js'
import type { BlockType } from '../../../../platform/block-types.js'
import type { RepositoryFiles } from '../../files.js'
import { hub } from '../../hub.test-helper.js'
import { locationOf } from '../../location.js'
import { openRepository, surveyRepository } from '../../open.js'
import { blockValues } from './dequantize.js'
import type { GgufTensor } from './head.js'
import { writeMadeUp } from './made-up.test-helper.js'
// Blocks and their values as llama.cpp's own library quantises and reads them back: scripts/gguf/block_types.py.
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

/** As ggml.h numbers them, those too that newer files must not have. */
const STANDARD = [
  ...['F32', 'F16', 'Q4_0', 'Q4_1', 'Q4_2', 'Q4_3', 'Q5_0', 'Q5_1', 'Q8_0', 'Q8_1'],
  ...['Q2_K', 'Q3_K', 'Q4_K', 'Q5_K', 'Q6_K', 'Q8_K', 'IQ2_XXS', 'IQ2_XS', 'IQ3_XXS', 'IQ1_S'],
  ...['IQ4_NL', 'IQ3_S', 'IQ2_S', 'IQ4_XS', 'I8', 'I16', 'I32', 'I64', 'F64', 'IQ1_M'],
  ...['BF16', 'Q4_0_4_4', 'Q4_0_4_8', 'Q4_0_8_8', 'TQ1_0', 'TQ2_0', 'IQ4_NL_4_4', 'IQ4_NL_4_8', 'IQ4_NL_8_8', 'MXFP4'],
  ...['NVFP4', 'Q1_0', 'Q2_0'],
]
it('types have the numbers that ggml gives them', () => {
  expect(STANDARD.map((_, number) => typeOf(number).label)).toEqual(STANDARD)
})

const TENSOR = 'blk.1.ffn_down.weight'

describe('a type that is not read is refused by its name and the tensor that has it', () => {
  const folder = ownFolder()
  let whole: Buffer
  beforeAll(async () => {
    await writeMadeUp(join(folder, 'whole.gguf'), { types: { '*': 'F16' } })
    whole = await readFile(join(folder, 'whole.gguf'))
  })

  const numbered = STANDARD.map((label, number) => [label, number] as const)
  it.each([...numbered.filter(([label]) => !READABLE.includes(label)), ['number 4711', 4711] as const])(
    '%s',
    async (label, number) => {
      const bytes = Buffer.from(whole)
      // Behind a tensor's name: how many sides it has, the two sides, its type.
      bytes.writeUInt32LE(number, bytes.indexOf(TENSOR) + TENSOR.length + 4 + 2 * 8)
      const name = 'changed.gguf'
      await writeFile(join(folder, name), bytes)
      const server = await hub(new Map([[name, bytes]]))
      const options = { report: () => {}, signal: new AbortController().signal, cache: false } as const
      const refusal = `tensor ${TENSOR} has the type ${label}; these can be read: F32, F16, BF16, Q4_0,`
      for (const from of [`${server.url}${name}`, join(folder, name)]) {
        await expect(openRepository(locationOf(from), options)).rejects.toThrow(refusal)
        await expect(surveyRepository(locationOf(from), options)).rejects.toThrow(refusal)
      }
      expect(server.requests.map(({ range }) => range)).toEqual(Array(2).fill(`bytes=0-${2 ** 20 - 1}`))
      expect(bytes.length).toBeGreaterThan(2 ** 20)
      await server.close()
    },
  )
})
