import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Metadata } from '../../../bench/peers/gguf-file.js'
import { cohere2 } from '../../../test/oracles/families/cohere.js'
import { graniteMoe, lfm2Moe, mixtral, qwen2Moe, qwen3Moe, qwen35Moe } from '../../../test/oracles/families/experts.js'
import { gemma2, gemma3 } from '../../../test/oracles/families/gemma.js'
import { gemma4 } from '../../../test/oracles/families/gemma4.js'
import { gemma4Moe } from '../../../test/oracles/families/gemma4-moe.js'
import { gptOss } from '../../../test/oracles/families/gpt-oss.js'
import { CASES as ALL } from '../../../test/oracles/families/index.js'
import { phi, stablelm, starcoder2 } from '../../../test/oracles/families/layer-norms.js'
import { lfm2 } from '../../../test/oracles/families/lfm2.js'
import { llama } from '../../../test/oracles/families/llama.js'
import { ministral3 } from '../../../test/oracles/families/mistral3.js'
import { phi3, phi4Mini } from '../../../test/oracles/families/phi3.js'
import { qwen35 } from '../../../test/oracles/families/qwen3-5.js'
import { apertus, arcee, granite, granite4, olmo2 } from '../../../test/oracles/families/variants.js'
import type { Case, Weights } from '../../../test/oracles/family.js'
import { writeGguf } from '../../../test/oracles/files/gguf.js'
import { mlxConfig, mlxTensors, throughMlx } from '../../../test/oracles/files/mlx.js'
import { safetensorsFile } from '../../../test/oracles/files/safetensors.js'
import { answerOf, compare, retold } from '../../../test/oracles/judge.js'
import { throughMlc, throughMxfp4 } from '../../../test/oracles/rounded.js'
import { weightsOf } from '../../../test/oracles/weights.js'
import { FULL } from '../../../test/support/full.js'
import { ownFolder } from '../../../test/support/own-folder.js'
import type { Device } from '../../device/contract.js'
import { openCpuDevice } from '../../device/cpu/index.js'
import { DEVICES } from '../../device/operations/devices.test-helper.js'
import { joined } from '../../platform/bytes.js'
import { openRepository } from '../files/open.js'
import type { WeightSource } from '../files/source.js'
import { loadCore } from '../load.js'
import { planModel } from '../plan-model.js'
import { storedName } from '../planned.js'
import { GREEDY, predictions, sourceOf } from './cases.test-helper.js'
import { readModel } from './index.js'

const COUNT = 12
/** With a few tokens: windows and angles are as where the same is read from other numbers. */
const short = (of: Case): Case => (FULL ? of : { ...of, prompt: Math.min(24, of.prompt) })
/** Families in which it matters how far back a token is, and how many came before in a state. */
const REACH = /"(sliding_window|original_max_position_embeddings|conv_L_cache|linear_conv_kernel_dim)":\d/
const reaching = (of: Case): Case => (REACH.test(JSON.stringify(of.config)) ? of : short(of))
/** Nothing is peculiar about those, which are as Llama is. */
const CASES = ALL.filter(({ name }) => !['llama', 'mistral', 'qwen2', 'qwen3'].includes(name)).map(reaching)
const among = (some: readonly Case[]) => CASES.filter(({ name }) => some.some((one) => one.name === name))

/** Nats. f32 alone is as far off as llama.cpp is; keys and values in f16 add to it. */
const BOUNDS = { f32: 2e-3, f16: 3e-2 } as const

