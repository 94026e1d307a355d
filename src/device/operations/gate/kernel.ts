/** Rows of values, each multiplied with what a gate makes of another. */
import type { Binding } from '../../gpu/kernels/formats.js'
import { fourGatedBy, type Gate, gateFour, gateFunctions } from '../../gpu/kernels/gate.js'
import { declare, type Kernel, memo, type Recorder } from '../../gpu/kernels/kernel.js'

export interface GateRowsShape {
  readonly gate: Gate
  /** Columns of a row of each; as many are written as `out` has. */
  readonly strides: { readonly gates: number; readonly values: number; readonly out: number }
  readonly gatesFrom: number
  readonly valuesFrom: number
  /** Which of them is `out`. */
  readonly within: 'gates' | 'values' | undefined
}

export const gateRowsKernel = memo(function gateRowsKernel(shape: GateRowsShape): Kernel {
  const { gate, strides, gatesFrom, valuesFrom, within } = shape
  const list: Binding[] = [['out', 'vec4<f32>', 'w']]
  if (within !== 'gates') list.push(['gates', 'vec4<f32>', 'r'])
  if (within !== 'values') list.push(['values', 'vec4<f32>', 'r'])
  const { source, bindings } = declare(list)
  const name = (which: 'gates' | 'values') => (within === which ? 'out' : which)
  const quads = strides.out / 4
  return {
    name: 'gate rows',
    bindings,
    source: /* wgsl */ `
${source}
${gateFunctions(gate)}
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let at = group.x * 64u + lane;
  if (at >= ${quads}u) { return; }
  let row = group.y;
  let gate = ${name('gates')}[row * ${strides.gates / 4}u + ${gatesFrom / 4}u + at];
  let value = ${name('values')}[row * ${strides.values / 4}u + ${valuesFrom / 4}u + at];
  out[row * ${quads}u + at] = ${fourGatedBy(gate, 'value')} * (${gateFour(gate)});
}`,
  }
})

export function gateRows(
  pass: Recorder,
  shape: GateRowsShape,
  { gates, values, out }: { readonly gates: GPUBuffer; readonly values: GPUBuffer; readonly out: GPUBuffer },
  rows: number,
): void {
  const buffers = [out, ...(shape.within === 'gates' ? [] : [gates]), ...(shape.within === 'values' ? [] : [values])]
  pass.dispatch(gateRowsKernel(shape), buffers, Math.ceil(shape.strides.out / 256), rows)
}
