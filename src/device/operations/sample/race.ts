/**
 * The race among all tokens, chunk by chunk: whoever wins it is drawn, unless it stands outside the nucleus. It needs
 * the greatest of all values, so that it cannot be part of the scan that finds it.
 */
import type { SamplerShape } from '../../contract.js'
import { declare, type GpuTraits, type Kernel, memo } from '../../gpu/kernels/kernel.js'
import { enableSubgroups, exchange } from '../../gpu/kernels/subgroup.js'
import { CHUNK, LOWEST, MERGED, RACE, THREADS } from './chunks.js'
import { JOB } from './job.js'

export const raceKernel = memo(function raceKernel({ tokens }: SamplerShape, { lanes }: GpuTraits): Kernel {
  const near = Math.min(lanes, THREADS)
  const chunks = Math.ceil(tokens / CHUNK)
  const { source, bindings } = declare([
    ['job', 'u32', 'r'],
    ['values', 'f32', 'r'],
    ['parts', 'vec4<f32>', 'r'],
    ['races', 'vec4<f32>', 'w'],
  ])
  return {
    name: 'sample race',
    bindings,
    source: /* wgsl */ `
${enableSubgroups(near)}
${source}
${JOB}
var<workgroup> highest: array<f32, ${THREADS / near}>;
var<workgroup> found: array<vec4<f32>, ${THREADS / near}>;
@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let row = group.y;
  let settings = jobOf(row);
  if (settings.temperature <= 0.0) { return; }
  var high = ${LOWEST};
  for (var i = lane; i < ${chunks}u; i += ${THREADS}u) { high = max(high, parts[row * ${chunks}u + i].x); }
${exchange('high', near, (a, b) => `max(${a}, ${b})`)}
  if (lane % ${near}u == 0u) { highest[lane / ${near}u] = high; }
  workgroupBarrier();
  var greatest = highest[0];
  for (var i = 1u; i < ${THREADS / near}u; i++) { greatest = max(greatest, highest[i]); }
  let inverse = 1.0 / settings.temperature;
  var all = vec4<f32>(${LOWEST}, 0.0, 0.0, 0.0);
  // Of a chunk that a mask forbids nothing runs.
  if (parts[row * ${chunks}u + group.x].x > ${LOWEST}) {
    for (var i = lane; i < ${CHUNK}u; i += ${THREADS}u) {
      let token = group.x * ${CHUNK}u + i;
      if (token >= ${tokens}u) { break; }
      let value = values[row * ${tokens}u + token];
      if (value > ${LOWEST}) { all = raced(all, token, (value - greatest) * inverse, settings.key); }
    }
  }
${exchange('all', near, (a, b) => `merged(${a}, ${b})`)}
  if (lane % ${near}u == 0u) { found[lane / ${near}u] = all; }
  workgroupBarrier();
  if (lane > 0u) { return; }
  for (var i = 1u; i < ${THREADS / near}u; i++) { all = merged(all, found[i]); }
  races[row * ${chunks}u + group.x] = all;
}
${MERGED}
${RACE}`,
  }
})
