/** The choice of one token among all values of a row, by one workgroup. */
import type { SamplerShape } from '../device/device.js'
import { exchange } from './subgroup.js'

const THREADS = 256

/**
 * Likelihoods below the greatest are cut into 2^24 steps of 2^-19 nats: the nucleus is found by three rounds over 256
 * bins each. Masses are whole numbers of 2^-31, so that their sums do not depend on the order of adding.
 */
export function chooseBody(
  { vocabulary, tokens }: SamplerShape,
  chunks: number,
  resultWords: number,
  lanes: number,
): string {
  return /* wgsl */ `
const LOW = -3.4e38;
var<workgroup> found: array<vec4<f32>, ${THREADS / lanes}>;
var<workgroup> massLow: array<atomic<u32>, 256>;
var<workgroup> massHigh: array<atomic<u32>, 256>;
var<workgroup> limit: u32;
var<workgroup> wantedMass: f32;
var<workgroup> heldMass: f32;

fn mix(a: u32) -> u32 {
  var x = a;
  x ^= x >> 16u; x *= 0x21f0aaadu;
  x ^= x >> 15u; x *= 0x735a2d97u;
  return x ^ (x >> 15u);
}

/** log(1 - v) for v near 0 comes from its series: the built-in one is only good to 2^-21 there. */
fn gumbel(key: u32, token: u32) -> f32 {
  let odd = (mix(key ^ ((token + 1u) * 0x85ebca6bu)) >> 9u) * 2u + 1u;
  let v = f32(16777216u - odd) / 16777216.0;
  let series = v * (1.0 + v * (0.5 + v * (0.33333334 + v * 0.25)));
  return -log(select(-log(f32(odd) / 16777216.0), series, v < 0.01));
}

fn stepsBelow(value: f32, greatest: f32, inverse: f32) -> u32 {
  return u32(min((greatest - value) * inverse, 31.99999) * 524288.0);
}

/** The greatest over all lanes; uniform. */
fn everyone(lane: u32, mine: vec4<f32>) -> vec4<f32> {
  var near = mine;
${exchange('near', lanes, (a, b) => `merged(${a}, ${b})`)}
  if (lane % ${lanes}u == 0u) { found[lane / ${lanes}u] = near; }
  for (var half = ${THREADS / lanes / 2}u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lane < half) { found[lane] = merged(found[lane], found[lane + half]); }
  }
  workgroupBarrier();
  let all = found[0];
  workgroupBarrier();
  return all;
}

/** One round: which of 256 bins holds the last of the nucleus, among values whose higher digits equal \`prefix\`. */
fn narrow(lane: u32, base: u32, round: u32, prefix: u32, greatest: f32, inverse: f32, topP: f32) -> u32 {
  let shift = 16u - 8u * round;
  atomicStore(&massLow[lane], 0u);
  atomicStore(&massHigh[lane], 0u);
  workgroupBarrier();
  for (var t = lane; t < ${tokens}u; t += ${THREADS}u) {
    let value = values[base + t];
    if (value <= LOW) { continue; }
    let code = stepsBelow(value, greatest, inverse);
    if (round > 0u && (code >> (shift + 8u)) != prefix) { continue; }
    let mass = u32(exp((value - greatest) * inverse) * 2147483648.0);
    if (mass == 0u) { continue; }
    let bin = (code >> shift) & 255u;
    let old = atomicAdd(&massLow[bin], mass);
    if (old + mass < old) { atomicAdd(&massHigh[bin], 1u); }
  }
  workgroupBarrier();
  if (lane == 0u) {
    if (round == 0u) {
      var total = 0.0;
      for (var i = 0u; i < 256u; i++) { total += binMass(i); }
      wantedMass = topP * total;
      heldMass = 0.0;
    }
    var bin = 0u;
    var held = heldMass;
    for (; bin < 255u; bin++) {
      let more = held + binMass(bin);
      if (more >= wantedMass) { break; }
      held = more;
    }
    heldMass = held;
    limit = (prefix << 8u) | bin;
  }
  workgroupBarrier();
  let answer = workgroupUniformLoad(&limit);
  return answer;
}
fn binMass(bin: u32) -> f32 {
  return f32(atomicLoad(&massHigh[bin])) * 4294967296.0 + f32(atomicLoad(&massLow[bin]));
}

@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let row = group.x;
  let settings = jobOf(row);
  let base = row * ${tokens}u;
  var mine = vec4<f32>(LOW, 0.0, LOW, 0.0);
  for (var i = lane; i < ${chunks}u; i += ${THREADS}u) { mine = merged(mine, parts[row * ${chunks}u + i]); }
  let all = everyone(lane, mine);
  var token = u32(all.y);
  if (settings.temperature > 0.0) {
    let greatest = all.x;
    let inverse = 1.0 / settings.temperature;
    var last = 0xffffffffu;
    if (settings.topP < 1.0) {
      last = narrow(lane, base, 0u, 0u, greatest, inverse, settings.topP);
      last = narrow(lane, base, 1u, last, greatest, inverse, settings.topP);
      last = narrow(lane, base, 2u, last, greatest, inverse, settings.topP);
    }
    var best = vec4<f32>(LOW, f32(token), LOW, 0.0);
    for (var t = lane; t < ${tokens}u; t += ${THREADS}u) {
      let value = values[base + t];
      if (value <= LOW) { continue; }
      let x = (value - greatest) * inverse;
      // The greatest g is 16.64.
      if (x + 16.7 <= best.x || (last != 0xffffffffu && stepsBelow(value, greatest, inverse) > last)) { continue; }
      let drawn = x + gumbel(settings.key, t);
      if (drawn > best.x) { best = vec4<f32>(drawn, f32(t), LOW, 0.0); }
    }
    token = u32(everyone(lane, best).y);
  }
  token = min(token, ${tokens - 1}u);
  let to = row * ${resultWords}u;
  if (lane == 0u) {
    slots[settings.slot] = token;
    results[to] = token;
  }
  if (settings.wanted == 0u) { return; }
  let total = all.z + log(all.w);
  let start = row * ${vocabulary}u;
  if (lane == 0u) { results[to + 1u] = bitcast<u32>(logits[start + token] - total); }
  var above = vec2<f32>(3.4e38, 0.0);
  for (var k = 0u; k < min(settings.top, ${tokens}u); k++) {
    // The next in order after \`above\`: lower, or equal with a higher id.
    var next = vec4<f32>(LOW, 16777215.0, LOW, 0.0);
    for (var t = lane; t < ${tokens}u; t += ${THREADS}u) {
      let value = logits[start + t];
      let after = value < above.x || (value == above.x && t > u32(above.y));
      if (after && value > next.x) { next = vec4<f32>(value, f32(t), LOW, 0.0); }
    }
    above = everyone(lane, next).xy;
    if (lane == 0u) {
      results[to + 2u + 2u * k] = u32(above.y);
      results[to + 3u + 2u * k] = bitcast<u32>(above.x - total);
    }
  }
}`
}
