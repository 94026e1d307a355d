/** Architectures as MLC stores them, by the names of `python/mlc_llm/model` (July 2026). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { gemma2, gemma3 } from '../../../test/oracles/families/gemma.js'
import { gemma1 } from '../../../test/oracles/families/gemma1.js'
import { gemma4 } from '../../../test/oracles/families/gemma4.js'
import { phi, stablelm } from '../../../test/oracles/families/layer-norms.js'
import { llama } from '../../../test/oracles/families/llama.js'
import { ministral3 } from '../../../test/oracles/families/mistral3.js'
import { phi4Mini } from '../../../test/oracles/families/phi3.js'
import { qwen35 } from '../../../test/oracles/families/qwen3-5.js'
import { olmo2 } from '../../../test/oracles/families/variants.js'
import type { Case } from '../../../test/oracles/family.js'
import { promptOf } from '../../../test/oracles/judge.js'
import type { Device } from '../../device/contract.js'
import { openCpuDevice } from '../../device/cpu/index.js'
import { joined } from '../../platform/bytes.js'
import type { RawTensor, WeightSource } from '../files/source.js'
import { loadCore } from '../load.js'
import { GREEDY, sourceOf } from './cases.test-helper.js'

interface MlcForm {
  readonly of: Case
  /** Transformers' name of a tensor, and MLC's. */
  readonly names?: readonly (readonly [from: string | RegExp, to: string])[]
  /** What is cut into pieces of so many columns, one for each layer. */
  readonly cut?: readonly [part: string, columns: number]
  /** What is fused, by the first of its parts. */
  readonly fused: Readonly<Record<string, readonly string[]>>
  /** Norms that one is added to. */
  readonly grown?: RegExp
  /** `mlc-chat-config.json`'s `model_config`. */
  config?(config: Case['config']): object
}

const GATES = { 'mlp.gate_proj': ['mlp.gate_proj', 'mlp.up_proj'] } as const
const ATTENTION = ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'] as const
const BOTH = { ...GATES, 'self_attn.q_proj': ATTENTION }
const NAMED = [
  ['self_attn.q_proj', 'self_attn.qkv_proj'],
  ['mlp.gate_proj', 'mlp.gate_up_proj'],
] as const

const FORMS: readonly MlcForm[] = [
  { of: llama, names: NAMED, fused: BOTH },
  { of: olmo2, names: NAMED, fused: BOTH },
  { of: stablelm, names: NAMED, fused: BOTH },
  {
    of: ministral3,
    names: NAMED,
    fused: BOTH,
    config({ rope_parameters, ...rest }) {
      const { rope_theta: position_embedding_base, ...parameters } = rope_parameters as Record<string, unknown>
      return { ...rest, position_embedding_base, rope_parameters: parameters, sliding_window_size: -1 }
    },
  },
  { of: gemma1, names: NAMED, fused: BOTH, grown: /norm/ },
  { of: gemma2, names: NAMED, fused: BOTH, grown: /norm/ },
  {
    of: gemma3,
    names: [NAMED[1], [/^/, 'language_model.']],
    fused: GATES,
    grown: /norm/,
    config: ({ vocab_size, ...text_config }) => ({ vocab_size, text_config }),
  },
  {
    of: gemma4,
    names: [NAMED[1], [/^model\./, 'language_model.']],
    fused: GATES,
    cut: ['embed_tokens_per_layer', 32],
    config: ({ vocab_size, ...text_config }) => ({ vocab_size, text_config, audio_config: { hidden_size: 8 } }),
  },
  {
    of: qwen35,
    names: [
      ['self_attn.q_proj', 'self_attn.c_attn'],
      ['mlp.gate_proj', 'mlp.gate_up_proj'],
      ['conv1d.weight', 'conv1d_weight'],
    ],
    fused: BOTH,
    grown: /(layernorm|q_norm|k_norm|^model\.norm)\.weight/,
  },
  {
    of: phi,
    names: [
      ['model.layers', 'transformer.h'],
      ['model.embed_tokens', 'transformer.embd'],
      [/^lm_head/, 'lm_head.linear'],
      ['model.final_layernorm', 'lm_head.ln'],
      ['input_layernorm', 'ln'],
      ['self_attn.q_proj', 'mixer.Wqkv'],
      ['self_attn.dense', 'mixer.out_proj'],
    ],
    fused: { 'self_attn.q_proj': ATTENTION },
    config: (config) => ({
      ...{ n_embd: config.hidden_size, n_layer: config.num_hidden_layers, n_head: config.num_attention_heads },
      ...{
        n_head_kv: config.num_attention_heads,
        n_inner: config.intermediate_size,
        n_positions: 2048,
        rotary_dim: 32,
      },
      ...{ layer_norm_epsilon: config.layer_norm_eps, position_embedding_base: 10_000, vocab_size: config.vocab_size },
    }),
  },
  {
    of: phi4Mini,
    names: [
      ['model.layers', 'transformer.h'],
      ['model.embed_tokens', 'transformer.embd'],
      ['model.norm', 'transformer.norm'],
      ['input_layernorm', 'ln'],
      ['self_attn.qkv_proj', 'mixer.qkv_proj'],
      ['self_attn.o_proj', 'mixer.out_proj'],
    ],
    fused: {},
  },
]

