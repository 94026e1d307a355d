/**
 * The choice of one token of a row, by one workgroup, from what the scan and the race have found in each chunk. The
 * winner of the race is drawn if it stands in the nucleus: if the values above it do not hold the mass that is asked
 * for. If they do, the nucleus lies among them, and so does its winner: they run again, by themselves. Values above a
 * winner are few, and most chunks have none. Where a floor is set, whatever lies on or above it runs anew at first.
 */
import type { SamplerShape } from '../../contract.js'
import { declare, type GpuTraits, type Kernel, memo } from '../../gpu/kernels/kernel.js'
import { enableSubgroups, exchange } from '../../gpu/kernels/subgroup.js'
import { CHUNK, LEAST, LOWEST, MERGED, RACE, UNSOUND } from './chunks.js'
import { ADMITTED_WORD, AMONG_WORDS, amongAt, JOB, RESULT_WORDS, UNDRAWN_WORD } from './job.js'

/** Of a workgroup. What computes them one after the other stops each of them at every barrier. */
const threadsOf = ({ serial }: GpuTraits): number => (serial ? 16 : 256)

export const chooseKernel = memo(function chooseKernel(shape: SamplerShape, traits: GpuTraits): Kernel {
  const { lanes } = traits
  const threads = threadsOf(traits)
  const { tokens } = shape
  const chunks = Math.ceil(tokens / CHUNK)
  const { source, bindings } = declare([
    ['job', 'u32', 'r'],
    ['logits', 'f32', 'r'],
    ['values', 'f32', 'r'],
    ['parts', 'vec4<f32>', 'r'],
    ['races', 'vec4<f32>', 'r'],
    ['slots', 'u32', 'w'],
    ['results', 'u32', 'w'],
  ])
  return {
    name: 'sample choose',
    bindings,
    source: /* wgsl */ `
${enableSubgroups(lanes)}
${source}
${JOB}
${MERGED}
${RACE}
const LOW = ${LOWEST};
var<workgroup> found: array<vec4<f32>, ${threads / lanes}>;

/** All lanes' findings merged; uniform. */
fn everyone(lane: u32, mine: vec4<f32>) -> vec4<f32> {
  var near = mine;
${exchange('near', lanes, (a, b) => `merged(${a}, ${b})`)}
  if (lane % ${lanes}u == 0u) { found[lane / ${lanes}u] = near; }
  for (var half = ${threads / lanes / 2}u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lane < half) { found[lane] = merged(found[lane], found[lane + half]); }
  }
  return workgroupUniformLoad(&found[0]);
}

/** How many values lie on or above \`bound\`. */
fn reaching(lane: u32, row: u32, bound: f32) -> u32 {
  var count = 0u;
  for (var chunk = 0u; chunk < ${chunks}u; chunk++) {
    if (parts[row * ${chunks}u + chunk].x < bound) { continue; }
    for (var i = lane; i < ${CHUNK}u; i += ${threads}u) {
      let token = chunk * ${CHUNK}u + i;
      if (token >= ${tokens}u) { break; }
      count += select(0u, 1u, values[row * ${tokens}u + token] >= bound);
    }
  }
  return u32(everyone(lane, vec4<f32>(LOW, 0.0, 0.0, f32(count))).w + 0.5);
}

/** On or above it lie the \`wanted\` greatest, and what equals the last of them; LOW where there are not so many. */
fn boundOf(lane: u32, row: u32, wanted: u32, greatest: f32) -> f32 {
  var high = greatest;
  if (reaching(lane, row, high) >= wanted) { return high; }
  var low = high;
  var reached = 0u;
  for (var step = 1.0; reached < wanted; step *= 4.0) {
    if (low == ${LEAST}) { return LOW; }
    high = low;
    low = select(greatest - step, ${LEAST}, step > 1e7);
    reached = reaching(lane, row, low);
  }
  while (reached != wanted) {
    let between = 0.5 * low + 0.5 * high;
    if (between <= low || between >= high) { break; }
    let count = reaching(lane, row, between);
    if (count >= wanted) { low = between; reached = count; } else { high = between; }
  }
  return low;
}

/** Of the values not below \`least\` and no further than \`reach\` from \`mean\`: the furthest, and their mass. */
fn within(lane: u32, row: u32, least: f32, greatest: f32, mean: f32, reach: f32) -> vec2<f32> {
  var far = 0.0;
  var mass = 0.0;
  for (var chunk = 0u; chunk < ${chunks}u; chunk++) {
    if (parts[row * ${chunks}u + chunk].x < max(least, mean - reach)) { continue; }
    for (var i = lane; i < ${CHUNK}u; i += ${threads}u) {
      let token = chunk * ${CHUNK}u + i;
      if (token >= ${tokens}u) { break; }
      let own = values[row * ${tokens}u + token];
      if (own <= LOW || own < least || abs(own - mean) > reach) { continue; }
      far = max(far, abs(own - mean));
      mass += exp(own - greatest);
    }
  }
  let all = everyone(lane, vec4<f32>(far, 0.0, 0.0, mass));
  return all.xw;
}

/** Between which values those lie that are nearest to the mean, until they hold more than \`share\` of the mass. */
fn typical(lane: u32, row: u32, least: f32, greatest: f32, share: f32) -> vec2<f32> {
  let total = within(lane, row, least, greatest, greatest, 3.4e38).y;
  var mine = 0.0;
  for (var i = lane; i < ${tokens}u; i += ${threads}u) {
    let own = values[row * ${tokens}u + i];
    if (own > LOW && own >= least) { mine += exp(own - greatest) * (own - greatest); }
  }
  let mean = greatest + everyone(lane, vec4<f32>(0.0, 0.0, 0.0, mine)).w / total;
  var most = within(lane, row, least, greatest, mean, 3.4e38).x;
  var low = -1.0;
  loop {
    // What equals the mean is nearest of all.
    let between = select(0.5 * (low + most), 0.0, low < 0.0);
    if (between <= low || between >= most) { break; }
    let found = within(lane, row, least, greatest, mean, between);
    if (found.y > share * total) { most = found.x; } else { low = between; }
  }
  var range = vec2<f32>(LOW, LOW);
  for (var i = lane; i < ${tokens}u; i += ${threads}u) {
    let own = values[row * ${tokens}u + i];
    if (own > LOW && own >= least && abs(own - mean) <= most) { range = max(range, vec2<f32>(-own, own)); }
  }
  let lowest = -everyone(lane, vec4<f32>(range.x, 0.0, 0.0, 0.0)).x;
  return vec2<f32>(lowest, everyone(lane, vec4<f32>(range.y, 0.0, 0.0, 0.0)).x);
}

/** The race among the values above \`value\`, between \`least\` and \`greatest\`, and their mass. */
fn above(lane: u32, row: u32, value: f32, least: f32, greatest: f32, inverse: f32, key: u32) -> vec4<f32> {
  var mine = vec4<f32>(LOW, 0.0, 0.0, 0.0);
  for (var chunk = 0u; chunk < ${chunks}u; chunk++) {
    let most = parts[row * ${chunks}u + chunk].x;
    if (most <= value || most < least) { continue; }
    for (var i = lane; i < ${CHUNK}u; i += ${threads}u) {
      let token = chunk * ${CHUNK}u + i;
      if (token >= ${tokens}u) { break; }
      let own = values[row * ${tokens}u + token];
      if (own > value && own >= least && own <= greatest) { mine = raced(mine, token, (own - greatest) * inverse, key); }
    }
  }
  return everyone(lane, mine);
}

/** The least of the values that each hold \`share\` of the mass of all; the greatest where none does. */
fn excluding(lane: u32, row: u32, least: f32, greatest: f32, share: f32) -> f32 {
  let wanted = share * above(lane, row, LOW, least, greatest, 1.0, 0u).w;
  var mine = -greatest;
  for (var i = lane; i < ${tokens}u; i += ${threads}u) {
    let own = values[row * ${tokens}u + i];
    if (own <= LOW || own < least || own > greatest) { continue; }
    if (exp(own - greatest) >= wanted) { mine = max(mine, -own); }
  }
  return -everyone(lane, vec4<f32>(mine, 0.0, 0.0, 0.0)).x;
}

fn drawn(lane: u32, row: u32, all: f32, settings: Job) -> u32 {
  let inverse = 1.0 / settings.temperature;
  var greatest = all;
  var least = LOW;
  if (settings.topK > 0.0) { least = boundOf(lane, row, u32(settings.topK), greatest); }
  if (settings.typicalP < 1.0) {
    let range = typical(lane, row, least, greatest, settings.typicalP);
    least = range.x;
    greatest = range.y;
  }
  if (settings.reach >= 0.0) { least = max(least, greatest - settings.reach); }
  if (settings.excluding < 1.0) { greatest = excluding(lane, row, least, greatest, settings.excluding); }
  var first: vec4<f32>;
  if (least > LOW || greatest < all) {
    first = above(lane, row, LOW, least, greatest, inverse, settings.key);
  } else {
    var mine = vec4<f32>(LOW, 0.0, 0.0, 0.0);
    for (var i = lane; i < ${chunks}u; i += ${threads}u) { mine = merged(mine, races[row * ${chunks}u + i]); }
    first = everyone(lane, mine);
  }
  var token = u32(first.y);
  if (settings.topP >= 1.0) { return token; }
  let wanted = settings.topP * first.w;
  // Each round is won by a greater value than the round before: it ends.
  loop {
    let value = values[row * ${tokens}u + token];
    if (value >= greatest) { break; }
    let next = above(lane, row, value, least, greatest, inverse, settings.key);
    if (next.w < wanted) { break; }
    token = u32(next.y);
  }
  return token;
}

@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let row = group.x;
  let settings = jobOf(row);
  var mine = vec4<f32>(LOW, 0.0, LOW, 0.0);
  for (var i = lane; i < ${chunks}u; i += ${threads}u) { mine = merged(mine, parts[row * ${chunks}u + i]); }
  let all = everyone(lane, mine);
  let to = row * ${RESULT_WORDS}u;
  if (all.x >= ${UNSOUND}) {
    if (lane == 0u) {
      // Passes that are under way already find a token that there is.
      slots[settings.slot] = 0u;
      results[to] = ${UNDRAWN_WORD}u;
    }
    return;
  }
  var token = u32(all.y);
  // Not where nothing is allowed.
  if (settings.temperature > 0.0 && all.x > LOW) { token = drawn(lane, row, all.x, settings); }
  token = min(token, ${tokens - 1}u);
  if (lane == 0u) {
    slots[settings.slot] = token;
    results[to] = token;
  }
  if (settings.wanted == 0u) { return; }
${logprobs(shape, threads)}
}`,
  }
})

