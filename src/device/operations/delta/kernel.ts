/**
 * The gated delta rule. An invocation takes one column of a head's matrix through all rows of a span; as no other needs
 * that column, the matrix lies in the workgroup's memory without any barrier. What a head gives is normed after that.
 */
import { declare, float, type GpuTraits, type Kernel, memo } from '../../gpu/kernels/kernel.js'
import { META } from '../../gpu/kernels/meta.js'
import { enableSubgroups, sumOfGroup } from '../../gpu/kernels/subgroup.js'

export interface DeltaShape {
  readonly keyHeads: number
  readonly valueHeads: number
  readonly keySize: number
  readonly valueSize: number
  readonly tiled: boolean
  /** Values of a state. */
  readonly size: number
  /** Columns of a row of each. */
  readonly strides: { readonly x: number; readonly rates: number; readonly gates: number; readonly out: number }
  readonly gatesFrom: number
  /** Of the norm. */
  readonly epsilon: number
}

/** Bytes of a workgroup's memory that every device has. */
const SHARED = 16384

export function columnsOf({ keySize, valueSize }: DeltaShape): number {
  let columns = 64
  while (columns * keySize * 4 > SHARED || valueSize % columns !== 0) columns /= 2
  return columns
}

export const deltaKernel = memo(function deltaKernel(shape: DeltaShape): Kernel {
  const { keyHeads, valueHeads, keySize, valueSize, tiled, size, strides } = shape
  const { source, bindings } = declare([
    ['batch', 'u32', 'r'],
    ['x', 'f32', 'r'],
    ['rates', 'f32', 'r'],
    ['speed', 'f32', 'r'],
    ['delay', 'f32', 'r'],
    ['state', 'f32', 'w'],
    ['out', 'f32', 'w'],
  ])
  const columns = columnsOf(shape)
  const keys = keyHeads * keySize
  return {
    name: 'delta',
    bindings,
    source: /* wgsl */ `
${source}
${META}
var<workgroup> memory: array<f32, ${columns * keySize}>;
@compute @workgroup_size(${columns})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let head = group.y;
  let column = group.x * ${columns}u + lane;
  let keyHead = ${tiled ? `head % ${keyHeads}u` : `head / ${valueHeads / keyHeads}u`};
  let span = spanOf(group.z);
  let first = span & 0xffffu;
  let end = first + (span >> 16u);
  let slot = slotsOf(first) & 0xffffu;
  let own = head * ${keySize * valueSize}u + column;
  if (slot == 0u) {
    for (var i = 0u; i < ${keySize}u; i++) { memory[i * ${columns}u + lane] = 0.0; }
  } else {
    let before = (slot - 1u) * ${size}u + own;
    for (var i = 0u; i < ${keySize}u; i++) { memory[i * ${columns}u + lane] = state[before + i * ${valueSize}u]; }
  }
  for (var row = first; row < end; row++) {
    let query = row * ${strides.x}u + keyHead * ${keySize}u;
    let key = query + ${keys}u;
    var squares = vec2<f32>();
    var both = 0.0;
    var known = 0.0;
    var asked = 0.0;
    for (var i = 0u; i < ${keySize}u; i++) {
      let q = x[query + i];
      let k = x[key + i];
      let s = memory[i * ${columns}u + lane];
      squares += vec2<f32>(q * q, k * k);
      both += q * k;
      known += s * k;
      asked += s * q;
    }
    let lengths = inverseSqrt(squares + 1e-6);
    let scale = lengths.x * ${float(keySize ** -0.5)};
    let rate = row * ${strides.rates}u + head;
    let a = rates[rate + ${valueHeads}u] + delay[head];
    // log(1 + e^a), where e^a does not overflow.
    let stays = exp(speed[head] * (max(a, 0.0) + log(1.0 + exp(-abs(a)))));
    let learns = 1.0 / (1.0 + exp(-rates[rate]));
    let value = x[row * ${strides.x}u + ${2 * keys}u + head * ${valueSize}u + column];
    let change = (value - known * lengths.y * stays) * learns;
    out[row * ${strides.out}u + head * ${valueSize}u + column] = asked * scale * stays + change * both * scale * lengths.y;
    let push = change * lengths.y;
    for (var i = 0u; i < ${keySize}u; i++) {
      memory[i * ${columns}u + lane] = fma(memory[i * ${columns}u + lane], stays, x[key + i] * push);
    }
    if (leavesState(row, end)) {
      let after = (slotsOf(row) >> 16u) * ${size}u + own;
      for (var i = 0u; i < ${keySize}u; i++) { state[after + i * ${valueSize}u] = memory[i * ${columns}u + lane]; }
    }
  }
}`,
  }
})

/** Each head of each row normed, and multiplied with its gates. */
export const deltaOutKernel = memo(function deltaOutKernel(shape: DeltaShape, { serial, lanes }: GpuTraits): Kernel {
  const { valueHeads, valueSize, strides, gatesFrom, epsilon } = shape
  const { source, bindings } = declare([
    ['weight', 'f32', 'r'],
    ['gates', 'f32', 'r'],
    ['out', 'f32', 'w'],
  ])
  const threads = serial ? 1 : 32
  const near = Math.min(lanes, threads)
  return {
    name: 'delta out',
    bindings,
    source: /* wgsl */ `
${enableSubgroups(near)}
${source}
${serial ? '' : `var<workgroup> parts: array<f32, ${threads / near}>;`}
@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let row = group.x / ${valueHeads}u;
  let head = (group.x % ${valueHeads}u) * ${valueSize}u;
  let base = row * ${strides.out}u + head;
  var sum = 0.0;
  for (var i = lane; i < ${valueSize}u; i += ${threads}u) { sum += out[base + i] * out[base + i]; }
  ${sumOfGroup(threads, near)}
  let factor = inverseSqrt(sum / ${float(valueSize)} + ${float(epsilon)});
  for (var i = lane; i < ${valueSize}u; i += ${threads}u) {
    let gate = gates[row * ${strides.gates}u + ${gatesFrom}u + head + i];
    out[base + i] *= factor * weight[i] * gate / (1.0 + exp(-gate));
  }
}`,
  }
})
