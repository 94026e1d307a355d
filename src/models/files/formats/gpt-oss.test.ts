import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { gptOss } from '../../../../test/oracles/families/gpt-oss.js'
import { safetensorsFile } from '../../../../test/oracles/files/safetensors.js'
import { throughMxfp4 } from '../../../../test/oracles/rounded.js'
import { weightsOf } from '../../../../test/oracles/weights.js'
import { openRepository } from '../open.js'
import { blockValues } from './gguf/dequantize.js'

const weights = weightsOf(gptOss)
const AT = 'model.layers.1.mlp.experts'
const PARTS = ['gate', 'up', 'down'] as const

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'local-v1-gpt-oss-'))
})
afterEach(() => rm(folder, { recursive: true }))

type Stored = ReturnType<NonNullable<typeof gptOss.folder>>

async function opened(tensors: Stored, config: object = {}) {
  await writeFile(join(folder, 'config.json'), JSON.stringify({ ...gptOss.config, ...config }))
  await writeFile(join(folder, 'tokenizer.json'), '{}')
  await writeFile(join(folder, 'model.safetensors'), safetensorsFile(tensors))
  const options = { report: () => {}, signal: new AbortController().signal, cache: false } as const
  return (await openRepository({ kind: 'folder', path: folder }, options)).weights
}

const floats = (data: Uint8Array) => [...new Float32Array(data.slice().buffer)]
const QUANTISED = { quantization_config: { quant_method: 'mxfp4' } }

describe('a folder of gpt-oss', () => {
  it('in plain numbers has the experts of a layer in rows, gates and values apart', async () => {
    const source = await opened(gptOss.folder!(weights, 'F32'))
    for (const part of PARTS) {
      const name = `${AT}.${part}_proj`
      const { shape } = gptOss.tensors.find((spec) => spec.name === `${name}.weight`)!
      expect(source.describe(`${name}.weight`)).toEqual({ name: `${name}.weight`, shape, dtype: 'f32' })
      const whole = [...weights(`${name}.weight`)]
      expect(floats((await source.read(`${name}.weight`)).data)).toEqual(whole)
      expect(floats((await source.read(`${name}.bias`)).data)).toEqual([...weights(`${name}.bias`)])
      // Over the border between two experts.
      const [, rows, columns] = shape as [number, number, number]
      const some = await source.rows!(name).read(rows - 3, rows + 5)
      expect(floats(some)).toEqual(whole.slice((rows - 3) * columns, (rows + 5) * columns))
    }
    expect(source.names.filter((name) => /gate_up|_bias$/.test(name))).toEqual([])
    expect(source.has(`${AT}.gate_up_proj`)).toBe(false)
    expect(source.has(`${AT}.gate_proj.weight`)).toBe(true)
  })

  it("in MXFP4 has them in ggml's blocks, number for number", async () => {
    const source = await opened(gptOss.folder!(weights, 'MXFP4'), QUANTISED)
    expect(source.chatConfig.quantization_config).toBeUndefined()
    for (const part of PARTS) {
      const name = `${AT}.${part}_proj`
      // Zero has no sign there.
      const kept = [...throughMxfp4(weights(`${name}.weight`))].map((value) => value + 0)
      const { dtype, shape, data } = await source.read(`${name}.weight`)
      expect(dtype).toBe('mxfp4')
      expect([...blockValues('mxfp4', data)]).toEqual(kept)
      const [, rows, columns] = shape as [number, number, number]
      const some = await source.rows!(name).read(rows - 3, rows + 5)
      expect([...blockValues('mxfp4', some)]).toEqual(kept.slice((rows - 3) * columns, (rows + 5) * columns))
    }
  })

  it('in another quantisation keeps what says so', async () => {
    const quantization_config = { quant_method: 'fp8' }
    const source = await opened(gptOss.folder!(weights, 'F32'), { quantization_config })
    expect(source.chatConfig.quantization_config).toEqual(quantization_config)
  })

  it.each([
    ['scales that are missing', (all: Stored) => all.filter(({ name }) => name !== `${AT}.down_proj_scales`)],
    [
      'scales of another shape',
      (all: Stored) => all.map((one) => (one.name.endsWith('_scales') ? { ...one, shape: [one.data.length] } : one)),
    ],
  ])('is refused for %s', async (_, damage) => {
    await expect(opened(damage(gptOss.folder!(weights, 'MXFP4')), QUANTISED)).rejects.toThrow(/_proj_(blocks|scales)/)
  })
})