describe('architectures on the CPU', () => {
  let device: Device
  beforeAll(async () => {
    device = await openCpuDevice({ threads: 1 })
  })
  afterAll(() => device.destroy())

  // Where its weights are read as others' are, f16 makes no difference between architectures.
  const inHalf = FULL ? CASES : among([arcee, gemma4, gptOss, lfm2, phi3, qwen35, qwen3Moe])
  const cases = (dtype: 'f32' | 'f16', all: typeof CASES) => all.map((of) => ({ name: of.name, of, dtype }))
  it.each([...cases('f32', CASES), ...cases('f16', inHalf)])(
    '$name in $dtype: greedy tokens and log probabilities are those of float64',
    async ({ of, dtype }) => {
      const { tokens, logprobs } = answerOf(of, weightsOf(of), COUNT)
      const core = await loadCore(device, sourceOf(of, dtype), { contextLength: of.context ?? 144 })
      for (const chunk of [64, of.prompt > 24 ? 24 : 10]) {
        const verdict = compare(logprobs, await predictions(core, tokens, COUNT, chunk))
        expect(verdict.worst).toBeLessThan(BOUNDS[dtype])
        if (dtype === 'f32') expect(verdict.wrongTokens).toBe(0)
      }
      await core.close()
    },
  )
})

describe('architectures on the CPU, in 4 bits', () => {
  let device: Device
  beforeAll(async () => {
    device = await openCpuDevice({ threads: 1, exact: true })
  })
  afterAll(() => device.destroy())

  /** The names of the tensors that are kept in them. */
  function kept(of: Case): ReadonlySet<string> {
    const { model, tensors } = planModel(sourceOf(of, 'f32'), device, { quantize: 'q4f16_1' })
    expect(model.layers.length).toBe(of.config.num_hidden_layers)
    const matrices = [
      tensors.embedding,
      tensors.head ?? tensors.embedding,
      ...(tensors.perLayer ? [...tensors.perLayer.tables, tensors.perLayer.product] : []),
      ...tensors.layers.flatMap(({ matrices }) => Object.values(matrices)),
    ]
    return new Set(matrices.filter(({ quantize }) => quantize).flatMap(({ parts }) => parts.map(storedName)))
  }

  it.each(CASES)('$name: its matrices are to be kept in them', (of) => {
    expect(kept(of).size).toBeGreaterThan(of.tensors.length / 3)
  })

  // The others have no matrices but those of these, and are run in f32; that theirs are kept so is held above.
  const inFour = FULL
    ? CASES
    : [...[apertus, cohere2, gemma4, gptOss, granite4, graniteMoe, lfm2, mixtral, phi, phi3, qwen2Moe, qwen35]]
  it.each(inFour.map(short))(
    '$name: greedy tokens and log probabilities are those of float64 with the same weights',
    async (of) => {
      const four = kept(of)
      const plain = weightsOf(of)
      const weights: Weights = (name) => (four.has(name) ? throughMlc(plain(name)) : plain(name))
      const known = new Map<string, ReturnType<Weights>>()
      const once: Weights = (name) => {
        const values = known.get(name) ?? weights(name)
        known.set(name, values)
        return values
      }
      const { tokens, logprobs } = answerOf(of, once, COUNT)
      const core = await loadCore(device, sourceOf(of, 'f32'), {
        contextLength: of.context ?? 144,
        quantize: 'q4f16_1',
      })
      const verdict = compare(logprobs, await predictions(core, tokens, COUNT, 64))
      expect(verdict.worst).toBeLessThan(BOUNDS.f32)
      expect(verdict.wrongTokens).toBe(0)
      await core.close()
    },
  )
})

