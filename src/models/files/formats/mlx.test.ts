import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { smallTokenizer } from '../../../generate/testing/small-tokenizer.test-helper.js'
import { floatToHalf } from '../../../platform/half.js'
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

describe('what mlx-lm writes otherwise than transformers', () => {
  const taps = [0.5, -1, 2, 0.25, 1, -2, 3, 4]
  const parts = (shape: number[]): Record<string, Part> => ({
    'language_model.model.layers.0.linear_attn.conv1d.weight': { dtype: 'BF16', shape, bytes: asBrain(taps) },
    'language_model.model.layers.0.linear_attn.norm.weight': { dtype: 'BF16', shape: [2], bytes: asBrain([1, 2]) },
    'language_model.model.layers.0.input_layernorm.weight': { dtype: 'BF16', shape: [2], bytes: asBrain([1.5, 0.25]) },
    'language_model.model.layers.3.self_attn.q_norm.weight': { dtype: 'F16', shape: [2], bytes: asHalves([2, 0.5]) },
    'language_model.model.norm.weight': { dtype: 'F32', shape: [1], bytes: new Uint8Array(Float32Array.of(3).buffer) },
  })
  const read = async (type: string, shape: number[]) => {
    await put({ model_type: type, quantization: QUANTIZATION }, parts(shape))
    const weights = await open()
    const all = await Promise.all(weights.names.map((name) => weights.read(name)))
    expect(all.map(({ data: _, ...described }) => described)).toEqual(all.map(({ name }) => weights.describe(name)))
    return new Map(all.map(({ name, shape, dtype, data }) => [name.split('.').slice(-2)[0]!, { shape, dtype, data }]))
  }

  it('has its channels in the middle again, and of Qwen 3.5 no one in norms that add it', async () => {
    const found = await read('qwen3_5', [2, 4, 1])
    expect(found.get('conv1d')).toMatchObject({ shape: [2, 1, 4], dtype: 'bf16', data: asBrain(taps) })
    const values = (name: string) => [...new Float32Array(found.get(name)!.data.slice().buffer)]
    expect(values('input_layernorm')).toEqual([0.5, -0.75])
    expect(values('q_norm')).toEqual([1, -0.5])
    // The last: its name ends in the same.
    expect(found.get('norm')).toMatchObject({ dtype: 'f32', shape: [1] })
    expect(values('norm')).toEqual([2])
  })

  it('is as it lies there in other families, and where mlx-lm has not been', async () => {
    for (const [type, shape] of [
      ['lfm2', [2, 4, 1]],
      ['qwen3_5', [2, 1, 4]],
    ] as const) {
      const found = await read(type, [...shape])
      expect(found.get('conv1d')!.shape).toEqual([2, 1, 4])
      expect(found.get('input_layernorm')).toMatchObject({ dtype: 'bf16', data: asBrain([1.5, 0.25]) })
    }
  })
})
