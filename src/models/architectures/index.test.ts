import { readdirSync, readFileSync } from 'node:fs'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { gemma3 } from '../../../test/oracles/families/gemma.js'
import { CASES } from '../../../test/oracles/families/index.js'
import type { AttentionLayer } from '../model-plan.js'
import { ARCHITECTURES, readModel } from './index.js'

const SIZES = {
  hidden_size: 64,
  intermediate_size: 128,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  vocab_size: 100,
  rms_norm_eps: 1e-6,
}
/** Of models all of whose layers are attention. */
const read = (config: object) => {
  const { model } = readModel({ ...SIZES, ...config }, 'org/model')
  return { ...model, layers: model.layers as readonly AttentionLayer[] }
}
const readLlama = (config: object) => read({ model_type: 'llama', ...config })

describe('a configuration', () => {
  it('is read as MLC nests it, and as transformers does not', () => {
    const { model: mlc } = readModel({
      model_type: 'llama',
      context_window_size: 4096,
      model_config: { ...SIZES, num_key_value_heads: 2, position_embedding_base: 500000, context_window_size: 131072 },
    })
    expect(mlc).toMatchObject({ contextLength: 4096 })
    expect(mlc.layers[0]).toMatchObject({ keyHeads: 2, headSize: 16, angles: { theta: 500000 } })
    const plain = read({ model_type: 'qwen3', head_dim: 32, max_position_embeddings: 512 })
    expect(plain).toMatchObject({ contextLength: 512, layers: { length: 2 } })
    expect(plain.layers[1]).toMatchObject({ keyHeads: 4, headSize: 32, queryKeyNorm: 'head' })
  })

  it('has a sliding window where the model uses one', () => {
    const windows = (config: object) => read(config).layers.map(({ window }) => window)
    expect(windows({ model_type: 'mistral', sliding_window: 4096 })).toEqual([4096, 4096])
    expect(windows({ model_type: 'mistral', sliding_window: null })).toEqual([undefined, undefined])
    expect(windows({ model_type: 'mistral', sliding_window_size: -1 })).toEqual([undefined, undefined])
    expect(windows({ model_type: 'starcoder2', sliding_window: 16, hidden_act: 'gelu_pytorch_tanh' })).toEqual([16, 16])
    const qwen = { model_type: 'qwen2', sliding_window: 32 }
    expect(windows({ ...qwen, use_sliding_window: false })).toEqual([undefined, undefined])
    expect(windows({ ...qwen, use_sliding_window: true, max_window_layers: 1 })).toEqual([undefined, 32])
    const types = ['sliding_attention', 'full_attention']
    expect(windows({ ...qwen, use_sliding_window: true, max_window_layers: 2, layer_types: types })).toEqual([
      32,
      undefined,
    ])
  })

  it('has its angles in either form of transformers', () => {
    const llama3 = {
      rope_type: 'llama3',
      factor: 8,
      low_freq_factor: 1,
      high_freq_factor: 4,
      original_max_position_embeddings: 8192,
    }
    const older = readLlama({ rope_theta: 5000, rope_scaling: llama3 }).layers[0]!.angles
    expect(older).toMatchObject({ theta: 5000, scaling: { type: 'llama3', factor: 8, originalLength: 8192 } })
    expect(readLlama({ rope_parameters: { ...llama3, rope_theta: 5000 } }).layers[0]!.angles).toEqual(older)
    const plain = { rope_type: 'default', rope_theta: 7000 }
    expect(readLlama({ rope_parameters: plain }).layers[0]!.angles).toEqual({ size: 16, theta: 7000 })
    expect(readLlama({}).layers[0]!.angles).toEqual({ size: 16, theta: 10000 })
  })

  it('has the biases that it asks for', () => {
    const biased = (config: object) => read(config).layers[0]!.biased
    expect(biased({ model_type: 'llama', attention_bias: true })).toEqual(['qkv', 'output'])
    expect(biased({ model_type: 'llama', mlp_bias: true })).toEqual(['gateUp', 'up', 'down'])
    expect(biased({ model_type: 'qwen3', attention_bias: true })).toEqual(['qkv', 'output'])
    expect(biased({ model_type: 'qwen2' })).toEqual(['qkv'])
  })

  it.each<[string, object, RegExp]>([
    ['an architecture', { model_type: 'gemma9' }, /org\/model .*"gemma9".*llama/],
    ['no architecture', { model_type: undefined }, /model_type/],
    ['a name that every object has', { model_type: 'constructor' }, /"constructor"/],
    ['an activation', { hidden_act: 'gelu' }, /hidden_act = "gelu"/],
    ['a missing size', { vocab_size: undefined }, /without vocab_size/],
    ['a size that is no number', { hidden_size: '64' }, /hidden_size = "64"/],
    ['four layers and a half', { num_hidden_layers: 4.5 }, /num_hidden_layers = 4\.5/],
    ['half a head', { num_attention_heads: 3 }, /heads of 21\.3/],
    ['key heads', { num_key_value_heads: 3 }, /3 key heads/],
    ['a switch that is none', { attention_bias: 'yes' }, /attention_bias = "yes"/],
    ['an unknown scaling', { rope_scaling: { type: 'stretchy', factor: 4 } }, /"stretchy"/],
    ['an unknown scaling in the newer form', { rope_parameters: { rope_type: 'stretchy' } }, /"stretchy"/],
    ['half a scaling', { rope_parameters: { rope_type: 'linear' } }, /without rope_parameters\.factor/],
    [
      'two scalings',
      { rope_parameters: { rope_type: 'linear', factor: 2 }, rope_scaling: { type: 'linear', factor: 4 } },
      /rope_scaling beside/,
    ],
    ['part of a head turned', { partial_rotary_factor: 0.5 }, /partial_rotary_factor = 0\.5/],
    ['a field of another model', { attn_logit_softcapping: 50 }, /attn_logit_softcapping = 50/],
    ['a field within the angles', { rope_parameters: { rope_theta: 1e4, mrope_section: [8, 8] } }, /parameters\.mrope/],
    ['quantised weights', { quantization_config: { quant_method: 'awq', bits: 4 } }, /quantization_config = .*"awq"/],
    [
      'a layer of another kind',
      { model_type: 'qwen3', layer_types: ['linear_attention', 'full_attention'] },
      /linear_/,
    ],
    ['kinds for other layers', { model_type: 'qwen3', layer_types: ['full_attention'] }, /layer_types with 1 entries/],
  ])('is refused by name for %s', (_, config, message) => {
    expect(() => readLlama(config)).toThrow(message)
  })

  it.each<[string, object, RegExp]>([
    [
      'experts of an unknown size',
      { enable_moe_block: true, num_experts: 8, top_k_experts: 2 },
      /moe_intermediate_size/,
    ],
    [
      'keys that its heads do not share',
      { attention_k_eq_v: true, num_global_key_value_heads: 3 },
      /key_value_heads = 3/,
    ],
    ['both directions', { use_bidirectional_attention: 'all' }, /use_bidirectional_attention = "all"/],
    ['a window in the last layer', { layer_types: ['full_attention', 'sliding_attention'] }, /layer_types/],
    ['keys of no layer of its kind', { num_kv_shared_layers: 1 }, /num_kv_shared_layers = 1/],
    ['another vocabulary', { hidden_size_per_layer_input: 32, vocab_size_per_layer_input: 50 }, /per_layer_input = 50/],
    ['angles of another kind', { rope_parameters: { full_attention: { rope_type: 'yarn' } } }, /rope_type = "yarn"/],
    ['heads of several sizes', { per_layer_config: { 1: { head_dim: 64, sliding_window: 8 } } }, /sliding_window = 8/],
  ])('of Gemma 4 is refused by name for %s', (_, config, message) => {
    const types = ['sliding_attention', 'full_attention']
    const sizes = { model_type: 'gemma4', head_dim: 32, global_head_dim: 64, layer_types: types }
    expect(() => read({ ...sizes, ...config })).toThrow(message)
  })

  it('of gpt-oss is refused for other bounds of its gates', () => {
    const experts = { num_local_experts: 8, num_experts_per_tok: 2 }
    expect(() => read({ model_type: 'gpt_oss', ...experts, swiglu_limit: 5 })).toThrow(/swiglu_limit = 5/)
  })

  it('of Gemma 4 says how large the heads of full layers are, in either form of transformers', () => {
    const types = ['sliding_attention', 'full_attention', 'sliding_attention', 'full_attention']
    const sizes = { model_type: 'gemma4_text', head_dim: 32, num_hidden_layers: 4, layer_types: types }
    const older = read({ ...sizes, global_head_dim: 64, num_kv_shared_layers: 2 })
    const each = { 1: { head_dim: 64 }, 3: { head_dim: 64 } }
    expect(read({ ...sizes, per_layer_config: each, num_kv_shared_layers: 2 })).toEqual(older)
    expect(older.layers.map(({ headSize, keysOf, window }) => [headSize, keysOf, window])).toEqual([
      [32, undefined, 512],
      [64, undefined, undefined],
      [32, 0, 512],
      [64, 1, undefined],
    ])
    expect(older.layers[1]!.angles).toEqual({ size: 64, theta: 1_000_000, pairs: 8 })
  })

  it('may say much that changes nothing', () => {
    const idle = {
      architectures: ['LlamaForCausalLM'],
      attention_dropout: 0.1,
      bos_token_id: 1,
      initializer_range: 0.02,
      torch_dtype: 'bfloat16',
      use_cache: true,
      head_dim: null,
      sliding_window: null,
      transformers_version: '5.0.0',
      pretraining_tp: 1,
    }
    expect(readLlama(idle)).toEqual(readLlama({}))
  })
})