describe('architectures on the CPU, from GGUF files as llama.cpp takes them', () => {
  let device: Device
  const folder = ownFolder()
  beforeAll(async () => {
    device = await openCpuDevice({ threads: 1 })
  })
  afterAll(() => device.destroy())

  const sourceAt = async (path: string) => {
    const options = { report: () => {}, signal: new AbortController().signal, cache: false } as const
    return (await openRepository({ kind: 'folder', path }, options)).weights
  }

  // What llama.cpp makes of the same files is held against float64 by check:models.
  it.each([llama, ...CASES])('$name: greedy tokens and log probabilities are those of float64', async (of) => {
    const path = join(folder, `${of.name}.gguf`)
    await writeGguf(path, of, weightsOf(of))
    const { tokens, logprobs } = answerOf(of, weightsOf(of), COUNT)
    const core = await loadCore(device, await sourceAt(path), { contextLength: Math.min(of.context ?? 144, 512) })
    const verdict = compare(logprobs, await predictions(core, tokens, COUNT, 64))
    expect(verdict.worst).toBeLessThan(BOUNDS.f32)
    expect(verdict.wrongTokens).toBe(0)
    await core.close()
  })

  it.each([
    ['a window of a kind that is not known', olmo2, 'attention.sliding_window', 16, 'sliding_window = 16'],
    ['experts', granite, 'expert_count', 8, 'expert_count = 8'],
    ['a scaling of its own', granite, 'rope.scaling.odd', 3, 'rope_scaling_odd = 3'],
    ['a part of a head that does not turn', granite, 'rope.dimension_count', 32, 'rope.dimension_count = 32'],
    ['more than a head that turns', stablelm, 'rope.dimension_count', 2 ** 24, 'rope.dimension_count = 16777216'],
  ])('%s is refused by its key', async (_, of, key, value, message) => {
    const path = join(folder, 'refused.gguf')
    const { architecture, metadata } = of.gguf!
    const more = (out: Metadata) => {
      metadata(out)
      out.u32(`${architecture}.${key}`, value)
    }
    await writeGguf(path, { ...of, gguf: { ...of.gguf!, metadata: more } }, weightsOf(of))
    const weights = await sourceAt(path)
    expect(() => planModel(weights, device)).toThrow(message)
  })

  it.each([
    ['in no order', [1, 0, 0, 1, 1], [false, true, true, false, false]],
    ['as booleans', [false, true, true, true, false], [true, false, false, false, true]],
    ['all of them', [true, true, true, true, true], [false, false, false, false, false]],
    ['none of them', [0, 0, 0, 0, 0], [true, true, true, true, true]],
    ['by their interval', undefined, [false, true, false, true, false]],
  ])('which layers of Qwen3.5 keep a state is said of each, or by an interval: %s', (_, listed, attend) => {
    const { metadata, architecture } = qwen35.gguf!
    const fields: Record<string, unknown> = {}
    const note = (key: string, value: unknown) => {
      fields[key.replace(`${architecture}.`, '')] = value
    }
    metadata(new Proxy({}, { get: () => note }) as Metadata)
    const given = {
      ...{ ...fields, model_type: architecture, vocab_size: 64, full_attention_interval: 2 },
      ...(listed && { 'attention.recurrent_layers': listed }),
    }
    const { layers } = readModel(given, 'qwen', 'gguf').model
    expect(layers.map(({ kind }) => kind === 'attention')).toEqual(attend)
    const short = { ...given, 'attention.recurrent_layers': [1, 0] }
    expect(() => readModel(short, 'qwen', 'gguf')).toThrow('layer_types')
  })

  it('what the largest Gemma scales its scores by is not in the file', () => {
    const read = (layers: number) =>
      readModel(
        {
          ...{ model_type: 'gemma2', vocab_size: 64, embedding_length: 4608, block_count: layers, context_length: 64 },
          ...{ 'attention.head_count': 32, 'attention.key_length': 128, feed_forward_length: 64 },
        },
        'gemma',
        'gguf',
      ).model.layers[0]
    expect(read(42)).toMatchObject({ scale: 128 ** -0.5 })
    expect(read(46)).toMatchObject({ scale: 144 ** -0.5 })
  })
})

describe('architectures on the CPU, from repositories as mlx-lm writes them', () => {
  let device: Device
  const folder = ownFolder()
  beforeAll(async () => {
    device = await openCpuDevice({ threads: 1, exact: true })
  })
  afterAll(() => device.destroy())

  // The others are check:models' matter: of the latter two convolutions are turned, of one the norms grown.
  it.each([llama, granite4, lfm2, qwen35].map(short))(
    '$name: greedy tokens and log probabilities are those of float64',
    async (of) => {
      const path = join(folder, of.name)
      await mkdir(path)
      await writeFile(join(path, 'config.json'), JSON.stringify(mlxConfig(of)))
      await writeFile(join(path, 'tokenizer.json'), '{}')
      await writeFile(join(path, 'model.safetensors'), safetensorsFile(mlxTensors(of, weightsOf(of))))
      const options = { report: () => {}, signal: new AbortController().signal, cache: false } as const
      const { weights } = await openRepository({ kind: 'folder', path }, options)
      const { tokens, logprobs } = answerOf(of, throughMlx(of, weightsOf(of)), COUNT)
      const core = await loadCore(device, weights, { contextLength: 144 })
      const verdict = compare(logprobs, await predictions(core, tokens, COUNT, 64))
      expect(verdict.worst).toBeLessThan(BOUNDS.f16)
      // Keys and values are kept in f16, which float64 does not.
      expect(verdict.wrongTokens).toBeLessThan(2)
      await core.close()
      const plain = answerOf(of, weightsOf(of), COUNT).logprobs.map((logprobs) => (token: number) => logprobs[token]!)
      expect(compare(logprobs, plain).worst).toBeGreaterThan(10 * BOUNDS.f16)
    },
  )
})

