/** The cases of `scripts/models` as models that the core runs. */
import type { Case, Weights } from '../../../../scripts/models/family.js'
import { weightsOf } from '../../../../scripts/models/weights.js'
import { GREEDY as LIKELIEST } from '../../../decode/answer/sampling.js'
import { floatToHalf } from '../../../platform/half.js'
import type { RawTensor, WeightSource } from '../../../repository/source.js'
import type { Core } from '../core.js'

export const GREEDY = { ...LIKELIEST, topLogprobs: 20 }

const known = new WeakMap<Weights, Map<string, ReadonlyMap<string, RawTensor>>>()

function storedOf(of: Case, dtype: 'f32' | 'f16'): ReadonlyMap<string, RawTensor> {
  const weights = weightsOf(of)
  const byType = known.get(weights) ?? new Map<string, ReadonlyMap<string, RawTensor>>()
  known.set(weights, byType)
  const found = byType.get(dtype)
  if (found) return found
  const stored = new Map<string, RawTensor>()
  for (const { name, shape } of of.tensors) {
    const values = weights(name)
    const data = dtype === 'f32' ? new Float32Array(values) : Uint16Array.from(values, floatToHalf)
    stored.set(name, { name, shape, dtype, data: new Uint8Array(data.buffer) })
  }
  byType.set(dtype, stored)
  return stored
}

/** The case as a repository of transformers has it. */
export function sourceOf(of: Case, dtype: 'f32' | 'f16'): WeightSource {
  const stored = storedOf(of, dtype)
  return {
    naming: 'huggingface',
    chatConfig: of.config,
    names: [...stored.keys()],
    has: (name) => stored.has(name),
    describe: (name) => stored.get(name)!,
    read: async (name) => stored.get(name)!,
    digest: of.name,
  }
}

/** Greedy tokens of float64, one after the other, and what the core thinks of each. */
export async function told(core: Core, tokens: readonly number[], count: number, chunk: number) {
  const sequence = core.open(tokens.length)
  const prompt = tokens.slice(0, tokens.length - count)
  const seen: ((token: number) => number)[] = []
  for (let at = 0; at < tokens.length - 1; ) {
    const fed = at < prompt.length ? prompt.slice(at, at + chunk) : [tokens[at]!]
    at += fed.length
    const wanted = at >= prompt.length
    const [sampled] = await core.step([{ sequence, tokens: fed, ...(wanted && { sample: GREEDY }) }])
    if (!wanted) continue
    const top = new Map(sampled!.top!.map(({ token, logprob }) => [token, logprob]))
    seen.push((token) => top.get(token) ?? Math.min(...top.values()))
  }
  sequence.close()
  return seen
}
