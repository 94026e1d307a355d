/** What happens between the matrix products, row by row. */
import { CLAMPED, GELU, RELU, RELU2, SIGMOID, SILU } from './abi'
import { Exponential, exp4 } from './exp'

export function sum4(v: v128): f32 {
  return f32x4.extract_lane(v, 0) + f32x4.extract_lane(v, 1) + (f32x4.extract_lane(v, 2) + f32x4.extract_lane(v, 3))
}

/** out[r] = x[r] / rms(x[r]) * weight, for rows of `k` values that may lie `stride` bytes apart. */
export function rmsnorm(
  x: usize,
  xStride: usize,
  weight: usize,
  out: usize,
  outStride: usize,
  from: i32,
  to: i32,
  k: i32,
  eps: f32,
): void {
  const bytes = (<usize>k) << 2
  const whole = bytes & ~15
  for (let row = from; row < to; row++) {
    const p = x + <usize>row * xStride
    const o = out + <usize>row * outStride
    let sums = f32x4.splat(0)
    let i: usize = 0
    for (; i < whole; i += 16) {
      const v = v128.load(p + i)
      sums = f32x4.add(sums, f32x4.mul(v, v))
    }
    let sum = sum4(sums)
    for (; i < bytes; i += 4) sum += load<f32>(p + i) * load<f32>(p + i)
    const factor: f32 = 1 / sqrt<f32>(sum / <f32>k + eps)
    const factors = f32x4.splat(factor)
    for (i = 0; i < whole; i += 16) {
      v128.store(o + i, f32x4.mul(f32x4.mul(v128.load(p + i), factors), v128.load(weight + i)))
    }
    for (; i < bytes; i += 4) store<f32>(o + i, load<f32>(p + i) * factor * load<f32>(weight + i))
  }
}

/** cap * tanh(v / cap). */
export function cap4(v: v128, cap: f32): v128 {
  const e = exp4(f32x4.mul(v, f32x4.splat(2 / cap)))
  return f32x4.sub(f32x4.splat(cap), f32x4.div(f32x4.splat(2 * cap), f32x4.add(e, f32x4.splat(1))))
}

export function sigmoid4(gate: v128): v128 {
  return f32x4.div(f32x4.splat(1), f32x4.add(f32x4.splat(1), exp4(f32x4.neg(gate))))
}

export function silu4(gate: v128): v128 {
  return f32x4.div(gate, f32x4.add(f32x4.splat(1), exp4(f32x4.neg(gate))))
}

/** As tanh computes it, in its sigmoid form. */
function gelu4(gate: v128): v128 {
  const square = f32x4.mul(gate, gate)
  const by = f32x4.add(f32x4.mul(square, f32x4.splat(0.044715 * -1.5957691216)), f32x4.splat(-1.5957691216))
  return f32x4.div(gate, f32x4.add(f32x4.splat(1), exp4(f32x4.mul(gate, by))))
}

/**
 * The exact one: erfc(|x| / sqrt 2) is Abramowitz and Stegun's 7.1.26, within 1.5e-7. Half of it is what lies beyond |x|
 * of the normal distribution, so that x loses no digits far out.
 */
function geluErf4(x: v128): v128 {
  const far = f32x4.mul(f32x4.abs(x), f32x4.splat(<f32>Math.SQRT1_2))
  const t = f32x4.div(f32x4.splat(1), f32x4.add(f32x4.splat(1), f32x4.mul(far, f32x4.splat(0.3275911))))
  let sum = f32x4.splat(1.061405429)
  sum = f32x4.add(f32x4.mul(sum, t), f32x4.splat(-1.453152027))
  sum = f32x4.add(f32x4.mul(sum, t), f32x4.splat(1.421413741))
  sum = f32x4.add(f32x4.mul(sum, t), f32x4.splat(-0.284496736))
  sum = f32x4.mul(f32x4.add(f32x4.mul(sum, t), f32x4.splat(0.254829592)), t)
  const beyond = f32x4.mul(f32x4.mul(sum, f32x4.splat(0.5)), exp4(f32x4.neg(f32x4.mul(far, far))))
  return f32x4.sub(f32x4.pmax(x, f32x4.splat(0)), f32x4.mul(f32x4.abs(x), beyond))
}

/** gpt-oss's. */
function clamped4(gate: v128): v128 {
  const most = f32x4.min(gate, f32x4.splat(7))
  return f32x4.div(most, f32x4.add(f32x4.splat(1), exp4(f32x4.mul(most, f32x4.splat(-1.702)))))
}

/** What is multiplied with it: most gates take values as they are. */
function gatedBy4(gate: i32, value: v128): v128 {
  if (gate !== CLAMPED) return value
  return f32x4.add(f32x4.max(f32x4.min(value, f32x4.splat(7)), f32x4.splat(-7)), f32x4.splat(1))
}

