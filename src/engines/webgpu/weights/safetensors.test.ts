import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { smallTokenizer } from '../../../decode/testing/small-tokenizer.test-helper.js'
import { halfToFloat } from '../model/half.js'
import { openRepository } from './open.js'
import type { RawTensor } from './source.js'

interface Plain {
  readonly shape: readonly number[]
  readonly values: Float32Array
}

const HIDDEN = 64
const tensors = new Map<string, Plain>()
let state = 7
const random = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return state / 2 ** 31 - 1
}
const put = (name: string, ...shape: number[]) =>
  tensors.set(name, { shape, values: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, random) })
const at = 'model.layers.0'
put('model.embed_tokens.weight', 48, HIDDEN)
put(`${at}.self_attn.q_proj.weight`, 64, HIDDEN)
put(`${at}.self_attn.k_proj.weight`, 32, HIDDEN)
put(`${at}.self_attn.v_proj.weight`, 32, HIDDEN)
put(`${at}.self_attn.q_proj.bias`, 64)
put(`${at}.self_attn.k_proj.bias`, 32)
put(`${at}.self_attn.v_proj.bias`, 32)
put(`${at}.mlp.up_proj.weight`, 96, HIDDEN)
put(`${at}.mlp.gate_proj.weight`, 96, HIDDEN)
put(`${at}.mlp.down_proj.weight`, HIDDEN, 96)
put(`${at}.input_layernorm.weight`, HIDDEN)

/** The safetensors format, written by its description: length, JSON, data. */
function encode(names: readonly string[]): Uint8Array {
  let at = 0
  const header: Record<string, unknown> = { __metadata__: { format: 'pt' } }
  for (const name of names) {
    const { shape, values } = tensors.get(name)!
    header[name] = { dtype: 'F32', shape, data_offsets: [at, at + values.byteLength] }
    at += values.byteLength
  }
  const json = new TextEncoder().encode(JSON.stringify(header))
  const length = new Uint8Array(8)
  new DataView(length.buffer).setBigUint64(0, BigInt(json.length), true)
  return Buffer.concat([length, json, ...names.map((name) => new Uint8Array(tensors.get(name)!.values.buffer))])
}

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'local-v1-safetensors-'))
  const { tokenizer, tokenizerConfig } = smallTokenizer()
  await writeFile(join(folder, 'config.json'), JSON.stringify({ model_type: 'qwen2', hidden_size: HIDDEN }))
  await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer))
  await writeFile(join(folder, 'tokenizer_config.json'), JSON.stringify(tokenizerConfig))
  await writeFile(join(folder, 'model.safetensors'), encode([...tensors.keys()]))
})
afterEach(() => rm(folder, { recursive: true }))

const open = async (quantize?: 'q4f16_1') => {
  const options = { report: () => {}, signal: new AbortController().signal, quantize }
  return (await openRepository({ kind: 'folder', path: folder }, options)).weights
}

const floats = ({ data }: RawTensor) => new Float32Array(data.slice().buffer)
const joined = (...names: string[]) => names.flatMap((name) => [...tensors.get(`${at}.${name}`)!.values])

describe('safetensors', () => {
  it("come under MLC's names, what reads the same input in one matrix", async () => {
    const weights = await open()
    const qkv = await weights.read(`${at}.self_attn.c_attn.weight`)
    expect(qkv.shape).toEqual([128, HIDDEN])
    expect([...floats(qkv)]).toEqual(
      joined('self_attn.q_proj.weight', 'self_attn.k_proj.weight', 'self_attn.v_proj.weight'),
    )
    const bias = await weights.read(`${at}.self_attn.c_attn.bias`)
    expect([...floats(bias)]).toEqual(joined('self_attn.q_proj.bias', 'self_attn.k_proj.bias', 'self_attn.v_proj.bias'))
    const gateUp = await weights.read(`${at}.mlp.gate_up_proj.weight`)
    expect([...floats(gateUp)]).toEqual(joined('mlp.gate_proj.weight', 'mlp.up_proj.weight'))
    expect(weights.has(`${at}.self_attn.q_proj.weight`)).toBe(false)
  })

  it('may lie in several files', async () => {
    const names = [...tensors.keys()]
    const halves = [names.slice(0, 5), names.slice(5)]
    const map: Record<string, string> = {}
    for (const [i, half] of halves.entries()) {
      await writeFile(join(folder, `model-${i}.safetensors`), encode(half))
      for (const name of half) map[name] = `model-${i}.safetensors`
    }
    await writeFile(join(folder, 'model.safetensors.index.json'), JSON.stringify({ weight_map: map }))
    await rm(join(folder, 'model.safetensors'))
    const gateUp = await (await open()).read(`${at}.mlp.gate_up_proj.weight`)
    expect([...floats(gateUp)]).toEqual(joined('mlp.gate_proj.weight', 'mlp.up_proj.weight'))
  })

  it('are quantised on request, each value to within half a step of its block', async () => {
    const weights = await open('q4f16_1')
    expect(weights.has(`${at}.mlp.down_proj.weight`)).toBe(false)
    const codes = new Uint32Array((await weights.read(`${at}.mlp.down_proj.q_weight`)).data.slice().buffer)
    const scales = new Uint16Array((await weights.read(`${at}.mlp.down_proj.q_scale`)).data.slice().buffer)
    const { values } = tensors.get(`${at}.mlp.down_proj.weight`)!
    values.forEach((value, i) => {
      const scale = halfToFloat(scales[Math.floor(i / 32)]!)
      const back = (((codes[i >> 3]! >>> (4 * (i & 7))) & 15) - 7) * scale
      // Half a step, and what the scale's own rounding to f16 moves the outermost code.
      expect(Math.abs(back - value)).toBeLessThanOrEqual(scale * (0.5 + 7 / 1024))
    })
    // Norms are small and matter much: they stay.
    expect(weights.describe(`${at}.input_layernorm.weight`).dtype).toBe('f32')
  })

  it('that lack a part are refused with its name', async () => {
    const names = [...tensors.keys()].filter((name) => !name.endsWith('k_proj.weight'))
    await writeFile(join(folder, 'model.safetensors'), encode(names))
    await expect(open()).rejects.toThrow(/part 2 of model.layers.0.self_attn.c_attn.weight is missing/)
  })

  it('of a type that is not read are refused with its name', async () => {
    const text = Buffer.from(encode([...tensors.keys()])).toString('latin1')
    await writeFile(join(folder, 'model.safetensors'), text.replace('"F32"', '"I64"'), 'latin1')
    await expect(open()).rejects.toThrow(/has the type I64/)
  })
})
