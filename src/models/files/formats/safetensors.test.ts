import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { MatrixData } from '../../../device/contract.js'
import { webgpu } from '../../../engines/webgpu/index.js'
import { smallTokenizer } from '../../../generate/testing/small-tokenizer.test-helper.js'
import { halfToFloat } from '../../../platform/half.js'
import { readModel } from '../../architectures/index.js'
import { planTensors } from '../../plan-tensors.js'
import { readMatrix, readVector } from '../../tensors.js'
import { hub, send } from '../hub.test-helper.js'
import { openRepository } from '../open.js'

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
put(`${at}.post_attention_layernorm.weight`, HIDDEN)
put(`${at}.self_attn.o_proj.weight`, HIDDEN, HIDDEN)
put('model.norm.weight', HIDDEN)

const CONFIG = {
  model_type: 'qwen2',
  hidden_size: HIDDEN,
  intermediate_size: 96,
  num_hidden_layers: 1,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  vocab_size: 48,
  tie_word_embeddings: true,
}

/** The safetensors format, written by its description: length, JSON, data. */
function encode(names: readonly string[]): Uint8Array {
  let at = 0
  const header: Record<string, unknown> = { __metadata__: { format: 'pt' } }
  for (const name of names) {
    const { shape, values } = storedAs(name)
    header[name] = { dtype: 'F32', shape, data_offsets: [at, at + values.byteLength] }
    at += values.byteLength
  }
  return Buffer.concat([head(header), ...names.map((name) => new Uint8Array(storedAs(name).values.buffer))])
}

function head(header: Record<string, unknown>): Uint8Array {
  const json = new TextEncoder().encode(JSON.stringify(header))
  const length = new Uint8Array(8)
  new DataView(length.buffer).setBigUint64(0, BigInt(json.length), true)
  return Buffer.concat([length, json])
}

/** A quantised repository has other names in their place; what is in them is not looked at. */
const storedAs = (name: string) => tensors.get(name) ?? tensors.get(name.replace(/\.\w+$/, '.weight'))!
const renamed =
  (...endings: string[]) =>
  (names: string[]) =>
    names.flatMap((name) =>
      name.endsWith('q_proj.weight') ? endings.map((each) => name.replace(/\.weight$/, each)) : [name],
    )
const quantised = (config: object) => ({ quantization_config: config })

const without = (end: string) => (names: string[]) => names.filter((name) => !name.endsWith(end))

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'local-v1-safetensors-'))
  const { tokenizer, tokenizerConfig } = smallTokenizer()
  await writeFile(join(folder, 'config.json'), JSON.stringify(CONFIG))
  await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer))
  await writeFile(join(folder, 'tokenizer_config.json'), JSON.stringify(tokenizerConfig))
  await writeFile(join(folder, 'model.safetensors'), encode([...tensors.keys()]))
})
afterEach(() => rm(folder, { recursive: true }))

const open = async () => {
  const options = { report: () => {}, signal: new AbortController().signal }
  return (await openRepository({ kind: 'folder', path: folder }, options)).weights
}
const opened = async (quantize = false) => {
  const weights = await open()
  const { architecture, model } = readModel(weights.chatConfig)
  return { weights, layer: planTensors(weights, architecture, model, quantize).layers[0]! }
}

/** Asked for from a server, it is refused for the CPU device, and nothing of its weights was read but their head. */
async function expectRefusal(
  config: object,
  file: Uint8Array,
  error: { message?: RegExp; code?: string; status?: number },
) {
  const server = await hub(
    new Map([
      ['config.json', Buffer.from(JSON.stringify(config))],
      ['model.safetensors', Buffer.from(file)],
      ['tokenizer.json', await readFile(join(folder, 'tokenizer.json'))],
    ]),
  )
  const options = { device: 'cpu', threads: 1, cache: false, log: () => {} } as const
  const engine = webgpu({ models: [{ id: 'org/model', from: server.url }], ...options })
  const opening = engine.load?.('org/model', () => {}, new AbortController().signal)
  const { message, ...rest } = error
  await expect(opening).rejects.toMatchObject(rest)
  if (message) await expect(opening).rejects.toThrow(message)
  const bytes = server.requests.filter(({ file: name }) => name === 'model.safetensors').map(({ range }) => range)
  // The length of the head, and the head.
  expect(bytes).toHaveLength(2)
  for (const range of bytes) expect(range).toMatch(/^bytes=\d+-\d+$/)
  await engine.close?.()
  await server.close()
}

