/**
 * What transformers are made of, in float64 and plain loops, from the published definitions. Nothing of the product is
 * used here: these are the judges of what it computes.
 */

export type Vector = Float64Array<ArrayBuffer>

const biases = new WeakMap<Vector, Vector>()

/** The same matrix, whose products have a bias. */
export function biased(matrix: Vector, bias: Vector): Vector {
  const copy = matrix.slice()
  biases.set(copy, bias)
  return copy
}

/** A matrix of `rows` outputs: `rows x columns`, a row after the other. */
export function product(matrix: Vector, x: Vector, bias = biases.get(matrix)): Vector {
  const columns = x.length
  const rows = matrix.length / columns
  const out = new Float64Array(rows)
  // Four rows side by side: a processor adds to one sum only when its last addition has ended, and reads `x` once for all.
  const whole = rows - (rows % 4)
  for (let row = 0; row < whole; row += 4) {
    let [a, b, c, d] = [0, 0, 0, 0]
    let first = row * columns
    let second = first + columns
    let third = second + columns
    let fourth = third + columns
    for (let i = 0; i < columns; i++) {
      const value = x[i]!
      a += matrix[first++]! * value
      b += matrix[second++]! * value
      c += matrix[third++]! * value
      d += matrix[fourth++]! * value
    }
    out[row] = a
    out[row + 1] = b
    out[row + 2] = c
    out[row + 3] = d
  }
  for (let row = whole; row < rows; row++) {
    for (let i = 0, at = row * columns; i < columns; i++) out[row]! += matrix[at++]! * x[i]!
  }
  return bias ? add(out, bias) : out
}

/** The product of `size` numbers of each, from a place in each. */
export function dotOf(a: Vector, from: number, b: Vector, of: number, size: number): number {
  let sum = 0
  for (let i = 0; i < size; i++) sum += a[from + i]! * b[of + i]!
  return sum
}

/** Adds to `size` numbers of `out` so many times those of `x`, from a place in each. */
export function addTimes(out: Vector, from: number, factor: number, x: Vector, of: number, size: number): void {
  for (let i = 0; i < size; i++) out[from + i]! += factor * x[of + i]!
}

// In loops: a call for each of the millions of numbers takes as long as the products.
export function add(a: Vector, b: Vector): Vector {
  const out = new Float64Array(a.length)
  for (let i = 0; i < out.length; i++) out[i] = a[i]! + b[i]!
  return out
}
export function times(a: Vector, factor: number): Vector {
  const out = new Float64Array(a.length)
  for (let i = 0; i < out.length; i++) out[i] = a[i]! * factor
  return out
}
export function both(a: Vector, b: Vector): Vector {
  const out = new Float64Array(a.length)
  for (let i = 0; i < out.length; i++) out[i] = a[i]! * b[i]!
  return out
}

export function rmsNorm(x: Vector, weight: Vector | undefined, epsilon: number, plus = 0): Vector {
  return normHeads(x, x.length, weight, epsilon, plus)
}

/** Ba, Kiros, Hinton: Layer Normalization. */
export function layerNorm(x: Vector, weight: Vector, bias: Vector | undefined, epsilon: number): Vector {
  let [sum, squares] = [0, 0]
  for (let i = 0; i < x.length; i++) sum += x[i]!
  const mean = sum / x.length
  for (let i = 0; i < x.length; i++) squares += (x[i]! - mean) ** 2
  const factor = 1 / Math.sqrt(squares / x.length + epsilon)
  const out = new Float64Array(x.length)
  for (let i = 0; i < out.length; i++) out[i] = (x[i]! - mean) * factor * weight[i]! + (bias ? bias[i]! : 0)
  return out
}

/** The norm of each head by itself. */
export function normHeads(x: Vector, size: number, weight: Vector | undefined, epsilon: number, plus = 0): Vector {
  const out = new Float64Array(x.length)
  for (let at = 0; at < x.length; at += size) {
    const factor = 1 / Math.sqrt(dotOf(x, at, x, at, size) / size + epsilon)
    for (let i = 0; i < size; i++) out[at + i] = x[at + i]! * factor * (weight ? weight[i]! + plus : 1)
  }
  return out
}

export const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x))
export const silu = (x: number): number => x * sigmoid(x)
export const softplus = (x: number): number => (x > 30 ? x : Math.log1p(Math.exp(x)))
export const geluTanh = (x: number): number =>
  0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))
