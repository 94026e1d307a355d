/** What the kernels of sampling share: they go over the vocabulary in chunks, a workgroup each. */

/** Tokens of a chunk. */
export const CHUNK = 1024
/** Invocations of a workgroup that goes over one. */
export const THREADS = 64

/** Lower than any logit; -Infinity has no literal in WGSL. */
export const LOWEST = '-3.4e38'

/** As low as a value that is allowed can be, and above `LOWEST`. */
export const LEAST = '-3.3e38'

/** Above any logit: what a chunk reports as its greatest where some logit is infinite or not a number. */
export const UNSOUND = '3.4e38'

/** Greatest value with its token, greatest logit with the sum of exponentials below it. Order does not matter. */
export const MERGED = /* wgsl */ `
fn merged(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
  let most = max(a.z, b.z);
  let sum = a.w * exp(a.z - most) + b.w * exp(b.z - most);
  if (b.x > a.x || (b.x == a.x && u32(b.y) < u32(a.y))) { return vec4<f32>(b.xy, most, sum); }
  return vec4<f32>(a.xy, most, sum);
}`

/**
 * The race that draws: of x = (value - greatest) / temperature, the greatest x + g wins. Winners are merged as values
 * are, with the mass e^x of all that ran in place of a sum: the z of each is 0.
 */
export const RACE = /* wgsl */ `
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

/** The race so far, and one more. */
fn raced(best: vec4<f32>, token: u32, x: f32, key: u32) -> vec4<f32> {
  var next = best;
  next.w += exp(x);
  // The greatest g is 16.64: no more logarithms than can matter.
  if (x + 16.7 > best.x) {
    let drawn = x + gumbel(key, token);
    if (drawn > best.x) { next.x = drawn; next.y = f32(token); }
  }
  return next;
}
`
