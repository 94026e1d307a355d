/** What is not understood is refused by name, of every architecture: nothing is uploaded by then. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Metadata } from '../../../bench/peers/gguf-file.js'
import { CROSS_ENCODERS } from '../../../test/oracles/encoders/cross.js'
import { ENCODERS } from '../../../test/oracles/encoders/index.js'
import { encoderSource } from '../../../test/oracles/encoders/source.js'
import { CASES } from '../../../test/oracles/families/index.js'
import { granite4 } from '../../../test/oracles/families/variants.js'
import type { Case, Weights } from '../../../test/oracles/family.js'
import { writeGguf } from '../../../test/oracles/files/gguf.js'
import { FULL } from '../../../test/support/full.js'
import { ownFolder } from '../../../test/support/own-folder.js'
import type { Device } from '../../device/contract.js'
import { openCpuDevice } from '../../device/cpu/index.js'
import { planEncoderLoad } from '../encoders/load-encoder.js'
import { openRepository } from '../files/open.js'
import type { WeightOutline, WeightSource } from '../files/source.js'
import { planModel } from '../plan-model.js'
import { sourceOf } from './cases.test-helper.js'
import { readModel } from './index.js'

let device: Device
beforeAll(async () => {
  device = await openCpuDevice({ threads: 1 })
})
afterAll(() => device.destroy())

/** Files have them in layers that see the keys of others; nobody needs them. */
const idleIn = ({ name, config }: Case, tensor: string, layerOf: RegExp) => {
  const layer = Number(layerOf.exec(tensor)?.[1] ?? -1)
  const owners = Number(config.num_hidden_layers) - Number(config.num_kv_shared_layers ?? 0)
  if (name !== 'gemma4') return false
  // A full layer without values in a GGUF file takes what keys are made of.
  const full = (config.layer_types as string[])[layer] === 'full_attention' && tensor.includes('.attn_v.')
  return full || (layer >= owners && /(self_attn\.[kv]_|attn_[kv])/.test(tensor))
}

const without = (outline: WeightOutline, name: string): WeightOutline => ({
  ...outline,
  names: outline.names.filter((each) => each !== name),
})
/** Another tensor of the same shape as `like`. */
const withMore = (outline: WeightOutline, name: string, like: string): WeightOutline => ({
  ...outline,
  names: [...outline.names, name],
  describe: (each) => (each === name ? { ...outline.describe(like), name } : outline.describe(each)),
})
const reshaped = (outline: WeightOutline, name: string): WeightOutline => ({
  ...outline,
  describe: (each) => {
    const { shape, ...tensor } = outline.describe(each)
    return each === name ? { ...tensor, shape: [shape[0]! + 32, ...shape.slice(1)] } : { ...tensor, shape }
  },
})
const configured = (outline: WeightOutline, config: object): WeightOutline => ({
  ...outline,
  chatConfig: { ...outline.chatConfig, ...config },
})

/** By default, of names that differ in their layer or their expert alone, the first and the last. */
function someOf(names: readonly string[]): readonly string[] {
  const kindOf = (name: string) => name.replace(/\d+/g, '0')
  const last = new Map(names.map((name) => [kindOf(name), name]))
  const first = new Map([...names].reverse().map((name) => [kindOf(name), name]))
  return FULL ? names : [...new Set([...first.values(), ...last.values()])]
}

/** Every tensor in turn is missing, or has another shape; some are too many. */
function refusesTensors(
  plan: (outline: WeightOutline) => unknown,
  outline: WeightOutline,
  idle: (name: string) => boolean,
) {
  plan(outline)
  for (const name of someOf(outline.names.filter((name) => !idle(name)))) {
    // Without a head of its own a file's embedding is its head.
    if (name !== 'output.weight') expect(() => plan(without(outline, name)), `without ${name}`).toThrow(name)
    expect(() => plan(reshaped(outline, name)), `${name} of another shape`).toThrow(name)
  }
}

// What no architecture reads, in the words that such fields are made of.
const STRANGE = ['qk_odd', 'odd_multiplier', 'odd_norm', 'odd_bias', 'odd_window', 'num_odd_experts', 'odd_scale'].map(
  (field) => [field, 3] as const,
)

