import type { SentenceFiles } from '../../../src/models/files/sentence.js'
import type { RawTensor, WeightSource } from '../../../src/models/files/source.js'
import { getOrMake } from '../../../src/platform/maps.js'
import type { TensorSpec, Weights } from '../family.js'
import { halvesOf } from '../files/halves.js'
import type { Vector } from '../float64.js'
import { weightsOf } from '../weights.js'
import type { EncoderCase, Input } from './encoder-case.js'

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

const truths = new WeakMap<EncoderCase, Map<string, Vector>>()
/** What float64 makes of an input by the case's own weights: computed once for all who ask. */
export function encoderTruth(of: EncoderCase, input: Input): Vector {
  const known = getOrMake(truths, of, () => new Map<string, Vector>())
  return getOrMake(known, JSON.stringify(input), () => of.reference(encoderWeights(of), input))
}

/** The case as a repository has it. `rename`: how its tensors are called there. */
export function encoderSource(
  of: EncoderCase,
  dtype: 'f32' | 'f16',
  rename: (name: string) => string = (name) => name,
): WeightSource {
  const weights = encoderWeights(of)
  const specs = new Map(tensorsOf(of).map((spec) => [rename(spec.name), spec]))
  const describe = (name: string) => ({ name, shape: specs.get(name)!.shape, dtype })
  const read = async (name: string): Promise<RawTensor> => {
    const values = weights(specs.get(name)!.name)
    const data = dtype === 'f32' ? new Float32Array(values) : halvesOf(values)
    return { ...describe(name), data: new Uint8Array(data.buffer) }
  }
  return {
    naming: 'huggingface',
    chatConfig: of.config,
    sentence: sentenceOf(of),
    names: [...specs.keys()],
    has: (name) => specs.has(name),
    describe,
    read,
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
