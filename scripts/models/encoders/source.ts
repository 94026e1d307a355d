import { floatToHalf } from '../../../src/platform/half.js'
import type { SentenceFiles } from '../../../src/repository/sentence.js'
import type { RawTensor, WeightSource } from '../../../src/repository/source.js'
import type { TensorSpec, Weights } from '../family.js'
import { weightsOf } from '../weights.js'
import type { EncoderCase } from './encoder-case.js'

export type Tensors = Pick<EncoderCase, 'name' | 'tensors' | 'apart'>

/** All tensors of a case, those of its modules under their folders' names. */
export const tensorsOf = ({ tensors, apart = {} }: Tensors): TensorSpec[] => [
  ...tensors,
  ...Object.entries(apart).flatMap(([folder, specs]) =>
    specs.map((spec) => ({ ...spec, name: `${folder}/${spec.name}` })),
  ),
]

const made = new WeakMap<Tensors, Weights>()
export function encoderWeights(of: Tensors): Weights {
  const weights = made.get(of) ?? weightsOf({ name: of.name, tensors: tensorsOf(of) })
  made.set(of, weights)
  return weights
}

/** The case as a repository has it. `rename`: how its tensors are called there. */
export function encoderSource(
  of: EncoderCase,
  dtype: 'f32' | 'f16',
  rename: (name: string) => string = (name) => name,
): WeightSource {
  const weights = encoderWeights(of)
  const stored = new Map<string, RawTensor>()
  for (const { name: plain, shape } of tensorsOf(of)) {
    const values = weights(plain)
    const data = dtype === 'f32' ? Float32Array.from(values) : Uint16Array.from(values, floatToHalf)
    const name = rename(plain)
    stored.set(name, { name, shape, dtype, data: new Uint8Array(data.buffer) })
  }
  return {
    naming: 'huggingface',
    chatConfig: of.config,
    sentence: sentenceOf(of),
    names: [...stored.keys()],
    has: (name) => stored.has(name),
    describe: (name) => stored.get(name)!,
    read: async (name) => stored.get(name)!,
    digest: of.name,
  }
}

function sentenceOf({ files }: EncoderCase): SentenceFiles | undefined {
  const list = files['modules.json'] as { path: string; type: string }[] | undefined
  if (!list) return undefined
  const json = (name: string) => (files[name] ?? {}) as Record<string, unknown>
  return {
    modules: list.map(({ path, type }) => ({
      path,
      type: type.split('.').at(-1)!,
      config: json(`${path}/config.json`),
    })),
    transformer: json('sentence_bert_config.json'),
    settings: json('config_sentence_transformers.json'),
  }
}