describe('architectures on the CPU, from folders as transformers writes gpt-oss', () => {
  let device: Device
  const folder = ownFolder()
  beforeAll(async () => {
    device = await openCpuDevice({ threads: 1, exact: true })
  })
  afterAll(() => device.destroy())

  const SHORT = short(gptOss)
  it.each([
    ['plain numbers, columns before rows', 'F32'],
    ['blocks of MXFP4', 'MXFP4'],
  ] as const)('in %s: greedy tokens and log probabilities are those of float64', async (_, type) => {
    const path = join(folder, type)
    await mkdir(path)
    const quantised = { quantization_config: { quant_method: 'mxfp4' } }
    await writeFile(join(path, 'config.json'), JSON.stringify({ ...gptOss.config, ...(type === 'MXFP4' && quantised) }))
    await writeFile(join(path, 'tokenizer.json'), '{}')
    await writeFile(join(path, 'model.safetensors'), safetensorsFile(gptOss.folder!(weightsOf(gptOss), type)))
    const options = { report: () => {}, signal: new AbortController().signal, cache: false } as const
    const { weights: source } = await openRepository({ kind: 'folder', path }, options)
    const plain = weightsOf(gptOss)
    const inBlocks = (name: string) => type === 'MXFP4' && name.includes('.experts.') && name.endsWith('.weight')
    const known = new Map<string, ReturnType<Weights>>()
    const weights: Weights = (name) => {
      const values = known.get(name) ?? (inBlocks(name) ? throughMxfp4(plain(name)) : plain(name))
      known.set(name, values)
      return values
    }
    const { tokens, logprobs } = answerOf(SHORT, weights, COUNT)
    const core = await loadCore(device, source, { contextLength: 144 })
    const verdict = compare(logprobs, await predictions(core, tokens, COUNT, 64))
    expect(verdict.worst).toBeLessThan(type === 'F32' ? BOUNDS.f32 : BOUNDS.f16)
    expect(verdict.wrongTokens).toBe(0)
    await core.close()
  })
})

