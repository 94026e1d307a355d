/** Repositories with something that points, of which one thing is wrong: what it is, is named, and nothing stays behind. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pointing } from '../../../test/oracles/encoders/pointing.js'
import { V1Error } from '../../contract/index.js'
import type { Device } from '../../device/contract.js'
import { openCpuDevice } from '../../device/cpu/index.js'
import type { RawTensor, WeightSource } from '../files/source.js'
import { loadCore } from '../load.js'

const whole = pointing.source()
const own = whole.names.filter((name) => name.startsWith('pointing.'))
const { rank, head_size } = whole.chatConfig.pointing as Readonly<Record<string, number>>
const config = (change: object) => ({ chatConfig: { ...whole.chatConfig, ...change } })
const LONG = {
  ...{ rope_type: 'longrope', original_max_position_embeddings: 64 },
  ...{ short_factor: new Array(16).fill(1), long_factor: new Array(16).fill(2) },
}
/** Of the decoder itself. */
const modelConfig = (change: object) =>
  config({ model_config: { ...(whole.chatConfig.model_config as object), ...change } })
/** Each tensor in turn, as `change` makes it. */
const changed = (odd: string, change: (tensor: Omit<RawTensor, 'data'>) => object): Partial<WeightSource> => ({
  describe: (name) => {
    const tensor = whole.describe(name)
    return name === odd ? { ...tensor, ...change(tensor) } : tensor
  },
})

let device: Device
beforeAll(async () => {
  device = await openCpuDevice({ threads: 1 })
})
afterAll(() => device.destroy())

/** What a repository is refused with; nothing of it is on the device. */
async function refusal(change: Partial<WeightSource>, signal?: AbortSignal): Promise<string> {
  const before = device.memory
  const loading = loadCore(
    device,
    { ...whole, ...change },
    { name: 'test/odd', contextLength: 64, ...(signal && { signal }) },
  )
  const error = await loading.then(
    async (core) => {
      await core.close()
      return undefined
    },
    (error: unknown) => error,
  )
  expect(device.memory).toEqual(before)
  expect(V1Error.is(error)).toBe(true)
  return (error as V1Error).message
}

it('what points is loaded where nothing is wrong, and a decoder that has nothing of it', async () => {
  const [points, bare] = [await loadCore(device, whole), await loadCore(device, pointing.source(false))]
  expect(points.pointing?.headSize).toBe(head_size)
  expect(bare.pointing).toBeUndefined()
  await points.close()
  await bare.close()
})

describe('what points is refused', () => {
  it('by the name of a tensor that it lacks', async () => {
    expect(own.length).toBeGreaterThan(50)
    for (const lost of own)
      expect(await refusal({ names: whole.names.filter((name) => name !== lost) })).toContain(
        `test/odd cannot be run: a head that points without its tensor ${lost} is not supported.`,
      )
  })

  it('by the name of a tensor of another shape', async () => {
    for (const odd of own)
      expect(
        await refusal(changed(odd, ({ shape }) => ({ shape: [...shape.slice(0, -1), shape.at(-1)! + 1] }))),
      ).toContain(`the tensor ${odd} of `)
  })

  it('by the name of a tensor of another type', async () => {
    for (const odd of own)
      expect(await refusal(changed(odd, () => ({ dtype: 'f32' })))).toContain(`the tensor ${odd} of f32 [`)
  })

  it.each(['pointing.layers.3.input_layernorm.weight', 'pointing.heads.other_q.q_weight', 'pointing.'])(
    'with a tensor that has no use: %s',
    async (more) => {
      expect(await refusal({ names: [...whole.names, more] })).toContain(`a tensor ${more}, which has no use`)
    },
  )

  it('as any tensor is that nobody knows, where its name only sounds like it', async () => {
    const odd = 'model.pointing.norm.weight'
    const describe: WeightSource['describe'] = (name) => whole.describe(name === odd ? 'pointing.norm.weight' : name)
    expect(await refusal({ names: [...whole.names, odd], describe })).toContain(`${odd} would not be used`)
  })

  it.each([
    ['no word about it', config({ pointing: undefined }), 'tensors that point without a word about them (pointing)'],
    ['words that are none', config({ pointing: [8, 24] }), 'tensors that point without a word about them (pointing)'],
    ['words alone', { names: pointing.source(false).names }, 'without its tensor pointing.layers.0.'],
    ['no rank', config({ pointing: { head_size } }), 'a configuration without pointing.rank'],
    ['a rank of 0', config({ pointing: { rank: 0, head_size } }), 'a configuration without pointing.rank'],
    ['a rank below 0', config({ pointing: { rank: -8, head_size } }), 'pointing.rank = -8'],
    ['a rank of a half', config({ pointing: { rank: 0.5, head_size } }), 'pointing.rank = 0.5'],
    ['a rank that no device multiplies', config({ pointing: { rank: 6, head_size } }), 'pointing.rank = 6'],
    ['a rank of more', config({ pointing: { rank: 16, head_size } }), '[8][12] in place of u32 [16][12]'],
    ['heads of no size', config({ pointing: { rank, head_size: 0 } }), 'a configuration without pointing.head_size'],
    ['another architecture', config({ model_type: 'mistral' }), 'a head that points over layers of another kind'],
    [
      'angles of long texts',
      modelConfig({ rope_scaling: LONG, max_position_embeddings: 512 }),
      'a head that points over layers of another kind',
    ],
    [
      'experts',
      modelConfig({ expert_count: 4, expert_used_count: 2 }),
      'a head that points over layers of another kind',
    ],
  ])('with %s', async (_, change, message) => {
    expect(await refusal(change)).toContain(message)
  })

  it.each([
    'pointing.layers.1.self_attn.o_proj.out.q_scale',
    'pointing.layers.2.post_attention_layernorm.weight',
    'pointing.said',
    'pointing.nothings',
    'pointing.heads.option_k.q_scale',
  ])('where values of %s are no numbers', async (odd) => {
    const read: WeightSource['read'] = async (name) => {
      const tensor = await whole.read(name)
      return name === odd ? { ...tensor, data: new Uint8Array(tensor.data.length).fill(255) } : tensor
    }
    expect(await refusal({ read })).toContain(`Tensor ${odd} holds values that are not numbers`)
  })

  it('where a tensor is cut', async () => {
    const odd = 'pointing.layers.0.mlp.down_proj.into.q_weight'
    const read: WeightSource['read'] = async (name) => {
      const tensor = await whole.read(name)
      return name === odd ? { ...tensor, data: tensor.data.subarray(4) } : tensor
    }
    expect(await refusal({ read })).toContain(`Tensor ${odd} is `)
  })
})
