/** The prompt of every case is longer than what its family sees at once, or scales its positions by. */
import { describe, expect, it } from 'vitest'
import { isRecord } from '../../../src/platform/json.js'
import type { Case } from '../family.js'
import { CASES } from './index.js'

/** Fields of configurations that are told in positions, wherever they stand, but for the most that may be. */
const IN_POSITIONS =
  /^(sliding_window|original_max_position_embeddings|attention_chunk_size|conv_L_cache|linear_conv_kernel_dim)$/

function thresholdsIn(config: object): [string, number][] {
  return Object.entries(config).flatMap(([key, value]): [string, number][] => {
    if (isRecord(value)) return isAlike(value) ? [] : thresholdsIn(value)
    return typeof value === 'number' && IN_POSITIONS.test(key) ? [[key, value]] : []
  })
}

/** YaRN turns every position by the same angles, however long a text is; queries may grow with it all the same. */
const isAlike = (scaling: object): boolean =>
  'rope_type' in scaling && scaling.rope_type === 'yarn' && !('llama_4_scaling_beta' in scaling)

const passes =
  (key: string) =>
  ({ prompt, config }: Case): boolean =>
    thresholdsIn(config).some(([name, positions]) => name === key && prompt > positions)

describe('prompts of the check of architectures', () => {
  it.each(CASES)('$name: passes every window and every threshold', (of) => {
    for (const [key, positions] of thresholdsIn(of.config)) {
      // LongRoPE asks how long a text may become: a case that stays below has another beside it that does not.
      const below = of.context !== undefined && of.context <= positions
      const kin = below ? CASES.filter(({ config }) => config.model_type === of.config.model_type) : [of]
      expect(kin.some(passes(key)), key).toBe(true)
    }
  })

  it.each([
    ['a window', 'sliding_window'],
    ['a threshold', 'original_max_position_embeddings'],
    ['a short convolution', 'conv_L_cache'],
    ['the convolution of linear attention', 'linear_conv_kernel_dim'],
  ])('some have %s', (_, key) => {
    expect(CASES.filter(({ config }) => thresholdsIn(config).some(([name]) => name === key))).not.toEqual([])
  })
})