describe('experts on the CPU', () => {
  let device: Device
  beforeAll(async () => {
    device = await openCpuDevice({ threads: 1 })
  })
  afterAll(() => device.destroy())

  const MLP = /^(.*\.mlp)\.experts\.\d+\.(gate|up|down)_proj\.weight$/
  /** All of a layer in one, as `named` calls it; of one name gates and values of an expert lie together. */
  function inOne(named: (at: string, part: string) => string): WeightSource {
    const plain = sourceOf(qwen3Moe, 'f32')
    const parts = new Map<string, string[]>()
    for (const name of plain.names) {
      const [, at, part] = MLP.exec(name) ?? []
      const all = at === undefined ? name : named(at, part!)
      parts.set(all, [...(parts.get(all) ?? []), name])
    }
    const experts = qwen3Moe.config.num_experts as number
    const describe = (name: string) => {
      const of = parts.get(name)!
      const one = plain.describe(of[0]!)
      if (of.length === 1) return one
      return { name, dtype: one.dtype, shape: [experts, (of.length / experts) * one.shape[0]!, one.shape[1]!] }
    }
    const read = async (name: string) => {
      const all = await Promise.all(parts.get(name)!.map((each) => plain.read(each)))
      return { ...describe(name), data: joined(all.map(({ data }) => data)) }
    }
    return { ...plain, names: [...parts.keys()], has: (name) => parts.has(name), describe, read }
  }

  it.each([
    ['mlx-lm', (at: string, part: string) => `${at}.switch_mlp.${part}_proj.weight`],
    ['transformers 5', (at: string, part: string) => `${at}.experts.${part === 'down' ? 'down' : 'gate_up'}_proj`],
  ])('are read where %s has all of a layer in one tensor', async (_, named) => {
    const { tokens, logprobs } = answerOf(qwen3Moe, weightsOf(qwen3Moe), COUNT)
    const core = await loadCore(device, inOne(named), { contextLength: 144 })
    expect(compare(logprobs, await predictions(core, tokens, COUNT, 64)).worst).toBeLessThan(BOUNDS.f32)
    await core.close()
  })

  it('take about as much memory as is said before', async () => {
    const options = { contextLength: 144, maxBatch: 2 }
    const { bytes } = planModel(sourceOf(qwen2Moe, 'f32'), device, options).size
    const before = device.memory.bytes
    const core = await loadCore(device, sourceOf(qwen2Moe, 'f32'), options)
    await core.step([{ sequence: core.open(), tokens: Array.from({ length: 60 }, (_, i) => i), sample: GREEDY }])
    const taken = device.memory.bytes - before
    await core.close()
    expect(taken).toBeLessThanOrEqual(bytes.total + 64 * device.memory.buffers)
    expect(taken).toBeGreaterThan(0.8 * bytes.total)
  })

  it.each([
    ['more are chosen than there are', { num_experts_per_tok: 13 }, 'num_experts_per_tok = 13'],
    ['their size is no multiple of 32', { moe_intermediate_size: 100 }, 'experts of 100 values'],
    ['a layer without them is named strangely', { mlp_only_layers: 'all' }, 'mlp_only_layers = "all"'],
  ])('are refused where %s', (_, config, message) => {
    const plain = sourceOf(qwen3Moe, 'f32')
    expect(() => planModel({ ...plain, chatConfig: { ...plain.chatConfig, ...config } }, device)).toThrow(message)
  })
})