describe.each(CASES)('$name', (of) => {
  const outline = sourceOf(of, 'f32')
  const plan = (given: WeightOutline) => planModel(given, device)

  it('is refused for a tensor that is missing, and for one of another shape', () => {
    refusesTensors(plan, outline, (name) => idleIn(of, name, /layers\.(\d+)\./))
  })

  it('is refused for a tensor that nobody would use', () => {
    const last = of.tensors.at(-1)!.name
    const projection = of.tensors.find(({ name }) => /self_attn\.\w*proj\.weight$/.test(name))!.name
    for (const name of [
      'model.layers.0.self_attn.odd.weight',
      'model.odd_norm.weight',
      'odd.weight',
      last.replace(/\d+/, '99'),
      `${projection.replace(/weight$/, '')}weight_scale`,
    ]) {
      expect(() => plan(withMore(outline, name, last)), name).toThrow(name)
    }
  })

  it.each(STRANGE)('is refused for %s, which it does not know', (field, value) => {
    expect(() => plan(configured(outline, { [field]: value }))).toThrow(`${field} = ${value}`)
  })

  it('is refused for what it does not know of angles', () => {
    const { rope_parameters, rope_scaling, rope_theta } = of.config
    const parts = { ...(rope_parameters as object), ...(!rope_parameters && { rope_theta }) } as Record<string, object>
    const full = parts.full_attention
    const odd = full
      ? { ...parts, full_attention: { ...full, odd_factor: 3 } }
      : { ...parts, ...(rope_scaling as object), odd_factor: 3 }
    const angles = { rope_parameters: odd, rope_scaling: undefined }
    expect(() => plan(configured(outline, angles))).toThrow('odd_factor = 3')
    const kind = { rope_type: 'odd', type: 'odd', factor: 2, rope_theta: 1e4 }
    const other = { rope_parameters: full ? { ...parts, full_attention: kind } : kind, rope_scaling: undefined }
    expect(() => plan(configured(outline, other))).toThrow('"odd"')
  })

  it('is refused for an activation that is not its own', () => {
    for (const field of ['hidden_act', 'hidden_activation']) {
      expect(() => plan(configured(outline, { [field]: 'relu6' }))).toThrow(`${field} = "relu6"`)
    }
  })

  it('is refused without a size that has no usual value', () => {
    for (const field of ['hidden_size', 'num_hidden_layers', 'num_attention_heads', 'vocab_size']) {
      const given = configured(outline, { [field]: undefined })
      // Gemma 3 is published with few of them, as the class that reads them has the others.
      const usual = of.name === 'gemma3' && field !== 'hidden_size'
      if (usual) expect(() => plan(given), field).toThrow()
      else expect(() => plan(given), field).toThrow(field)
    }
  })
})

/** Nothing of what tensors hold is read before a plan: to make their numbers takes longer than all refusals. */
function zerosOf({ tensors }: Case): Weights {
  const sizes = new Map(tensors.map(({ name, shape }) => [name, shape.reduce((a, b) => a * b)]))
  return (name) => new Float64Array(sizes.get(name)!)
}

describe('of GGUF files', () => {
  const folder = ownFolder()

  const plan = (given: WeightOutline) => planModel(given, device)
  /** Where `more` of its metadata is wrong, matrices are left out, which are looked at later. */
  async function written(of: Case, more?: (out: Metadata, architecture: string) => void): Promise<WeightSource> {
    const path = join(folder, `${of.name}.gguf`)
    const { gguf } = of
    const metadata = (out: Metadata) => {
      gguf!.metadata(out)
      more?.(out, gguf!.architecture)
    }
    const tensors = (weights: Weights) =>
      gguf!.tensors(weights).filter(({ dims }) => more === undefined || dims.length === 1)
    await writeGguf(path, { ...of, gguf: { ...gguf!, metadata, tensors } }, zerosOf(of))
    const options = { report: () => {}, signal: new AbortController().signal, cache: false } as const
    return (await openRepository({ kind: 'folder', path }, options)).weights
  }
  const named = CASES.filter(({ gguf }) => gguf)

  it.each(named)('$name is refused for tensors that are missing, of another shape, or too many', async (of) => {
    const outline = await written(of)
    // Divisors of angles are read as a part of the configuration.
    const rest = { ...outline, names: outline.names.filter((name) => !name.startsWith('rope_')) }
    refusesTensors(plan, rest, (name) => idleIn(of, name, /blk\.(\d+)\./))
    for (const name of ['blk.0.attn_odd.weight', 'odd.weight']) {
      expect(() => plan(withMore(rest, name, 'output_norm.weight')), name).toThrow(name)
    }
  })

  it.each(named)('$name is refused for metadata that it does not know', async (of) => {
    const key = 'attention.odd_scale'
    const outline = await written(of, (out, architecture) => out.u32(`${architecture}.${key}`, 3))
    expect(() => plan(outline)).toThrow('attention_odd_scale = 3')
  })

  // A Llama with experts is Mixtral.
  const plain = named.filter(({ name, config, gguf }) => {
    return name !== 'gemma4' && gguf!.architecture !== 'llama' && !(config.num_experts ?? config.num_local_experts)
  })
  it.each(plain)('$name is refused for experts', async (of) => {
    const outline = await written(of, (out, architecture) => out.u32(`${architecture}.expert_count`, 8))
    expect(() => plan(outline)).toThrow('expert_count = 8')
  })

  it.each(['deepseek2', 'dbrx', 'mamba'])('%s is refused by its name', async (architecture) => {
    const of = CASES[0]!
    const outline = await written({
      ...of,
      gguf: { ...of.gguf!, architecture, metadata: (out) => out.u32(`${architecture}.block_count`, 4) },
    })
    expect(() => plan(outline)).toThrow(`"${architecture}"`)
  })
})

