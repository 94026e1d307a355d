import { convolve, delta as deltaRule, matmul } from '../../../device/index.js'
import type { DeltaLayer } from '../../model-plan.js'
import { convolutionState, tapOrder } from './convolution.js'
import type { Mixer } from './mixer.js'

interface Sizes {
  readonly keys: number
  readonly values: number
  /** Queries, keys and values. */
  readonly channels: number
}

function sizesOf({ keyHeads, valueHeads, keySize, valueSize }: DeltaLayer): Sizes {
  const [keys, values] = [keyHeads * keySize, valueHeads * valueSize]
  return { keys, values, channels: 2 * keys + values }
}

/** Qwen3.5's linear attention: a short convolution, then the gated delta rule. */
export const deltaNet: Mixer<DeltaLayer> = {
  plan(find, layer, hidden) {
    const { valueHeads, valueSize, taps } = layer
    const { values, channels } = sizesOf(layer)
    return {
      matrices: {
        mixerIn: find.matrix('mixerIn', [channels, values], hidden),
        // Small, and what is forgotten and learned hangs on it.
        rates: { ...find.matrix('rates', [valueHeads, valueHeads], hidden), quantize: false },
        mixerOut: find.matrix('mixerOut', [hidden], values),
      },
      vectors: {
        taps: { ...find.vector('taps', channels * taps, [channels, 1, taps]), order: tapOrder(channels, taps) },
        // GGUF has it as it is used, all others its logarithm.
        speed: { ...find.vector('speed', valueHeads), ...(find.naming !== 'gguf' && { exponent: -1 }) },
        delay: find.vector('delay', valueHeads),
        // Nothing is added to it, whatever is to the others.
        headNorm: find.vector('headNorm', valueSize),
      },
    }
  },

  widths(layer) {
    const { values, channels } = sizesOf(layer)
    return { input: channels + values, between: [channels, 2 * layer.valueHeads], mixed: values }
  },

  states(layer) {
    const { values, channels } = sizesOf(layer)
    return [convolutionState(channels), layer.keySize * values]
  },

  run({ pass, layer, weights, hidden, norm, epsilon, room: { input, between, mixed }, state }) {
    const { keyHeads, valueHeads, keySize, valueSize, tiled } = layer
    const { mixerIn, rates } = weights.matrices
    const { taps, speed, delay, headNorm } = weights.vectors
    const { channels } = sizesOf(layer)
    const [convolved, ab] = between
    const { of, first } = state!
    pass.run(matmul, mixerIn!.matrix, hidden, input, { norm })
    pass.run(matmul, rates!.matrix, hidden, ab!, { norm })
    pass.run(convolve, input, of, first, convolved!, { taps: taps!, form: 'silu' })
    pass.run(deltaRule, convolved!, of, first + 1, mixed, {
      ...{ keyHeads, valueHeads, keySize, valueSize, tiled },
      rates: ab!,
      speed: speed!,
      delay: delay!,
      norm: { weight: headNorm!, epsilon },
      gates: input,
      gatesFrom: channels,
    })
  },
}