export function gate4(gate: i32, value: v128): v128 {
  if (gate === CLAMPED) return clamped4(value)
  if (gate === SIGMOID) return sigmoid4(value)
  if (gate === RELU) return f32x4.max(value, f32x4.splat(0))
  if (gate === RELU2) return f32x4.mul(value, f32x4.max(value, f32x4.splat(0)))
  return gate === SILU ? silu4(value) : gate === GELU ? gelu4(value) : geluErf4(value)
}

/** out[r][i] = gate(x[r][i]) * x[r][k + i] */
export function gateMul(kind: i32, x: usize, out: usize, outStride: usize, from: i32, to: i32, k: i32): void {
  const bytes = (<usize>k) << 2
  for (let row = <usize>from; row < <usize>to; row++) {
    const gates = x + row * bytes * 2
    gateRow(kind, gates, gates + bytes, out + row * outStride, k)
  }
}

/** out = gate(gates) * values, of `k` values. */
export function gateRow(kind: i32, gates: usize, values: usize, out: usize, k: i32): void {
  // Nearly all models have this one: with its kind known, nothing is chosen anew for each four values.
  if (kind === SILU) siluRow(gates, values, out, k)
  else gateRowBy(kind, gates, values, out, k)
}

/** Eight at a time, and no two stores between loads: so V8's revectorizer joins them. */
function siluRow(gates: usize, values: usize, out: usize, k: i32): void {
  const bytes = (<usize>k) << 2
  const whole = bytes & ~31
  const one = f32x4.splat(1)
  let i: usize = 0
  for (; i < whole; i += 32) {
    const gate = v128.load(gates + i)
    const next = v128.load(gates + i, 16)
    const a = f32x4.div(gate, f32x4.add(one, Exponential.of4(f32x4.neg(gate))))
    const b = f32x4.div(next, f32x4.add(one, Exponential.of4(f32x4.neg(next))))
    const c = f32x4.mul(a, v128.load(values + i))
    const d = f32x4.mul(b, v128.load(values + i, 16))
    v128.store(out + i, c)
    v128.store(out + i, d, 16)
  }
  for (; i < bytes; i += 4) {
    store<f32>(out + i, f32x4.extract_lane(silu4(f32x4.splat(load<f32>(gates + i))), 0) * load<f32>(values + i))
  }
}

function gateRowBy(kind: i32, gates: usize, values: usize, out: usize, k: i32): void {
  const bytes = (<usize>k) << 2
  const whole = bytes & ~15
  let i: usize = 0
  for (; i < whole; i += 16) {
    v128.store(out + i, f32x4.mul(gate4(kind, v128.load(gates + i)), gatedBy4(kind, v128.load(values + i))))
  }
  for (; i < bytes; i += 4) {
    const gate = f32x4.extract_lane(gate4(kind, f32x4.splat(load<f32>(gates + i))), 0)
    store<f32>(out + i, gate * f32x4.extract_lane(gatedBy4(kind, f32x4.splat(load<f32>(values + i))), 0))
  }
}

/** x += bias, for `k` values. */
export function addBias(x: usize, bias: usize, k: i32): void {
  const bytes = (<usize>k) << 2
  const whole = bytes & ~15
  let i: usize = 0
  for (; i < whole; i += 16) v128.store(x + i, f32x4.add(v128.load(x + i), v128.load(bias + i)))
  for (; i < bytes; i += 4) store<f32>(x + i, load<f32>(x + i) + load<f32>(bias + i))
}

/** Turns the pairs (i, i + d / 2) of one head in place. `angles` holds a cosine and a sine for each pair. */
export function ropeHead(x: usize, angles: usize, d: i32): void {
  const half = (<usize>(d >> 1)) << 2
  const whole = half & ~15
  let i: usize = 0
  for (; i < whole; i += 16) {
    const a = v128.load(x + i)
    const b = v128.load(x + half + i)
    const t0 = v128.load(angles + i * 2)
    const t1 = v128.load(angles + i * 2, 16)
    const c = v128.shuffle<i32>(t0, t1, 0, 2, 4, 6)
    const s = v128.shuffle<i32>(t0, t1, 1, 3, 5, 7)
    v128.store(x + i, f32x4.sub(f32x4.mul(a, c), f32x4.mul(b, s)))
    v128.store(x + half + i, f32x4.add(f32x4.mul(b, c), f32x4.mul(a, s)))
  }
  for (; i < half; i += 4) {
    const a = load<f32>(x + i)
    const b = load<f32>(x + half + i)
    const c = load<f32>(angles + i * 2)
    const s = load<f32>(angles + i * 2, 4)
    store<f32>(x + i, a * c - b * s)
    store<f32>(x + half + i, b * c + a * s)
  }
}
