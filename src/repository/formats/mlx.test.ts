import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { smallTokenizer } from '../../decode/testing/small-tokenizer.test-helper.js'
import { floatToHalf } from '../../platform/half.js'
import { openRepository } from '../open.js'
import { blockValues } from './gguf/dequantize.js'

const [ROWS, COLUMNS, GROUP] = [3, 128, 64]
const CONFIG = { model_type: 'llama', hidden_size: COLUMNS }
const QUANTIZATION = { group_size: GROUP, bits: 4 }
const MATRIX = 'model.layers.0.mlp.down_proj'

/** As mlx.core.quantize defines it: each word holds eight codes, the first in its lowest bits. */
const codeAt = (row: number, column: number) => (row * 5 + column * 7 + (column >> 5)) % 16
const scaleAt = (row: number, group: number) => 0.125 * (1 + row + 2 * group)
const biasAt = (row: number, group: number) => -1.5 + row - 0.25 * group
const GROUPS = COLUMNS / GROUP
const codes = Uint32Array.from({ length: (ROWS * COLUMNS) / 8 }, (_, word) => {
  const [row, first] = [Math.floor((8 * word) / COLUMNS), (8 * word) % COLUMNS]
  let bits = 0
  for (let i = 0; i < 8; i++) bits += codeAt(row, first + i) * 16 ** i
  return bits
})
const byGroup = (of: (row: number, group: number) => number) =>
  Array.from({ length: ROWS * GROUPS }, (_, i) => of(Math.floor(i / GROUPS), i % GROUPS))
const asHalves = (values: number[]) => new Uint8Array(Uint16Array.from(values, floatToHalf).buffer)
const asBrain = (values: number[]) =>
  new Uint8Array(Uint16Array.from(new Uint32Array(Float32Array.from(values).buffer), (bits) => bits >>> 16).buffer)

interface Part {
  readonly dtype: string
  readonly shape: readonly number[]
  readonly bytes: Uint8Array
}

function partsOf(kind: 'F16' | 'BF16'): Record<string, Part> {
  const numbers = kind === 'F16' ? asHalves : asBrain
  return {
    [`${MATRIX}.weight`]: { dtype: 'U32', shape: [ROWS, COLUMNS / 8], bytes: new Uint8Array(codes.buffer) },
    [`${MATRIX}.scales`]: { dtype: kind, shape: [ROWS, GROUPS], bytes: numbers(byGroup(scaleAt)) },
    [`${MATRIX}.biases`]: { dtype: kind, shape: [ROWS, GROUPS], bytes: numbers(byGroup(biasAt)) },
    'model.norm.weight': { dtype: kind, shape: [4], bytes: numbers([1, 2, 3, 4]) },
  }
}

function encode(parts: Record<string, Part>): Uint8Array {
  let at = 0
  const header = Object.entries(parts).map(([name, { dtype, shape, bytes }]) => {
    at += bytes.length
    return [name, { dtype, shape, data_offsets: [at - bytes.length, at] }] as const
  })
  const json = new TextEncoder().encode(JSON.stringify(Object.fromEntries(header)))
  const length = new Uint8Array(8)
  new DataView(length.buffer).setBigUint64(0, BigInt(json.length), true)
  return Buffer.concat([length, json, ...Object.values(parts).map(({ bytes }) => bytes)])
}

let folder: string
const put = (config: object, parts: Record<string, Part>) =>
  Promise.all([
    writeFile(join(folder, 'config.json'), JSON.stringify(config)),
    writeFile(join(folder, 'model.safetensors'), encode(parts)),
  ])
const open = async () => {
  const options = { report: () => {}, signal: new AbortController().signal }
  return (await openRepository({ kind: 'folder', path: folder }, options)).weights
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'local-v1-mlx-'))
  const { tokenizer, tokenizerConfig } = smallTokenizer()
  await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer))
  await writeFile(join(folder, 'tokenizer_config.json'), JSON.stringify(tokenizerConfig))
})
afterEach(() => rm(folder, { recursive: true }))

describe('matrices of MLX in 4 bits', () => {
  const values = Array.from({ length: ROWS * COLUMNS }, (_, i) => {
    const [row, column] = [Math.floor(i / COLUMNS), i % COLUMNS]
    const group = Math.floor(column / GROUP)
    return codeAt(row, column) * scaleAt(row, group) + biasAt(row, group)
  })

  it.each(['F16', 'BF16'] as const)('are the numbers that they stand for, scales in %s', async (kind) => {
    await put({ ...CONFIG, quantization: QUANTIZATION, quantization_config: QUANTIZATION }, partsOf(kind))
    const weights = await open()
    expect(weights.chatConfig).toEqual(CONFIG)
    expect(weights.names).toEqual([`${MATRIX}.weight`, 'model.norm.weight'])
    const { shape, dtype, data } = await weights.read(`${MATRIX}.weight`)
    expect([shape, dtype]).toEqual([[ROWS, COLUMNS], 'q4_1'])
    expect([...blockValues('q4_1', data)]).toEqual(values)
    expect((await weights.read('model.norm.weight')).dtype).toBe(kind.toLowerCase())
  })

  it('are read row by row too', async () => {
    await put({ ...CONFIG, quantization: QUANTIZATION }, partsOf('F16'))
    const rows = (await open()).rows!(MATRIX)
    const out = new Float32Array(COLUMNS)
    rows.widen(await rows.read(1, 3), rows.rowBytes, out)
    expect([...out]).toEqual(values.slice(2 * COLUMNS))
  })

  it.each([
    ['other bits', { ...QUANTIZATION, bits: 8 }, /"bits":8/],
    ['other groups', { ...QUANTIZATION, group_size: 16 }, /"group_size":16/],
    ['another way', { ...QUANTIZATION, mode: 'mxfp4' }, /"mode":"mxfp4"/],
    ['a matrix apart', { ...QUANTIZATION, [MATRIX]: { group_size: 64, bits: 8 } }, /"model.layers.0.mlp.down_proj":/],
  ])('are refused by name: %s', async (_, quantization, message) => {
    await put({ ...CONFIG, quantization }, partsOf('F16'))
    await expect(open()).rejects.toThrow(message)
  })

  it('are refused where their parts do not belong together', async () => {
    await put({ ...CONFIG, quantization: { ...QUANTIZATION, group_size: 32 } }, partsOf('F16'))
    await expect(open()).rejects.toThrow(/the parts of model\.layers\.0\.mlp\.down_proj do not belong together/)
  })
})