describe('Granite 4.0', () => {
  const refusal =
    (config: object, of: object = granite4.config) =>
    () =>
      readModel({ ...of, ...config })
  const types = granite4.config.layer_types as string[]

  it.each([
    ['experts', { num_local_experts: 62 }, '"granitemoehybrid", a mixture of experts,'],
    [
      'experts that nothing else counts',
      { num_local_experts: undefined, num_experts_per_tok: 8 },
      'mixture of experts',
    ],
    ['a layer of Mamba', { layer_types: types.with(1, 'mamba') }, '"granitemoehybrid" with layers of Mamba'],
    ['layers of no kind', { layer_types: undefined }, '"granitemoehybrid" with layers of Mamba'],
    ['another norm', { normalization_function: 'layernorm' }, 'normalization_function = "layernorm"'],
    ['other positions', { position_embedding_type: 'alibi' }, 'position_embedding_type = "alibi"'],
  ])('is refused for %s, by that name', (_, config, message) => expect(refusal(config)).toThrow(message))

  it('of GGUF files is refused for a layer without keys', () => {
    const given = { model_type: 'granitehybrid', vocab_size: 64, block_count: 2, embedding_length: 64 }
    const heads = { 'attention.head_count': 2, 'attention.head_count_kv': [0, 2], feed_forward_length: 64 }
    const read = (own: object) => () => readModel({ ...given, ...heads, ...own }, 'granite', 'gguf').model
    expect(read({ 'ssm.conv_kernel': 4 })).toThrow('"granitehybrid" with layers of Mamba')
    expect(read({ expert_count: 8 })).toThrow('a mixture of experts')
    const attends = { 'attention.head_count_kv': [2, 2], 'ssm.conv_kernel': 4, expert_count: 0 }
    expect(read(attends)().layers[1]).toMatchObject({ angles: { size: 32 } })
    expect(read({ ...attends, 'rope.scaling.finetuned': false })().layers[1]).toMatchObject({ angles: { size: 0 } })
  })
})

describe('mixtures of experts', () => {
  it.each(['deepseek_v3', 'granitemoehybrid', 'dbrx'])('%s is refused by its name', (model_type) => {
    const outline = configured(sourceOf(CASES[0]!, 'f32'), { model_type })
    expect(() => planModel(outline, device)).toThrow(`"${model_type}"`)
  })
})

describe.each([...ENCODERS, ...CROSS_ENCODERS])('$name', (of) => {
  const { sentence, ...source } = encoderSource(of, 'f32')
  const outline: WeightOutline = sentence ? { ...source, sentence } : source
  const plan = (given: WeightOutline) => planEncoderLoad(given, device, { name: of.name })

  it('is refused for tensors that are missing, of another shape, or too many', () => {
    refusesTensors(plan, outline, (name) => /pooler/.test(name))
    const last = outline.names.at(-1)!
    for (const name of ['encoder.odd.weight', 'odd.weight', last.replace(/\d+/, '99').concat('.odd')]) {
      expect(() => plan(withMore(outline, name, last)), name).toThrow(name)
    }
  })

  it.each(STRANGE)('is refused for %s, which it does not know', (field, value) => {
    expect(() => plan(configured(outline, { [field]: value }))).toThrow(`${field} = ${value}`)
  })
})
