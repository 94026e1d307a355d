/** Biases that a configuration asks for, of every family: added as float64 adds them, or refused by the field's name. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CASES } from '../../../test/oracles/families/index.js'
import { type Case, vector, type Weights } from '../../../test/oracles/family.js'
import { biased } from '../../../test/oracles/float64.js'
import { answerOf, compare } from '../../../test/oracles/judge.js'
import { weightsOf } from '../../../test/oracles/weights.js'
import type { Device } from '../../device/contract.js'
import { openCpuDevice } from '../../device/cpu/index.js'
import { loadCore } from '../load.js'
import { planModel } from '../plan-model.js'
import { predictions, sourceOf } from './cases.test-helper.js'

/** Which products each field of a configuration of transformers gives biases. */
const FIELDS: Readonly<Record<string, RegExp>> = {
  attention_bias: /self_attn\.(q|k|v|o|qkv)_proj\.weight$/,
  mlp_bias: /mlp\.(gate|up|gate_up|down)_proj\.weight$/,
}
/** Queries, keys and values of Qwen 2 always have theirs, StableLM and StarCoder 2 call them otherwise, and so would Phi, which has them all; LFM 2 asks for none; Qwen 3.5 and Granite 4 for those of attention alone. */
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  qwen2: ['attention_bias', 'mlp_bias'],
  qwen2_moe: ['attention_bias', 'mlp_bias'],
  lfm2: ['attention_bias', 'mlp_bias'],
  lfm2_moe: ['attention_bias', 'mlp_bias'],
  qwen3_5: ['mlp_bias'],
  qwen3_5_moe: ['mlp_bias'],
  granite4: ['mlp_bias'],
  gpt_oss: ['mlp_bias'],
  stablelm: ['attention_bias', 'mlp_bias'],
  starcoder2: ['attention_bias', 'mlp_bias'],
  phi: ['attention_bias', 'mlp_bias'],
}
/** They are among its tensors anyway. */
const HAS: Readonly<Record<string, readonly string[]>> = { gpt_oss: ['attention_bias'] }
/** Granite 4 says it of Mamba's layers, of which none are run; the others have them. */
const IDLE: Readonly<Record<string, readonly string[]>> = {
  granite4: ['mamba_proj_bias'],
  stablelm: ['use_qkv_bias'],
  starcoder2: ['use_bias'],
}
/** As configurations of other families call theirs. */
const OTHERS = [
  ...['bias', 'use_bias', 'qkv_bias', 'use_qkv_bias', 'attn_bias', 'attn_qkv_bias', 'o_bias', 'out_proj_bias'],
  ...['lm_head_bias', 'head_bias', 'norm_bias', 'layer_norm_bias', 'conv_bias', 'use_conv_bias', 'add_bias_linear'],
  ...['use_mlp_bias', 'mlp_use_bias', 'add_qkv_bias', 'use_attention_bias', 'embedding_bias', 'mamba_proj_bias'],
] as const

/** A few tokens do: windows and angles are the business of other tests. */
function withBiases(of: Case, fields: readonly string[]) {
  const wanted = of.tensors.filter(({ name }) => fields.some((field) => FIELDS[field]!.test(name)))
  const biases = wanted.map(({ name, shape }) => vector(name.replace(/weight$/, 'bias'), shape[0]!, 0, 0.5))
  const config = { ...of.config, ...Object.fromEntries(fields.map((field) => [field, true])) }
  const whole: Case = { ...of, config, prompt: 5, tensors: [...of.tensors, ...biases] }
  const plain = weightsOf(whole)
  const known = new Map(
    wanted.map(({ name }) => [name, biased(plain(name), plain(name.replace(/weight$/, 'bias')))] as const),
  )
  const weights: Weights = (name) => known.get(name) ?? plain(name)
  return { whole, weights, plain }
}

let device: Device
beforeAll(async () => {
  device = await openCpuDevice({ threads: 1, exact: true })
})
afterAll(() => device.destroy())

describe.each(CASES)('$name', (of) => {
  const refused = REFUSED[of.name] ?? []
  const idle = [...refused, ...(HAS[of.name] ?? [])]
  const applied = Object.keys(FIELDS).filter((field) => !idle.includes(field))

  const adds = applied.length > 0 ? it : () => {}
  adds(`adds those of ${applied.join(' and ')}`, async () => {
    const { whole, weights, plain } = withBiases(of, applied)
    const { tokens, logprobs } = answerOf(whole, weights, 4)
    // Within it LongRoPE's angles are those of short texts, as these few tokens are.
    const contextLength = Number(of.config.original_max_position_embeddings ?? of.context ?? 144)
    const core = await loadCore(device, sourceOf(whole, 'f32'), { contextLength, maxBatch: 1 })
    const verdict = compare(logprobs, await predictions(core, tokens, 4, 64))
    expect(verdict.worst).toBeLessThan(2e-3)
    expect(verdict.wrongTokens).toBe(0)
    await core.close()
    // Else it would not show whether they were added.
    const without = answerOf(whole, plain, 4).logprobs.map((logprobs) => (token: number) => logprobs[token]!)
    expect(compare(logprobs, without).worst).toBeGreaterThan(1e-1)
  })

  it.each(refused)('refuses %s by its name', (field) => {
    const outline = sourceOf(of, 'f32')
    const chatConfig = { ...outline.chatConfig, [field]: true }
    expect(() => planModel({ ...outline, chatConfig }, device)).toThrow(`${field} = true`)
  })

  it('refuses those that other families ask for by their names', () => {
    const outline = sourceOf(of, 'f32')
    for (const field of OTHERS.filter((field) => !IDLE[of.name]?.includes(field))) {
      const chatConfig = { ...outline.chatConfig, [field]: true }
      expect(() => planModel({ ...outline, chatConfig }, device), field).toThrow(`${field} = true`)
    }
  })
})
