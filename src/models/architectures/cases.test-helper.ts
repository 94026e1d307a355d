/** The cases of `test/oracles` as models that the core runs. */
import type { Case, TensorSpec, Weights } from '../../../test/oracles/family.js'
import { halvesOf } from '../../../test/oracles/files/halves.js'
import { weightsOf } from '../../../test/oracles/weights.js'
import { GREEDY as LIKELIEST } from '../../generate/answer/sampling.js'
import type { Core } from '../core.js'
import type { RawTensor, WeightSource } from '../files/source.js'

export const GREEDY = { ...LIKELIEST, topLogprobs: 20 }

type Stored = 'f32' | 'f16'

const known = new WeakMap<Weights, Map<string, RawTensor>>()

/** Its numbers as files have them, once for all who read them. */
function storedOf(weights: Weights, { name, shape }: TensorSpec, dtype: Stored): RawTensor {
  const byName = known.get(weights) ?? new Map<string, RawTensor>()
  known.set(weights, byName)
  const key = `${dtype} ${name}`
  const found = byName.get(key)
  if (found) return found
  const values = weights(name)
  const data = dtype === 'f32' ? new Float32Array(values) : halvesOf(values)
  const stored = { name, shape, dtype, data: new Uint8Array(data.buffer) }
  byName.set(key, stored)
  return stored
}

/** The case as a repository of transformers has it. */
export function sourceOf(of: Case, dtype: Stored): WeightSource {
  const weights = weightsOf(of)
  const specs = new Map(of.tensors.map((spec) => [spec.name, spec]))
  return {
    naming: 'huggingface',
    chatConfig: of.config,
    names: [...specs.keys()],
    has: (name) => specs.has(name),
    describe: (name) => ({ name, shape: specs.get(name)!.shape, dtype }),
    read: async (name) => storedOf(weights, specs.get(name)!, dtype),
    digest: of.name,
  }
}

/** Greedy tokens of float64, one after the other, and what the core thinks of each. */
export async function predictions(core: Core, tokens: readonly number[], count: number, chunk: number) {
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
