// First: rows in K types are whole blocks of 256 values, and cases are so wide where this comes before them.
import '../../../test/oracles/wide.js'

import { describe, expect, it } from 'vitest'
import { minilm } from '../../../test/oracles/encoders/bert.js'
import { inputsOf } from '../../../test/oracles/encoders/encoder-case.js'
import { encoderSource, encoderWeights, tensorsOf } from '../../../test/oracles/encoders/source.js'
import type { Weights } from '../../../test/oracles/family.js'
import { FULL } from '../../../test/support/full.js'
import { DEVICES } from '../../device/operations/devices.test-helper.js'
import { Chance, type Known, knownMatrix } from '../../device/operations/numbers.test-helper.js'
import type { BlockType } from '../../platform/block-types.js'
import type { WeightSource } from '../files/source.js'
import { expectVectors } from './vectors.test-helper.js'

delete process.env.MODELS_WIDE

/** The tables of positions and kinds stay plain, as in the files that people have. */
function inBlocks(type: BlockType): { source: WeightSource; weights: Weights } {
  const plain = encoderSource(minilm, 'f32')
  const known = new Map<string, Known>()
  for (const { name, shape } of tensorsOf(minilm)) {
    const [rows = 0, columns = 0] = shape
    if (columns % 256 !== 0 || columns === 0 || /position|token_type/.test(name)) continue
    known.set(name, knownMatrix(new Chance(known.size + 1), type, rows, columns, 1 / Math.sqrt(columns)))
  }
  const describe: WeightSource['describe'] = (name) =>
    known.has(name) ? { ...plain.describe(name), dtype: type } : plain.describe(name)
  const read: WeightSource['read'] = async (name) => {
    const data = known.get(name)?.data
    return data && data.format !== 'q4' ? { ...describe(name), data: data.data } : plain.read(name)
  }
  const given = encoderWeights(minilm)
  const weights: Weights = (name) => Float64Array.from(known.get(name)?.values ?? given(name))
  return { source: { ...plain, describe, read }, weights }
}

describe.each(DEVICES.filter(({ name }) => /software|exact/.test(name)))('an encoder on $name', ({ name, open }) => {
  // A GPU in software compiles each matrix's kernels anew for another type, which `operations` have there.
  it.each(FULL || name.startsWith('cpu') ? (['q4_k', 'q6_k'] as const) : (['q4_k'] as const))(
    'has vectors as in float64, its matrices in %s',
    async (type) => {
      const { source, weights } = inBlocks(type)
      const forms = source.names.map((name) => source.describe(name).dtype)
      expect(forms.filter((form) => form === type).length).toBeGreaterThan(12)
      const device = await open()
      await expectVectors(device, source, minilm, { weights, inputs: inputsOf(minilm).slice(0, 2) })
      device.destroy()
    },
  )
})
