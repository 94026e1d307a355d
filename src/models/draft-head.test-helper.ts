/** Qwen3.5 with a head that is mostly right, as one that was trained is: made-up ones guess at random. */
import { type HeadCase, qwen35Head } from '../../test/oracles/families/qwen3-5-head.js'
import { sourceOf } from './architectures/cases.test-helper.js'
import type { WeightSource } from './files/source.js'

/** What layers add to the stream is made little of, so that the model says what its last token alone lets it say. */
const LITTLE = 0.2

/** The head takes its token alone, and norms as the model does. `wrong`: the head as it was made up. */
export function goodHead(wrong = false, of: HeadCase = qwen35Head): WeightSource {
  const source = sourceOf(of, 'f32')
  const floats = async (name: string) => new Float32Array((await source.read(name)).data.slice().buffer)
  const valuesOf = async (name: string): Promise<Float32Array> => {
    if (/(o_proj|out_proj|down_proj)\.weight$/.test(name)) {
      // Of experts several add up, and theirs were made twice as large.
      const by = name.includes('expert') ? LITTLE / 8 : LITTLE
      return (await floats(name)).map((value) => value * by)
    }
    if (wrong) return floats(name)
    if (name === 'mtp.norm.weight') return floats('model.norm.weight')
    if (name === 'mtp.pre_fc_norm_embedding.weight') return (await floats(name)).fill(0)
    if (name !== 'mtp.fc.weight') return floats(name)
    const [rows, columns] = source.describe(name).shape as [number, number]
    return Float32Array.from({ length: rows * columns }, (_, i) => (i % columns === Math.floor(i / columns) ? 1 : 0))
  }
  return {
    ...source,
    async read(name, ...more) {
      const stored = await source.read(name, ...more)
      return { ...stored, data: new Uint8Array((await valuesOf(name)).buffer) }
    },
  }
}