/** Of the logits as the model gave them: the token's own, then the greatest in order. */
function logprobs({ rows, vocabulary, tokens }: SamplerShape, threads: number): string {
  const chunks = Math.ceil(tokens / CHUNK)
  return `  let total = all.z + log(all.w);
  let start = row * ${vocabulary}u;
  if (lane == 0u) { results[to + 1u] = bitcast<u32>(logits[start + token] - total); }
  for (var k = lane; k < settings.amongCount; k += ${threads}u) {
    results[${amongAt(rows)}u + row * ${AMONG_WORDS}u + k] = bitcast<u32>(logits[start + job[settings.among + k]] - total);
  }
  if (settings.admitted != 0u) {
    var most = LOW;
    var sum = 0.0;
    for (var chunk = 0u; chunk < ${chunks}u; chunk++) {
      // Of a chunk that a mask forbids nothing counts.
      if (parts[row * ${chunks}u + chunk].x <= LOW) { continue; }
      for (var i = lane; i < ${CHUNK}u; i += ${threads}u) {
        let t = chunk * ${CHUNK}u + i;
        if (t >= ${tokens}u) { break; }
        if (values[row * ${tokens}u + t] <= LOW) { continue; }
        let logit = logits[start + t];
        if (logit > most) { sum = sum * exp(most - logit) + 1.0; most = logit; } else { sum += exp(logit - most); }
      }
    }
    let allowed = everyone(lane, vec4<f32>(LOW, 0.0, most, sum));
    if (lane == 0u) { results[to + ${ADMITTED_WORD}u] = bitcast<u32>(allowed.z + log(allowed.w) - total); }
  }
  var last = vec2<f32>(3.4e38, 0.0);
  for (var k = 0u; k < min(settings.top, ${tokens}u); k++) {
    // The next in order after \`last\`: lower, or equal with a higher id.
    var next = vec4<f32>(LOW, 16777215.0, LOW, 0.0);
    for (var t = lane; t < ${tokens}u; t += ${threads}u) {
      let value = logits[start + t];
      let after = value < last.x || (value == last.x && t > u32(last.y));
      if (after && value > next.x) { next = vec4<f32>(value, f32(t), LOW, 0.0); }
    }
    last = everyone(lane, next).xy;
    if (lane == 0u) {
      results[to + 2u + 2u * k] = u32(last.y);
      results[to + 3u + 2u * k] = bitcast<u32>(last.x - total);
    }
  }`
}
