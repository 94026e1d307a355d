/**
 * Convolutions of four taps, each channel by itself. A state has the last three inputs of every channel; nothing is kept
 * of those that see ahead.
 */
import { CHANNELS_OF_LINE, Convolve } from '../../cpu/assembly/abi'
import { silu4 } from '../../cpu/assembly/elementwise'
import { firstRow, leavesState, rowsOf, stateAfter, stateBefore } from '../../cpu/assembly/spans'

export function convolve(args: usize, from: i32, to: i32, _thread: i32): void {
  const channels = Convolve.channels(args)
  const lines = (channels + CHANNELS_OF_LINE - 1) / CHANNELS_OF_LINE
  for (let item = from; item < to; item++) {
    const first = (item % lines) * CHANNELS_OF_LINE
    const end = min(first + CHANNELS_OF_LINE, channels)
    for (let channel = first; channel < end; channel += 4) convolve4(args, item / lines, channel)
  }
}

/** Four channels of a span, which may read and write the same slot. */
function convolve4(args: usize, span: i32, channel: i32): void {
  const at = (<usize>channel) << 2
  const width = (<usize>Convolve.channels(args)) << 2
  const gated = Convolve.gated(args)
  const spans = Convolve.spans(args)
  const taps = Convolve.taps(args) + at
  const w0 = v128.load(taps)
  const w1 = v128.load(taps + width)
  const w2 = v128.load(taps + 2 * width)
  const w3 = v128.load(taps + 3 * width)
  const state = Convolve.state(args)
  const before = state === 0 ? 0 : stateBefore(spans, span, state, Convolve.slotBytes(args))
  let a = f32x4.splat(0)
  let b = f32x4.splat(0)
  let c = f32x4.splat(0)
  if (before !== 0) {
    a = v128.load(before + at)
    b = v128.load(before + at + width)
    c = v128.load(before + at + 2 * width)
  }
  const stride = Convolve.xStride(args)
  const outStride = Convolve.outStride(args)
  const first = firstRow(spans, span)
  const rows = rowsOf(spans, span)
  const ahead = Convolve.ahead(args)
  let x = Convolve.x(args) + first * stride + at
  // Of the row that is written, which lies behind.
  let gate = x + width
  let out = Convolve.out(args) + first * outStride + at
  for (let row = 0; row < rows + ahead; row++) {
    let input = f32x4.splat(0)
    if (row < rows) {
      input = v128.load(x)
      if (gated) input = f32x4.mul(input, v128.load(x + 2 * width))
      x += stride
    }
    if (row >= ahead) {
      let sum = f32x4.add(f32x4.mul(a, w0), f32x4.mul(b, w1))
      sum = f32x4.add(sum, f32x4.add(f32x4.mul(c, w2), f32x4.mul(input, w3)))
      v128.store(out, gated ? f32x4.mul(sum, v128.load(gate)) : silu4(sum))
      gate += stride
      out += outStride
    }
    a = b
    b = c
    c = input
    if (state === 0 || !leavesState(spans, span, row)) continue
    const after = stateAfter(spans, span, row, state, Convolve.slotBytes(args)) + at
    v128.store(after, a)
    v128.store(after + width, b)
    v128.store(after + 2 * width, c)
  }
}
