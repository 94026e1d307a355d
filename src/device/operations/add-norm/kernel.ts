/** Rows times a number, normed first if asked, put in place of others or added to them: what stands between products. */

import type { Binding } from '../../gpu/kernels/formats.js'
import { type Gate, gateFour, gateFunctions } from '../../gpu/kernels/gate.js'
import { capped, declare, float, type GpuTraits, type Kernel, memo } from '../../gpu/kernels/kernel.js'
import { enableSubgroups, sumOfGroup } from '../../gpu/kernels/subgroup.js'

export interface AddNormShape {
  /** Columns of a row of x, and of out. */
  readonly strides: readonly [x: number, out: number]
  /** Of a part of both that is normed by itself; the parts begin at `from`, in out at `into`. */
  readonly columns: number
  readonly from: number
  readonly into: number
  readonly scale: number
  readonly add: boolean
  /** Of the norm; absent: none. */
  readonly epsilon?: number
  /** The norm takes the mean away first. */
  readonly centred?: boolean
  /** Something is added to what is normed. */
  readonly bias?: boolean
  readonly gate?: Gate
  readonly cap?: number
  /** What is in out is multiplied by a number last. */
  readonly total?: boolean
  /** x is out. */
  readonly within: boolean
}

export const addNormKernel = memo(function addNormKernel(shape: AddNormShape, { serial, lanes }: GpuTraits): Kernel {
  const { strides, columns, from, into, scale, add, epsilon, centred, bias, gate, cap, total, within } = shape
  const normed = epsilon !== undefined
  const list: Binding[] = [['out', 'vec4<f32>', 'w']]
  if (!within) list.push(['x', 'vec4<f32>', 'r'])
  if (normed) list.push(['weight', 'vec4<f32>', 'r'])
  if (bias) list.push(['bias', 'vec4<f32>', 'r'])
  if (total) list.push(['total', 'f32', 'r'])
  const { source, bindings } = declare(list)
  const x = within ? 'out' : 'x'
  const quads = columns / 4
  const threads = serial ? 1 : 64
  const near = Math.min(lanes, threads)
  const gathered = sumOfGroup(threads, near)
  /** The mean is known before the squares are: sums of squares alone lose all digits of a row that lies far from zero. */
  const mean = `
  for (var i = lane; i < ${quads}u; i += ${threads}u) { sum += dot(${x}[base + i], vec4<f32>(1.0)); }
  ${gathered}
  let mean = sum / ${float(columns)};
  sum = 0.0;${serial ? '' : '\n  workgroupBarrier();'}`
  const less = centred ? ' - mean' : ''
  const sum = /* wgsl */ `
  var sum = 0.0;${centred ? mean : ''}
  for (var i = lane; i < ${quads}u; i += ${threads}u) {
    let value = ${x}[base + i]${less};
    sum += dot(value, value);
  }
  ${gathered}
  let factor = inverseSqrt(sum / ${float(columns)} + ${float(epsilon ?? 0)}) * ${float(scale)};`
  return {
    name: 'addNorm',
    bindings,
    source: /* wgsl */ `
${enableSubgroups(near)}
${source}
${gateFunctions(gate)}
${normed && !serial ? `var<workgroup> parts: array<f32, ${threads / near}>;` : ''}
@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let base = group.x * ${strides[0] / 4}u + group.y * ${quads}u + ${from / 4}u;
  let to = group.x * ${strides[1] / 4}u + group.y * ${quads}u + ${into / 4}u;
${normed ? sum : `  let factor = ${float(scale)};`}
  for (var i = lane; i < ${quads}u; i += ${threads}u) {
    ${gate ? 'let gate' : 'let value'} = (${x}[base + i]${less}) * factor${normed ? ' * weight[i]' : ''}${bias ? ' + bias[i]' : ''};
    ${gate ? `let value = ${gateFour(gate)};` : ''}
    out[to + i] = ${total ? 'total[0] * ' : ''}(${add ? 'out[to + i] + ' : ''}${cap ? capped('value', cap) : 'value'});
  }
}`,
  }
})