describe('formats and limits on the CPU', () => {
  let device: Device
  beforeAll(async () => {
    device = await openCpuDevice({ threads: 1 })
  })
  afterAll(() => device.destroy())

  it.each([undefined, 1024])(
    'LongRoPE: a short prompt has the short factors in any context (%s)',
    async (contextLength) => {
      const { tokens, logprobs } = answerOf(phi4Mini, weightsOf(phi4Mini), COUNT)
      const core = await loadCore(device, sourceOf(phi4Mini, 'f32'), { ...(contextLength && { contextLength }) })
      expect(core.contextLength).toBeGreaterThan(Number(phi4Mini.config.original_max_position_embeddings))
      const ours = await predictions(core, tokens, COUNT, 64)
      await core.close()
      expect(compare(logprobs, ours).worst).toBeLessThan(BOUNDS.f32)
      // What the configuration alone would choose is something else.
      const mistaken = retold(phi4Mini, weightsOf(phi4Mini), { tokens, logprobs }, 'takes factors by the configuration')
      expect(compare(mistaken, ours).worst).toBeGreaterThan(BOUNDS.f32)
    },
  )

  it('Qwen 3.5 of a vision checkpoint is run without what sees and what guesses ahead', async () => {
    const plain = sourceOf(qwen35, 'f32')
    const inner = (name: string) => name.replace('model.language_model.', 'model.')
    const { tie_word_embeddings, ...text_config } = qwen35.config
    const core = await loadCore(device, {
      ...plain,
      chatConfig: { model_type: 'qwen3_5', tie_word_embeddings, text_config, vision_config: { depth: 2 } },
      names: [
        ...plain.names.map((name) => name.replace('model.', 'model.language_model.')),
        ...['model.visual.blocks.0.attn.qkv.weight', 'vision_tower.blocks.0.attn.qkv.weight', 'mtp.fc.weight'],
      ],
      describe: (name) => plain.describe(inner(name)),
      read: (name) => plain.read(inner(name)),
    })
    expect(core.vocabSize).toBe(qwen35.config.vocab_size)
    await core.close()
    const strange = { ...plain, names: [...plain.names, 'model.layers.0.linear_attn.extra.weight'] }
    expect(() => planModel(strange, device)).toThrow('linear_attn.extra.weight')
  })

  it('Gemma 4 of a checkpoint that sees and hears is run without either', async () => {
    const plain = sourceOf(gemma4, 'f32')
    const inner = (name: string) => name.replace('model.language_model.', 'model.')
    const others = ['model.embed_vision.embedding_projection.weight', 'model.audio_tower.output_proj.bias']
    const outline = {
      ...plain,
      chatConfig: { model_type: 'gemma4', text_config: gemma4.config, audio_config: {}, vision_config: {} },
      names: [...others, ...plain.names.map((name) => name.replace('model.', 'model.language_model.'))],
      describe: (name: string) => plain.describe(inner(name)),
    }
    expect(planModel(outline, device).model.layers.length).toBe(gemma4.config.num_hidden_layers)
    const strange = { ...outline, names: [...outline.names, 'model.language_model.layers.0.self_attn.extra.weight'] }
    expect(() => planModel(strange, device)).toThrow('self_attn.extra.weight')
  })

  it('the decoder of a model that sees is run without what sees', async () => {
    const plain = sourceOf(gemma3, 'f32')
    const core = await loadCore(device, {
      ...plain,
      chatConfig: { model_type: 'gemma3', text_config: gemma3.config, vision_config: { hidden_size: 8 } },
      names: [...plain.names.map((name) => `language_model.${name}`), 'vision_tower.encoder.weight'],
      describe: (name) => plain.describe(name.replace('language_model.', '')),
      read: (name) => plain.read(name.replace('language_model.', '')),
    })
    expect(core.vocabSize).toBe(gemma3.config.vocab_size)
    await core.close()
  })
})

const ON_GPU = [
  ...[arcee, cohere2, gemma2, gemma3, gemma4, gemma4Moe, gptOss, lfm2, ministral3, olmo2, qwen35, qwen3Moe, qwen35Moe],
  lfm2Moe,
  ...[apertus, mixtral, phi, stablelm, starcoder2],
]
/**
 * SwiftShader compiles a family's kernels for seconds, and `operations` holds each kernel by itself on each cut. Here are,
 * by default, of those cut for hardware the one that has the most of what others have one by one (sinks, windows, biases,
 * clamped experts) and one that keeps states; `draft-head.test.ts` has Qwen 3.5 there.
 */
const ON_HARDWARE = FULL ? ON_GPU : [gptOss, lfm2]
/** And here each bend, order and norm that has kernels of its own once, on the family with the fewest others. */
const ON_SOFTWARE = FULL ? ON_GPU : [apertus, arcee, cohere2, gemma2, ministral3, olmo2, phi, qwen35Moe, stablelm]
/** Passes of hardware are of many rows, or of one; with so many the last of a prompt is of few, which have other kernels. */
const chunkOf = (of: Case) => (FULL || of === gptOss ? 64 : 40)

describe.each(DEVICES.filter(({ name }) => name.startsWith('webgpu')))('architectures on $name', ({ name, open }) => {
  let device: Device
  beforeAll(async () => {
    device = await open()
  })
  afterAll(() => device.destroy())

  it.each(among(name.includes('hardware') ? ON_HARDWARE : ON_SOFTWARE))(
    '$name: greedy tokens and log probabilities are those of float64',
    async (of) => {
      const { tokens, logprobs } = answerOf(of, weightsOf(of), 4)
      const core = await loadCore(device, sourceOf(of, 'f32'), { contextLength: 144, maxBatch: 1 })
      const verdict = compare(logprobs, await predictions(core, tokens, 4, chunkOf(of)))
      expect(verdict.worst).toBeLessThan(BOUNDS.f32)
      expect(verdict.wrongTokens).toBe(0)
      await core.close()
    },
  )
})
