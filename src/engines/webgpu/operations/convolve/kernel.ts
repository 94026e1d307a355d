/** Causal convolutions of four taps, each channel by itself: an invocation takes one of them through the rows of a span. */
import { declare, type Kernel, memo } from '../../gpu/kernels/kernel.js'
import { META } from '../../gpu/kernels/meta.js'

export interface ConvolveShape {
  /** Columns of a row of x, and of out. */
  readonly strides: readonly [x: number, out: number]
  readonly channels: number
  /** Values of a state. */
  readonly size: number
  readonly form: 'gated' | 'silu'
}

export const convolveKernel = memo(function convolveKernel({ strides, channels, size, form }: ConvolveShape): Kernel {
  const { source, bindings } = declare([
    ['batch', 'u32', 'r'],
    ['x', 'f32', 'r'],
    ['taps', 'f32', 'r'],
    ['state', 'f32', 'w'],
    ['out', 'f32', 'w'],
  ])
  const gated = form === 'gated'
  return {
    name: 'convolve',
    bindings,
    source: /* wgsl */ `
${source}
${META}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let channel = id.x;
  if (channel >= ${channels}u) { return; }
  let span = spanOf(id.y);
  let slots = slotsOf(id.y);
  var past = vec3<f32>();
  if ((slots & 0xffffu) != 0u) {
    let before = ((slots & 0xffffu) - 1u) * ${size}u + channel;
    past = vec3<f32>(state[before], state[before + ${channels}u], state[before + ${2 * channels}u]);
  }
  let weights = vec3<f32>(taps[channel], taps[channel + ${channels}u], taps[channel + ${2 * channels}u]);
  let newest = taps[channel + ${3 * channels}u];
  let first = span & 0xffffu;
  for (var row = first; row < first + (span >> 16u); row++) {
    let at = row * ${strides[0]}u + channel;
    let input = x[at]${gated ? ` * x[at + ${2 * channels}u]` : ''};
    let sum = dot(past, weights) + input * newest;
    out[row * ${strides[1]}u + channel] = ${gated ? `sum * x[at + ${channels}u]` : 'sum / (1.0 + exp(-sum))'};
    past = vec3<f32>(past.yz, input);
  }
  let to = (slots >> 16u) * ${size}u + channel;
  state[to] = past.x;
  state[to + ${channels}u] = past.y;
  state[to + ${2 * channels}u] = past.z;
}`,
  }
})