function mlcOf({ of, names = [], fused, grown, cut, config = (same) => same }: MlcForm): WeightSource {
  const plain = sourceOf(of, 'f32')
  const stored = new Map<string, () => Promise<RawTensor>>()
  const described = new Map<string, Omit<RawTensor, 'data'>>()
  const within = Object.values(fused).flat()
  for (const first of plain.names) {
    const key = Object.keys(fused).find((part) => first.includes(part))
    if (!key && within.some((part) => first.includes(part))) continue
    const parts = key ? fused[key]!.map((part) => first.replace(key, part)) : [first]
    const name = names.reduce((name, [from, to]) => name.replace(from, to), first)
    const rows = parts.reduce((sum, part) => sum + plain.describe(part).shape[0]!, 0)
    const known = { name, dtype: 'f32' as const, shape: [rows, ...plain.describe(first).shape.slice(1)] }
    described.set(name, known)
    stored.set(name, async () => {
      const read = await Promise.all(parts.map((part) => plain.read(part)))
      const plus = grown?.test(first) ? 1 : 0
      const values = new Float32Array(joined(read.map(({ data }) => data)).buffer)
      return { ...known, data: new Uint8Array(plus === 0 ? values.buffer : values.map((value) => value + plus).buffer) }
    })
  }
  for (const [name, read] of cut ? [...stored].filter(([name]) => name.includes(cut[0])) : []) {
    const [{ shape, dtype }, columns] = [described.get(name)!, cut![1]]
    stored.delete(name)
    for (let i = 0; i * columns < shape[1]!; i++) {
      const known = { name: name.replace('.weight', `.${i}.weight`), dtype, shape: [shape[0]!, columns] }
      described.set(known.name, known)
      stored.set(known.name, async () => {
        const values = new Float32Array((await read()).data.buffer)
        const kept = values.filter((_, at) => Math.floor((at % shape[1]!) / columns) === i)
        return { ...known, data: new Uint8Array(kept.buffer) }
      })
    }
  }
  const { model_type, ...inner } = { ...of.config }
  return {
    chatConfig: {
      model_type: String(model_type).replace(/^(gemma.)_text$/, '$1'),
      vocab_size: of.config.vocab_size,
      model_config: config(inner as Case['config']),
    },
    names: [...stored.keys()],
    has: (name) => stored.has(name),
    describe: (name) => described.get(name)!,
    read: (name) => stored.get(name)!(),
    digest: `${of.name} of MLC`,
  }
}

describe('architectures of MLC', () => {
  let device: Device
  beforeAll(async () => {
    device = await openCpuDevice({ threads: 1 })
  })
  afterAll(() => device.destroy())

  it.each(FORMS.map((form) => ({ name: form.of.name, form })))(
    '$name answers as that of transformers',
    async ({ form }) => {
      const { of } = form
      const tokens = promptOf(of).slice(0, 60)
      const options = { contextLength: of.context ?? 144 }
      const found = []
      for (const source of [sourceOf(of, 'f32'), mlcOf(form)]) {
        const core = await loadCore(device, source, options)
        const [sampled] = await core.step([{ sequence: core.open(), tokens, sample: GREEDY }])
        found.push(sampled)
        await core.close()
      }
      expect(found[1]).toEqual(found[0])
    },
  )
})