describe('angles that are scaled', () => {
  // Of Gemma 3 only the full layers are, of Gemma 4 none by these; LongRoPE is Phi's own.
  const scaled = CASES.filter(({ name }) => !['gemma4', 'gemma4_moe', 'gemma3', 'phi3', 'phi4-mini'].includes(name))
  const yarn = { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 512, beta_fast: 24 }
  const scalings = [yarn, { rope_type: 'dynamic', factor: 2 }, { rope_type: 'linear', factor: 4 }]

  it.each(scaled.flatMap(({ name, config }) => scalings.map((scaling) => ({ name, config, scaling }))))(
    '$scaling.rope_type: $name reads both forms of transformers',
    ({ config, scaling }) => {
      const plain = { ...config, rope_parameters: undefined, rope_scaling: undefined, rope_theta: undefined }
      const theta = 5000
      const newer = read({ ...plain, rope_parameters: { ...scaling, rope_theta: theta } })
      const { rope_type: type, ...rest } = scaling
      const older = read({ ...plain, rope_theta: theta, rope_scaling: { type, ...rest } })
      expect(newer).toEqual(older)
      const turned = newer.layers.filter((layer) => layer.kind === 'attention')
      expect(turned.length).toBeGreaterThan(0)
      for (const { angles } of turned) {
        expect(angles.theta).toBe(theta)
        if (type === 'dynamic') expect(angles.scaling).toBeUndefined()
        else expect(angles.scaling).toMatchObject({ type, factor: scaling.factor })
      }
      // Its angles would change while a text grows past what the model was trained for.
      expect(newer.contextLength).toBe(2048)
      if (type === 'yarn') expect(turned[0]!.angles.scaling).toMatchObject({ originalLength: 512, fast: 24 })
    },
  )

  it('Gemma 3 scales its full layers alone, in either form', () => {
    const { rope_scaling: _, rope_theta, ...plain } = gemma3.config as Record<string, unknown>
    const newer = read({
      ...plain,
      rope_parameters: {
        full_attention: { ...yarn, rope_theta },
        sliding_attention: { rope_type: 'default', rope_theta: 10_000 },
      },
    })
    expect(newer).toEqual(read({ ...plain, rope_theta, rope_scaling: yarn }))
    expect(newer.layers[5]!.angles.scaling).toMatchObject({ type: 'yarn', factor: 4 })
    expect(newer.layers[0]!.angles.scaling).toBeUndefined()
  })

  it.each([
    ['phi3', 48],
    ['qwen3_5_text', 16],
  ])('the part of a head that %s turns stands among its angles or outside', (model_type, size) => {
    const partial_rotary_factor = size / 64
    const sizes = { model_type, num_hidden_layers: 4, head_dim: 64, partial_rotary_factor }
    const among = { rope_type: 'default', partial_rotary_factor }
    const outside = read({ ...sizes, rope_parameters: { rope_type: 'default' } }).layers.at(-1)!
    expect(outside).toEqual(read({ ...sizes, rope_parameters: among }).layers.at(-1)!)
    expect(outside.angles.size).toBe(size)
    expect(() => read({ ...sizes, partial_rotary_factor: 2 ** 24 })).toThrow('partial_rotary_factor = 16777216')
  })
})

