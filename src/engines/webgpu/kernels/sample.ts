/**
 * Sampling as `sampling.ts` defines it. A first kernel goes over the whole vocabulary in chunks: mask, adjustments, the
 * greatest value and what the log probabilities need. A second one, a workgroup for each row, chooses.
 */
import type { SampleRow, SamplerShape } from '../device/device.js'
import { declare, type GpuTraits, type Kernel, memo, type Recorder } from './kernel.js'
import { chooseBody } from './sample-choose.js'
import { JOB, RESULT_WORDS } from './sample-job.js'
import { enableSubgroups, exchange } from './subgroup.js'

const CHUNK = 1024
const THREADS = 64

/** Lower than any logit; -Infinity has no literal in WGSL. */
export const LOWEST = '-3.4e38'

export const scanKernel = memo(function scanKernel({ vocabulary, tokens }: SamplerShape, { lanes }: GpuTraits): Kernel {
  const near = Math.min(lanes, THREADS)
  const { source, bindings } = declare([
    ['job', 'u32', 'r'],
    ['logits', 'f32', 'r'],
    ['values', 'f32', 'w'],
    ['parts', 'vec4<f32>', 'w'],
  ])
  return {
    name: 'sample scan',
    bindings,
    source: /* wgsl */ `
${enableSubgroups(near)}
${source}
${JOB}
var<workgroup> patch_: array<f32, ${CHUNK}>;
var<workgroup> found: array<vec4<f32>, ${THREADS / near}>;
@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let row = group.y;
  let settings = jobOf(row);
  let start = group.x * ${CHUNK}u;
  for (var i = lane; i < ${CHUNK}u; i += ${THREADS}u) { patch_[i] = 0.0; }
  workgroupBarrier();
  for (var i = lane; i < settings.adjustCount; i += ${THREADS}u) {
    let token = job[settings.adjust + 2u * i];
    if (token >= start && token - start < ${CHUNK}u) { patch_[token - start] = bitcast<f32>(job[settings.adjust + 2u * i + 1u]); }
  }
  workgroupBarrier();
  var best = ${LOWEST};
  var at = 0u;
  var most = ${LOWEST};
  var sum = 0.0;
  for (var i = lane; i < ${CHUNK}u; i += ${THREADS}u) {
    let token = start + i;
    if (token >= ${tokens}u) { break; }
    let logit = logits[row * ${vocabulary}u + token];
    if (logit > most) { sum = sum * exp(most - logit) + 1.0; most = logit; } else { sum += exp(logit - most); }
    var value = logit + patch_[i];
    if (settings.maskWords > 0u) {
      let word = token / 32u;
      let bits = select(0u, job[settings.mask + min(word, settings.maskWords - 1u)], word < settings.maskWords);
      if (((bits >> (token % 32u)) & 1u) == 0u) { value = ${LOWEST}; }
    }
    values[row * ${tokens}u + token] = value;
    if (value > best) { best = value; at = token; }
  }
  var all = vec4<f32>(best, f32(at), most, sum);
${exchange('all', near, (a, b) => `merged(${a}, ${b})`)}
  if (lane % ${near}u == 0u) { found[lane / ${near}u] = all; }
  workgroupBarrier();
  if (lane > 0u) { return; }
  for (var i = 1u; i < ${THREADS / near}u; i++) { all = merged(all, found[i]); }
  parts[row * ${Math.ceil(tokens / CHUNK)}u + group.x] = all;
}
${MERGED}`,
  }
})

/** Greatest value with its token, greatest logit with the sum of exponentials below it. Order does not matter. */
const MERGED = /* wgsl */ `
fn merged(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
  let most = max(a.z, b.z);
  let sum = a.w * exp(a.z - most) + b.w * exp(b.z - most);
  if (b.x > a.x || (b.x == a.x && u32(b.y) < u32(a.y))) { return vec4<f32>(b.xy, most, sum); }
  return vec4<f32>(a.xy, most, sum);
}`

export const chooseKernel = memo(function chooseKernel(shape: SamplerShape, { lanes }: GpuTraits): Kernel {
  const { source, bindings } = declare([
    ['job', 'u32', 'r'],
    ['logits', 'f32', 'r'],
    ['values', 'f32', 'r'],
    ['parts', 'vec4<f32>', 'r'],
    ['slots', 'u32', 'w'],
    ['results', 'u32', 'w'],
  ])
  return {
    name: 'sample choose',
    bindings,
    source: [
      enableSubgroups(lanes),
      source,
      JOB,
      MERGED,
      chooseBody(shape, Math.ceil(shape.tokens / CHUNK), RESULT_WORDS, lanes),
    ].join('\n'),
  }
})

export interface SamplerBuffers {
  readonly job: GPUBuffer
  readonly values: GPUBuffer
  readonly parts: GPUBuffer
  readonly slots: GPUBuffer
  readonly results: GPUBuffer
}

/** Sizes in words. */
export function samplerSizes({ rows, tokens, slots }: SamplerShape) {
  return {
    values: rows * tokens,
    parts: rows * Math.ceil(tokens / CHUNK) * 4,
    slots,
    results: rows * RESULT_WORDS,
  }
}

export function sample(
  pass: Recorder,
  shape: SamplerShape,
  logits: GPUBuffer,
  rows: readonly SampleRow[],
  { job, values, parts, slots, results }: SamplerBuffers,
): void {
  pass.dispatch(
    scanKernel(shape, pass.traits),
    [job, logits, values, parts],
    Math.ceil(shape.tokens / CHUNK),
    rows.length,
  )
  pass.dispatch(chooseKernel(shape, pass.traits), [job, logits, values, parts, slots, results], rows.length)
}
