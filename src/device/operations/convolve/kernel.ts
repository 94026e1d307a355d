/** Convolutions of four taps, each channel by itself: an invocation takes one of them through the rows of a span. */
import { declare, type Kernel, memo } from '../../gpu/kernels/kernel.js'
import { META } from '../../gpu/kernels/meta.js'

export interface ConvolveShape {
  /** Columns of a row of x, and of out. */
  readonly strides: readonly [x: number, out: number]
  readonly channels: number
  /** Values of a state; 0: nothing is kept. */
  readonly size: number
  readonly form: 'gated' | 'silu'
  readonly ahead: number
}

export const convolveKernel = memo(function convolveKernel(shape: ConvolveShape): Kernel {
  const { strides, channels, size, form, ahead } = shape
  const keeps = size > 0
  const { source, bindings } = declare([
    ['batch', 'u32', 'r'],
    ['x', 'f32', 'r'],
    ['taps', 'f32', 'r'],
    ...(keeps ? ([['state', 'f32', 'w']] as const) : []),
    ['out', 'f32', 'w'],
  ])
  const gated = form === 'gated'
  const input = `x[at]${gated ? ` * x[at + ${2 * channels}u]` : ''}`
  const written = gated ? `sum * x[to * ${strides[0]}u + channel + ${channels}u]` : 'sum / (1.0 + exp(-sum))'
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
  let first = span & 0xffffu;
  let end = first + (span >> 16u);
  var past = vec3<f32>();
${
  keeps
    ? `  let slot = slotsOf(first) & 0xffffu;
  if (slot != 0u) {
    let before = (slot - 1u) * ${size}u + channel;
    past = vec3<f32>(state[before], state[before + ${channels}u], state[before + ${2 * channels}u]);
  }`
    : ''
}
  let weights = vec3<f32>(taps[channel], taps[channel + ${channels}u], taps[channel + ${2 * channels}u]);
  let newest = taps[channel + ${3 * channels}u];
  for (var row = first; row < end${ahead > 0 ? ` + ${ahead}u` : ''}; row++) {
    let at = row * ${strides[0]}u + channel;
    ${ahead > 0 ? `var input = 0.0;\n    if (row < end) { input = ${input}; }` : `let input = ${input};`}
    ${ahead > 0 ? `if (row >= first + ${ahead}u) {` : '{'}
      let to = row${ahead > 0 ? ` - ${ahead}u` : ''};
      let sum = dot(past, weights) + input * newest;
      out[to * ${strides[1]}u + channel] = ${written};
    }
    past = vec3<f32>(past.yz, input);
${
  keeps
    ? `    if (leavesState(row, end)) {
      let to = (slotsOf(row) >> 16u) * ${size}u + channel;
      state[to] = past.x;
      state[to + ${channels}u] = past.y;
      state[to + ${2 * channels}u] = past.z;
    }`
    : ''
}
  }
}`,
  }
})
