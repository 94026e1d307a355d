/** The first look at all values: mask and adjustments are applied, and of each chunk the greatest is found. */
import type { SamplerShape } from '../../contract.js'
import { declare, type GpuTraits, type Kernel, memo } from '../../gpu/kernels/kernel.js'
import { enableSubgroups, exchange } from '../../gpu/kernels/subgroup.js'
import { CHUNK, LOWEST, MERGED, THREADS, UNSOUND } from './chunks.js'
import { JOB } from './job.js'

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
var<workgroup> found: array<vec4<f32>, ${THREADS / near}>;
@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let row = group.y;
  let settings = jobOf(row);
  let start = group.x * ${CHUNK}u;
  let end = min(start + ${CHUNK}u, ${tokens}u);
  let base = row * ${tokens}u;
  var best = ${LOWEST};
  var at = 0u;
  var most = ${LOWEST};
  var sum = 0.0;
  var sound = true;
  for (var token = start + lane; token < end; token += ${THREADS}u) {
    let logit = logits[row * ${vocabulary}u + token];
    // By its bits: a compiler may take it for granted that there is nothing but numbers.
    sound = sound && (bitcast<u32>(logit) & 0x7f800000u) != 0x7f800000u;
    // Only log probabilities need the sum of all, an exponential for each.
    if (settings.wanted != 0u) {
      if (logit > most) { sum = sum * exp(most - logit) + 1.0; most = logit; } else { sum += exp(logit - most); }
    }
    var value = logit;
    if (settings.repeatWords > 0u && token / 32u < settings.repeatWords) {
      let said = (job[settings.repeats + token / 32u] >> (token % 32u)) & 1u;
      if (said != 0u) { value *= select(settings.below, settings.above, value > 0.0); }
    }
    if (settings.maskWords > 0u) {
      let word = token / 32u;
      let bits = select(0u, job[settings.mask + min(word, settings.maskWords - 1u)], word < settings.maskWords);
      if (((bits >> (token % 32u)) & 1u) == 0u) { value = ${LOWEST}; }
    }
    values[base + token] = value;
    if (value > best) { best = value; at = token; }
  }
  if (settings.adjustCount > 0u) {
    // A lane finds the adjustments of its own tokens: nothing has to be shared.
    for (var i = 0u; i < settings.adjustCount; i++) {
      let token = job[settings.adjust + 2u * i];
      if (token < start || token >= end || (token - start) % ${THREADS}u != lane) { continue; }
      let value = values[base + token];
      if (value > ${LOWEST}) { values[base + token] = value + bitcast<f32>(job[settings.adjust + 2u * i + 1u]); }
    }
    best = ${LOWEST};
    for (var token = start + lane; token < end; token += ${THREADS}u) {
      let value = values[base + token];
      if (value > best) { best = value; at = token; }
    }
  }
  var all = vec4<f32>(select(${UNSOUND}, best, sound), f32(at), most, sum);
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
