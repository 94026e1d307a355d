import { convolve, MAX_TAPS, matmul } from '../../../device/index.js'
import type { ConvolutionLayer } from '../../model-plan.js'
import type { Mixer } from './mixer.js'

/** LFM2's short convolution: a channel sees its last few tokens, and is gated before and after. */
export const convolution: Mixer<ConvolutionLayer> = {
  plan: (find, { taps }, hidden) => ({
    matrices: {
      mixerIn: find.matrix('mixerIn', [hidden, hidden, hidden], hidden),
      mixerOut: find.matrix('mixerOut', [hidden], hidden),
    },
    vectors: { taps: { ...find.vector('taps', hidden * taps, [hidden, 1, taps]), order: tapOrder(hidden, taps) } },
  }),

  widths: (_, hidden) => ({ input: 3 * hidden, mixed: hidden }),

  states: ({ centred }, hidden) => (centred ? [] : [convolutionState(hidden)]),

  run({ pass, layer: { taps: count, centred }, weights, hidden, norm, room: { input, mixed }, state }) {
    const { matrix, bias } = weights.matrices.mixerIn!
    pass.run(matmul, matrix, hidden, input, { norm, bias })
    const how = { taps: weights.vectors.taps!, form: 'gated' } as const
    if (centred) pass.run(convolve, input, undefined, 0, mixed, { ...how, ahead: (count - 1) / 2 })
    else pass.run(convolve, input, state!.of, state!.first, mixed, how)
  },
}

/** What a convolution of so many channels keeps: all its inputs but the newest. */
export const convolutionState = (channels: number) => (MAX_TAPS - 1) * channels

/** From [channels][taps], the oldest first, to [MAX_TAPS][channels]; taps that are not there are zero. */
export function tapOrder(channels: number, taps: number): number[] {
  return Array.from({ length: MAX_TAPS * channels }, (_, i) => {
    const tap = Math.floor(i / channels) - (MAX_TAPS - taps)
    return tap < 0 ? -1 : (i % channels) * taps + tap
  })
}
