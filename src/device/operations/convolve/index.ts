import type { Activations, States, Vector } from '../../contract/tensors.js'
import { atLeast, type BatchShape, defineOperation, stateFits } from '../define.js'
import { convolveKernel } from './kernel.js'

/** Tokens that a convolution sees at most, its own included. */
export const MAX_TAPS = 4
/** Channels in a line of memory, to which no two threads should write. */
export const CHANNELS_OF_LINE = 16

export interface ConvolveOptions {
  /** [MAX_TAPS][channels], the weight of the newest input last. */
  readonly taps: Vector
  /**
   * `gated`: a row of x is b | c | v, and out = c * convolution(b * v). `silu`: out = silu(convolution of the first
   * columns of x).
   */
  readonly form: 'gated' | 'silu'
  /** Tokens behind its own that an output sees: of texts that are whole, of which nothing is kept. @default none */
  readonly ahead?: number
}

/**
 * Each channel, a column of `out`, of each row from the last `MAX_TAPS` rows of its sequence; state `index`, of
 * [MAX_TAPS - 1][channels], has those before the first row, the oldest first.
 */
export const convolve = defineOperation({
  name: 'convolve',
  fit(
    batch: BatchShape,
    x: Activations,
    states: States | undefined,
    index: number,
    out: Activations,
    { taps, form, ahead = 0 }: ConvolveOptions,
  ) {
    const channels = taps.length / MAX_TAPS
    atLeast('Columns to convolve', x.columns, form === 'gated' ? 3 * channels : channels)
    atLeast('Columns of a convolution', out.columns, channels)
    if (ahead >= MAX_TAPS) throw new RangeError(`A convolution sees at most ${MAX_TAPS - 1} tokens ahead.`)
    if (ahead > 0 === (states !== undefined)) throw new RangeError('A convolution keeps states, or sees ahead.')
    if (states) stateFits(batch, states, index, (MAX_TAPS - 1) * channels)
  },
  gpu(pass, x, states, index, out, { taps, form, ahead = 0 }) {
    const channels = taps.length / MAX_TAPS
    const size = states?.shape.sizes[index] ?? 0
    const kernel = convolveKernel({ strides: [x.columns, out.columns], channels, size, form, ahead })
    const kept = states ? [pass.state(states, index)] : []
    const buffers = [pass.buffer(x), pass.buffer(taps), ...kept, pass.buffer(out)]
    pass.dispatch(kernel, [pass.meta, ...buffers], Math.ceil(channels / 64), pass.spans)
  },
  // `taps`: four rows of weights; `state`: in the first slot, three rows, or 0 where nothing is kept. Items: a line of channels of a span.
  fields: {
    ...{ x: 'pointer', xStride: 'pointer', out: 'pointer', outStride: 'pointer', taps: 'pointer', channels: 'i32' },
    ...{ gated: 'bool', ahead: 'i32', state: 'pointer', slotBytes: 'pointer', spans: 'pointer' },
  },
  cpu(pass, x, states, index, out, { taps, form, ahead = 0 }) {
    const channels = taps.length / MAX_TAPS
    const args = {
      x: pass.at(x),
      xStride: pass.stride(x),
      out: pass.at(out),
      outStride: pass.stride(out),
      taps: pass.at(taps),
      channels,
      gated: form === 'gated',
      ahead,
      spans: pass.spanWords,
      ...(states ? pass.state(states, index) : { state: 0, slotBytes: 0 }),
    }
    const items = pass.spans.length * Math.ceil(channels / CHANNELS_OF_LINE)
    return { args, items, values: pass.rows * channels }
  },
})