/** The parts of a layer in the order in which `layer` gives them, if that is the last of what this statement says. */
function layerToldBy(statement: ts.Statement, source: ts.SourceFile): (string | undefined)[] | undefined {
  const declaration = ts.isVariableStatement(statement) ? statement.declarationList.declarations[0] : undefined
  if (declaration?.type?.getText(source) !== 'Architecture' || !ts.isObjectLiteralExpression(declaration.initializer!))
    return undefined
  const layer = declaration.initializer.properties.at(-1)!
  if (layer.name?.getText(source) !== 'layer') return []
  let given: ts.Node | undefined = ts.isPropertyAssignment(layer) ? layer.initializer : layer
  while (given && !ts.isObjectLiteralExpression(given)) {
    if (ts.isArrowFunction(given) || ts.isMethodDeclaration(given)) given = given.body
    else if (ts.isBlock(given)) given = given.statements.at(-1)
    else given = ts.isParenthesizedExpression(given) || ts.isReturnStatement(given) ? given.expression : undefined
  }
  return given?.properties.map(({ name }) => name?.getText(source)) ?? []
}

it('an architecture ends in its layer, and so does its file: a mixer, a feed-forward, an arrangement', () => {
  const folder = new URL('./', import.meta.url)
  const files = readdirSync(folder).filter((name) => !name.includes('.test'))
  const architectures = files.flatMap((name) => {
    const source = ts.createSourceFile(name, readFileSync(new URL(name, folder), 'utf8'), ts.ScriptTarget.Latest)
    const layers = source.statements.map((statement) => layerToldBy(statement, source))
    const found = layers.flatMap((parts) => (parts ? [{ name, parts: parts.slice(0, 3) }] : []))
    // Nothing stands behind the last one.
    return found.length > 0 && !layers.at(-1) ? [...found, { name, parts: [] }] : found
  })
  expect(architectures.filter(({ parts }) => parts.join() !== 'mixer,feedForward,arrangement')).toEqual([])
  expect(architectures).toHaveLength(new Set(Object.values(ARCHITECTURES)).size)
})