/** The error function by its series (Abramowitz and Stegun 7.1.6), which converges everywhere. */
export function erf(x: number): number {
  if (Math.abs(x) > 6) return Math.sign(x)
  let term = x
  let sum = x
  for (let n = 1; Math.abs(term) > 1e-18 * Math.abs(sum); n++) {
    term *= (2 * x * x) / (2 * n + 1)
    sum += term
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum
}
export const gelu = (x: number): number => 0.5 * x * (1 + erf(x / Math.SQRT2))
export const softCap = (x: number, cap: number): number => cap * Math.tanh(x / cap)

/** Angles per position: a frequency for each pair. */
export function frequencies(base: number, dimensions: number): Vector {
  return Float64Array.from({ length: dimensions / 2 }, (_, i) => base ** ((-2 * i) / dimensions))
}

/** Turns the first `2 * frequencies.length` numbers of each head, its halves paired; `scale` is YaRN's and LongRoPE's. */
export function rotate(x: Vector, headSize: number, position: number, angles: Vector, scale = 1): Vector {
  const out = x.slice()
  const half = angles.length
  for (let i = 0; i < half; i++) {
    const cos = Math.cos(position * angles[i]!) * scale
    const sin = Math.sin(position * angles[i]!) * scale
    for (let head = 0; head < x.length; head += headSize) {
      const [a, b] = [x[head + i]!, x[head + half + i]!]
      out[head + i] = a * cos - b * sin
      out[head + half + i] = b * cos + a * sin
    }
  }
  return out
}

export interface AttentionForm {
  readonly headSize: number
  readonly keyHeads: number
  readonly scale: number
  /** A key is seen when it lies fewer than so many positions back. */
  readonly window?: number
  readonly cap?: number
  /** Head j sees the keys of head j % keyHeads. */
  readonly tiled?: boolean
  /** Of each head a score more, which takes its share and gives nothing. */
  readonly sinks?: Vector
}

/** What becomes of the numbers of a key or a value that are kept. */
export type Kept = (values: Vector) => Vector

/** The nearest number of f16, of two the even one. The addition leaves what is no multiple of a step. */
export function half(value: number): number {
  const step = 2 ** (Math.max(-14, Math.floor(Math.log2(Math.abs(value)))) - 10)
  const rounding = 1.5 * 2 ** 52 * step
  return value + rounding - rounding
}

/** Each by itself. */
export const inHalves: Kept = (values) => values.map(half)

/** ggml's Q8_0: of each 32 numbers the greatest size / 127 in f16, and how many times that each is, to the nearest. */
export const inQ8_0: Kept = (values) => inBlocks(values, (scales, block) => scales[block]!)

/** ggml's Q4_0: of each 32 numbers the first of the greatest size / -8 in f16, and how many times that each is, at most 7. */
export const inQ4_0: Kept = (values) => inBlocks(values, (scales, block) => scales[block]!, Q4_0)

/** With the scale of the next block, as who counts blocks in a wrong place does. */
export const inQ8_0OfNext: Kept = (values) => inBlocks(values, (scales, block) => scales[(block + 1) % scales.length]!)
export const inQ4_0OfNext: Kept = (values) =>
  inBlocks(values, (scales, block) => scales[(block + 1) % scales.length]!, Q4_0)

/** What the codes of a block are multiples of, and the code of a number of so many steps. */
interface Codes {
  step(block: Vector): number
  code(steps: number): number
}
const Q8_0: Codes = {
  step: (block) => block.reduce((most, value) => Math.max(most, Math.abs(value) / 127), 0),
  code: Math.round,
}
const Q4_0: Codes = {
  step: (block) => block.reduce((most, value) => (Math.abs(value) > Math.abs(most) ? value : most), 0) / -8,
  code: (steps) => Math.min(15, Math.floor(steps + 8.5)) - 8,
}

function inBlocks(values: Vector, scaleOf: (scales: Vector, block: number) => number, codes = Q8_0): Vector {
  const steps = Float64Array.from({ length: values.length / 32 }, (_, block) =>
    codes.step(values.subarray(32 * block, 32 * block + 32)),
  )
  const scales = inHalves(steps)
  return values.map((value, i) => {
    const step = steps[i >> 5]!
    return step === 0 ? 0 : codes.code(value / step) * scaleOf(scales, i >> 5)
  })
}

/** One layer's keys and values, and what a query finds among them. */
export class Attention {
  readonly #keys: Vector[] = []
  readonly #values: Vector[] = []
  readonly #kept: Kept

  /** @param kept by default they are kept as they are */
  constructor(kept: Kept = (values) => values) {
    this.#kept = kept
  }

  look(query: Vector, key: Vector, value: Vector, form: AttentionForm): Vector {
    this.#keys.push(this.#kept(key))
    this.#values.push(this.#kept(value))
    return this.seen(query, form)
  }

  /** Without keys and values of its own. */
  seen(query: Vector, { headSize, keyHeads, scale, window, cap, tiled, sinks }: AttentionForm): Vector {
    const heads = query.length / headSize
    const out = new Float64Array(query.length)
    const last = this.#keys.length - 1
    const first = window === undefined ? 0 : Math.max(0, last - window + 1)
    const [keys, values] = [this.#keys, this.#values]
    /** By position; then the shares that come of them. */
    const scores = new Float64Array(last + 1)
    for (let head = 0; head < heads; head++) {
      const from = head * headSize
      const of = (tiled ? head % keyHeads : Math.floor(head / (heads / keyHeads))) * headSize
      const sink = sinks?.[head] ?? Number.NEGATIVE_INFINITY
      let top = sink
      for (let at = first; at <= last; at++) {
        const score = dotOf(query, from, keys[at]!, of, headSize) * scale
        scores[at] = cap === undefined ? score : softCap(score, cap)
        top = Math.max(top, scores[at]!)
      }
      let sum = Math.exp(sink - top)
      for (let at = first; at <= last; at++) {
        scores[at] = Math.exp(scores[at]! - top)
        sum += scores[at]!
      }
      for (let at = first; at <= last; at++) addTimes(out, from, scores[at]! / sum, values[at]!, of, headSize)
    }
    return out
  }
}

export function softmax(scores: readonly number[]): number[] {
  const top = Math.max(...scores)
  const shares = scores.map((score) => Math.exp(score - top))
  const sum = shares.reduce((a, b) => a + b)
  return shares.map((share) => share / sum)
}

export function logSoftmax(logits: Vector): Vector {
  const top = logits[argmax(logits)]!
  let sum = 0
  for (let i = 0; i < logits.length; i++) sum += Math.exp(logits[i]! - top)
  const out = new Float64Array(logits.length)
  for (let i = 0; i < out.length; i++) out[i] = logits[i]! - top - Math.log(sum)
  return out
}

export function argmax(values: Vector): number {
  let best = 0
  for (let i = 1; i < values.length; i++) if (values[i]! > values[best]!) best = i
  return best
}