const floats = (data: MatrixData) => {
  if (data.format === 'q4' || data.format === 'mixed') throw new Error('These weights were quantised.')
  return new Float32Array(data.data.slice().buffer)
}
const joined = (...names: string[]) => names.flatMap((name) => [...tensors.get(`${at}.${name}`)!.values])

describe('safetensors', () => {
  it('become the matrices of a decoder, what reads the same input in one', async () => {
    const { weights, layer } = await opened()
    const qkv = await readMatrix(weights, layer.matrices.qkv!)
    expect([qkv.rows, qkv.columns]).toEqual([128, HIDDEN])
    expect([...floats(qkv)]).toEqual(
      joined('self_attn.q_proj.weight', 'self_attn.k_proj.weight', 'self_attn.v_proj.weight'),
    )
    const bias = await readVector(weights, layer.matrices.qkv!.bias!)
    expect([...bias]).toEqual(joined('self_attn.q_proj.bias', 'self_attn.k_proj.bias', 'self_attn.v_proj.bias'))
    const gateUp = await readMatrix(weights, layer.matrices.gateUp!)
    expect([...floats(gateUp)]).toEqual(joined('mlp.gate_proj.weight', 'mlp.up_proj.weight'))
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
    const { weights, layer } = await opened()
    expect([...floats(await readMatrix(weights, layer.matrices.gateUp!))]).toEqual(
      joined('mlp.gate_proj.weight', 'mlp.up_proj.weight'),
    )
  })

  it('are quantised on request, each value to within half a step of its block', async () => {
    const { weights, layer } = await opened(true)
    const down = await readMatrix(weights, layer.matrices.down!)
    if (down.format !== 'q4') throw new Error('These weights were not quantised.')
    const codes = new Uint32Array(down.codes.slice().buffer)
    const scales = new Uint16Array(down.scales.slice().buffer)
    const { values } = tensors.get(`${at}.mlp.down_proj.weight`)!
    values.forEach((value, i) => {
      const scale = halfToFloat(scales[Math.floor(i / 32)]!)
      const back = (((codes[i >> 3]! >>> (4 * (i & 7))) & 15) - 7) * scale
      // Half a step, and what the scale's own rounding to f16 moves the outermost code.
      expect(Math.abs(back - value)).toBeLessThanOrEqual(scale * (0.5 + 7 / 1024))
    })
    // Norms are small and matter much: they stay.
    expect([...(await readVector(weights, layer.vectors.attentionNorm!))]).toEqual(joined('input_layernorm.weight'))
  })

  it.each<[string, (names: string[]) => string[], object, RegExp]>([
    ['that lack a part', without('k_proj.weight'), {}, /no tensor .*k_proj.weight/],
    ['that lack a bias', without('k_proj.bias'), {}, /no tensor .*k_proj.bias/],
    ['with one that has no use', (names) => names, { model_type: 'llama' }, /_proj.bias and 2 more would not be used/],
    [
      'of another shape',
      (names) => names,
      { vocab_size: 49 },
      /embed_tokens.weight is f32 \[48\]\[64\].* \[49\]\[64\]/,
    ],
    ['of four layers and a half', (names) => names, { num_hidden_layers: 4.5 }, /num_hidden_layers = 4\.5/],
    ['of a model that is not known', (names) => names, { model_type: 'gemma9' }, /"gemma9"/],
    ['quantised by AWQ', (names) => names, quantised({ quant_method: 'awq', bits: 4 }), /"awq" \(quant/],
    ['quantised by GPTQ', (names) => names, quantised({ quant_method: 'gptq', sym: true }), /"gptq" \(quant/],
    [
      'quantised by compressed-tensors',
      (names) => names,
      quantised({ quant_method: 'compressed-tensors', format: 'pack-quantized' }),
      /"compressed-tensors" \(quantization_config, pack-quantized\)/,
    ],
    [
      'quantised by an older compressed-tensors',
      (names) => names,
      { compression_config: { format: 'pack-quantized' } },
      /"compressed-tensors" \(compression_config/,
    ],
    [
      'quantised within a model that sees',
      (names) => names,
      { text_config: { ...CONFIG, ...quantised({ quant_method: 'fp8' }) } },
      /"fp8"/,
    ],
    ['with the tensors of GPTQ', renamed('.qweight', '.g_idx'), {}, /"gptq" \(tensor .*q_proj\.g_idx\)/],
    ['with the tensors of AWQ', renamed('.qweight'), {}, /"awq or gptq" \(tensor .*q_proj\.qweight\)/],
    ['with packed tensors', renamed('.weight_packed'), {}, /"compressed-tensors" \(tensor .*weight_packed\)/],
    ['with the tensors of bitsandbytes', renamed('.weight', '.SCB'), {}, /"bitsandbytes" \(tensor .*SCB\)/],
  ])('%s are refused by name, before they are fetched', async (_, change, config, message) => {
    await expectRefusal({ ...CONFIG, ...config }, encode(change([...tensors.keys()])), { message })
  })

  it('of eight thousand million parameters are refused on the CPU device by their head alone', async () => {
    const config = { model_type: 'llama', hidden_size: 4096, intermediate_size: 14_336, num_hidden_layers: 32 }
    const sizes = { num_attention_heads: 32, num_key_value_heads: 8, vocab_size: 128_256, tie_word_embeddings: false }
    const shapes = new Map([
      ['model.embed_tokens.weight', [128_256, 4096]],
      ['model.norm.weight', [4096]],
      ['lm_head.weight', [128_256, 4096]],
    ])
    for (let i = 0; i < config.num_hidden_layers; i++) {
      const layer = `model.layers.${i}`
      for (const [name, rows] of Object.entries({ q: 4096, k: 1024, v: 1024, o: 4096 }))
        shapes.set(`${layer}.self_attn.${name}_proj.weight`, [rows, 4096])
      for (const name of ['gate', 'up']) shapes.set(`${layer}.mlp.${name}_proj.weight`, [14_336, 4096])
      shapes.set(`${layer}.mlp.down_proj.weight`, [4096, 14_336])
      for (const name of ['input', 'post_attention']) shapes.set(`${layer}.${name}_layernorm.weight`, [4096])
    }
    let at = 0
    const header: Record<string, unknown> = {}
    for (const [name, shape] of shapes) {
      const bytes = shape.reduce((product, side) => product * side, 2)
      header[name] = { dtype: 'BF16', shape, data_offsets: [at, at + bytes] }
      at += bytes
    }
    expect(at).toBeGreaterThan(16e9)
    await expectRefusal({ ...config, ...sizes }, head(header), { status: 503, code: 'device_too_small' })
  })

  it('of a type that is not read are refused with its name', async () => {
    const text = Buffer.from(encode([...tensors.keys()])).toString('latin1')
    await writeFile(join(folder, 'model.safetensors'), text.replace('"F32"', '"I64"'), 'latin1')
    await expect(opened()).rejects.toThrow(/has the type I64/)
  })

  it('are fetched to their end, from where a server has them', async () => {
    const whole = Buffer.from(encode([...tensors.keys()]))
    const config = Buffer.from(JSON.stringify(CONFIG))
    const tokenizer = await readFile(join(folder, 'tokenizer.json'))
    const server = await hub(
      new Map([
        ['config.json', config],
        ['model.safetensors', whole],
        ['tokenizer.json', tokenizer],
      ]),
    )
    for (const ranges of [true, false]) {
      // A server that does not know ranges sends the whole, and is left once the head is there.
      server.intercept = (file, _request, response) => {
        if (ranges || file !== 'model.safetensors') return false
        response.writeHead(200, { 'content-length': whole.length }).end(whole)
        return true
      }
      const { weights } = await openRepository(
        { kind: 'url', url: server.url },
        { cache: false, report: () => {}, signal: new AbortController().signal },
      )
      for (const [name, { values }] of tensors) {
        expect(new Float32Array((await weights.read(name)).data.slice().buffer), name).toEqual(values)
      }
    }
    // Cut short in the middle of its data.
    server.intercept = (file, request, response) => {
      if (file === 'model.safetensors') send(whole.subarray(0, whole.length - 100), request, response)
      return file === 'model.safetensors'
    }
    await expect(
      openRepository(
        { kind: 'url', url: server.url },
        { cache: false, report: () => {}, signal: new AbortController().signal },
      ),
    ).rejects.toThrow(/ended at byte/)
    await server.close()
  })
})
