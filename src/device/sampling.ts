/**
 * The definition of sampling, which both devices follow. The CPU device runs it; the GPU kernels repeat it, and the
 * tests compare the two.
 *
 * With l' = logit, made less likely where it repeats, + adjustment, for the tokens that the mask allows: temperature 0
 * takes the greatest l'. Otherwise only those stay that are of the topK greatest; of the softmax of their l', those whose
 * surprise is nearest to its entropy, until they hold more than typicalP of the mass (Meister and others 2022, as llama.cpp
 * has it: before the temperature); and that lie no further below the greatest left than minP lets them. With a chance of
 * xtcProbability, which hangs on seed and index alone, of those whose share of the softmax of what is left, before the
 * temperature, is at least xtcThreshold, all but the least are left out (XTC, as llama.cpp has it).
 * p = softmax(l' / temperature) of these; the nucleus is the smallest set of most likely tokens that holds at least topP of
 * the mass, tokens as likely as the last of them included, as they are above; and the token is the argmax of l' / temperature + g(token) over
 * the nucleus, with g Gumbel-distributed, which draws a token with its probability. g depends on seed, index and token
 * alone: not on the order of a sum, the batch or the device. Ties go to the lowest id. Where some logit is infinite or
 * not a number nothing is drawn: `UNDRAWN`.
 */
import { UNDRAWN } from '../contract/index.js'
import { exp, log } from '../platform/index.js'
import { MAX_TOP, type SampledRow, type SampleRow } from './contract.js'

/** One 32-bit word of chance from (seed, index): the start of every token's own word. */
export function drawKey(seed: number, index: number): number {
  const high = Math.floor(seed / 4294967296)
  return mix(mix(mix(seed >>> 0) ^ (high >>> 0)) ^ Math.imul(index >>> 0, 0x9e3779b9))
}

/** lowbias32: every bit of the input changes every bit of the output with a probability near one half. */
export function mix(x: number): number {
  x ^= x >>> 16
  x = Math.imul(x, 0x21f0aaad)
  x ^= x >>> 15
  x = Math.imul(x, 0x735a2d97)
  return (x ^ (x >>> 15)) >>> 0
}

/** g(token). Odd 24-bit fractions: never 0, never 1, exact in f32. */
export function gumbel(key: number, token: number): number {
  const word = mix(key ^ Math.imul(token + 1, 0x85ebca6b)) >>> 9
  return -log(-log((word * 2 + 1) / 16777216))
}

/** No g is greater: that of the greatest fraction. */
export const GUMBEL_MAX = -log(-log(1 - 1 / 16777216))

/** The numbers of a draw as devices are told them, in f32; -1 is no reach. */
export function drawNumbers(row: SampleRow) {
  const { temperature, topP, topK = 0, typicalP = 1 } = row
  const reach = reachOf(row)
  const settings = { temperature, topP, typicalP, topK: Math.min(topK, 2 ** 24), excluding: exclusionOf(row) }
  return { ...settings, reach: Number.isFinite(reach) ? reach : -1 }
}

/** How far below the greatest l' minP lets a token lie. In f32, as both devices subtract it. */
function reachOf({ temperature, minP = 0 }: SampleRow): number {
  return minP > 0 ? Math.fround(-temperature * log(minP)) : Number.POSITIVE_INFINITY
}

/** What is left out this time for being likely: what has so much of the mass, but for the least such; 1: nothing. */
function exclusionOf({ seed, index, xtcProbability = 0, xtcThreshold = 0.1 }: SampleRow): number {
  // A token's own word is made of the key and one more than its number.
  return mix(drawKey(seed, index)) < xtcProbability * 2 ** 32 ? xtcThreshold : 1
}

/** The same draw from all tokens that the mask allows; the row itself where nothing else is kept from it. */
export function uncut(row: SampleRow): SampleRow {
  const { topK, minP, typicalP, ...open } = row
  return topK === undefined && minP === undefined && typicalP === undefined && row.topP >= 1
    ? row
    : { ...open, topP: 1 }
}

/** What logits of repeated tokens are multiplied by, above 0 and not: a product is the same in f32 everywhere. */
export function repeatFactors(by: number): readonly [above: number, below: number] {
  return [Math.fround(1 / by), Math.fround(by)]
}

/** Samples a row of logits. `tokens` of them are real; `scratch` holds at least as many values and is overwritten. */
export function sampleRow(logits: Float32Array, tokens: number, row: SampleRow, scratch: Float32Array): SampledRow {
  for (let t = 0; t < tokens; t++) if (!Number.isFinite(logits[t]!)) return { token: UNDRAWN }
  const greatest = adjusted(logits, tokens, row, scratch)
  const token = row.temperature > 0 ? draw(scratch, tokens, row, greatest) : scratch.indexOf(greatest)
  if (!needsDetails(row)) return { token }
  const total = logSumExp(logits, tokens)
  const beside = {
    ...(row.among && { among: row.among.map((id) => logits[id]! - total) }),
    ...(row.admitted && { admitted: logSumExp(logits, tokens, row.mask) - total }),
  }
  if (row.topLogprobs === undefined) return { token, ...beside }
  const top = greatestOf(logits, tokens, Math.min(row.topLogprobs, MAX_TOP, tokens))
  return {
    token,
    logprob: logits[token]! - total,
    top: top.map((id) => ({ token: id, logprob: logits[id]! - total })),
    ...beside,
  }
}

/** Whether anything is to be returned beside the token. */
export const needsDetails = ({ topLogprobs, among, admitted }: SampleRow): boolean =>
  topLogprobs !== undefined || among !== undefined || admitted === true

/** Whether the draw cannot be told from the greatest logits alone. */
export const needsAll = (row: SampleRow): boolean =>
  needsDetails(row) || row.typicalP !== undefined || exclusionOf(row) < 1

/** l' into `out`, -Infinity where the mask forbids; returns the greatest. */
function adjusted(logits: Float32Array, tokens: number, row: SampleRow, out: Float32Array): number {
  out.set(logits.length === tokens ? logits : logits.subarray(0, tokens))
  out.fill(Number.NEGATIVE_INFINITY, tokens)
  if (row.repeats) penaliseRepeats(out, 0, tokens, row.repeats)
  const adjust = row.adjust
  if (adjust) {
    for (let i = 0; i < adjust.tokens.length; i++) {
      const token = adjust.tokens[i]!
      if (token < tokens) out[token]! += adjust.deltas[i]!
    }
  }
  const mask = row.mask
  let greatest = Number.NEGATIVE_INFINITY
  for (let t = 0; t < tokens; t++) {
    if (!allows(mask, t)) out[t] = Number.NEGATIVE_INFINITY
    else if (out[t]! > greatest) greatest = out[t]!
  }
  return greatest
}

/** Makes the tokens that `repeats` names less likely, in the row that begins at `base`. */
export function penaliseRepeats(
  values: Float32Array,
  base: number,
  count: number,
  repeats: NonNullable<SampleRow['repeats']>,
): void {
  const [above, below] = repeatFactors(repeats.by)
  const { tokens } = repeats
  for (let word = 0; word < tokens.length; word++) {
    for (let bits = tokens[word]!; bits !== 0; bits &= bits - 1) {
      const token = word * 32 + 31 - Math.clz32(bits & -bits)
      if (token >= count) return
      values[base + token]! *= values[base + token]! > 0 ? above : below
    }
  }
}

/** Those of the values that are not below `least`, in a copy. */
export type From = (least: number) => Float32Array

/** Between which values those lie of which one is drawn; -Infinity: from the least. */
export function rangeOf(row: SampleRow, greatest: number, from: From): readonly [least: number, most: number] {
  const floor = row.topK === undefined ? Number.NEGATIVE_INFINITY : kthGreatest(row.topK, greatest, from)
  const [least, most] = row.typicalP === undefined ? [floor, greatest] : typical(row.typicalP, greatest, floor, from)
  const lowest = Math.max(least, Math.fround(most - reachOf(row)))
  return [lowest, excluding(exclusionOf(row), lowest, most, from)]
}

/** The least of the values that each hold `share` of the mass of all; the greatest where none does. */
function excluding(share: number, floor: number, greatest: number, from: From): number {
  if (share >= 1) return greatest
  const values = from(Math.max(floor, LEAST)).filter((value) => value <= greatest)
  const total = values.reduce((sum, value) => sum + exp(value - greatest), 0)
  return values.filter((value) => exp(value - greatest) >= share * total).reduce((a, b) => Math.min(a, b), greatest)
}

/**
 * How far a token's surprise -log p lies from the entropy is how far its value lies from the mean of all, each with its p:
 * log p is the value less the log of the sum, and so is what is to be expected of it.
 */
function typical(share: number, greatest: number, floor: number, from: From): readonly [least: number, most: number] {
  const values = from(Math.max(floor, LEAST))
  const weight = (value: number) => exp(value - greatest)
  let [total, sum] = [0, 0]
  for (const value of values) {
    total += weight(value)
    sum += weight(value) * (value - greatest)
  }
  const mean = greatest + sum / total
  for (let reach = 2; values.length > 0; reach *= 2) {
    const near = values.filter((value) => Math.abs(value - mean) <= reach).sort()
    let above = near.findIndex((value) => value > mean)
    if (above < 0) above = near.length
    let below = above - 1
    for (let mass = 0; mass <= share * total; ) {
      const down = below < 0 ? Number.POSITIVE_INFINITY : mean - near[below]!
      const up = above === near.length ? Number.POSITIVE_INFINITY : near[above]! - mean
      if (down === up && down === Number.POSITIVE_INFINITY) break
      const next = Math.min(down, up)
      while (below >= 0 && mean - near[below]! <= next) mass += weight(near[below--]!)
      while (above < near.length && near[above]! - mean <= next) mass += weight(near[above++]!)
      if (mass > share * total) return [near[below + 1]!, near[above - 1]!]
    }
    if (near.length === values.length) break
  }
  return [floor, greatest]
}

/** The least number that f32 has. */
const LEAST = -3.4028234663852886e38

/** -Infinity where there are not so many. Values far below the greatest seldom have to be sorted. */
function kthGreatest(k: number, greatest: number, from: From): number {
  for (let reach = 4; ; reach *= 4) {
    const all = reach > 1e6
    const near = from(all ? LEAST : greatest - reach)
    if (near.length >= k) return near.sort()[near.length - k]!
    if (all) return Number.NEGATIVE_INFINITY
  }
}

function draw(values: Float32Array, tokens: number, row: SampleRow, all: number): number {
  const from: From = (least) => values.subarray(0, tokens).filter((value) => value >= least)
  const [floor, greatest] = rangeOf(row, all, from)
  if (floor > Number.NEGATIVE_INFINITY || greatest < all) {
    for (let t = 0; t < tokens; t++) {
      if (values[t]! < floor || values[t]! > greatest) values[t] = Number.NEGATIVE_INFINITY
    }
  }
  const inverse = 1 / row.temperature
  const least = row.topP < 1 ? nucleus(values, tokens, row, greatest) : Number.NEGATIVE_INFINITY
  const key = drawKey(row.seed, row.index)
  let best = Number.NEGATIVE_INFINITY
  let chosen = values.indexOf(greatest)
  for (let t = 0; t < tokens; t++) {
    const value = values[t]!
    if (value < least) continue
    const x = (value - greatest) * inverse
    // The draw cannot win: spares the logarithms for nearly all tokens.
    if (!(x + GUMBEL_MAX > best)) continue
    const sum = x + gumbel(key, t)
    if (sum > best) {
      best = sum
      chosen = t
    }
  }
  return chosen
}

/** The least value of the nucleus. Values far below the greatest are counted, but seldom have to be sorted. */
function nucleus(values: Float32Array, tokens: number, row: SampleRow, greatest: number): number {
  const inverse = 1 / row.temperature
  let total = 0
  for (let t = 0; t < tokens; t++) {
    if (values[t]! > Number.NEGATIVE_INFINITY) total += exp((values[t]! - greatest) * inverse)
  }
  const wanted = row.topP * total
  for (let reach = 4; ; reach *= 2) {
    const floor = greatest - reach * row.temperature
    const all = reach > 1000
    const candidates = values.subarray(0, tokens).filter((value) => (all || value >= floor) && value > -Infinity)
    candidates.sort()
    let mass = 0
    for (let i = candidates.length - 1; i >= 0; i--) {
      mass += exp((candidates[i]! - greatest) * inverse)
      if (mass >= wanted) return candidates[i]!
    }
    if (all) return candidates[0] ?? Number.NEGATIVE_INFINITY
  }
}

/** Of all tokens, or of those that a mask allows. */
export function logSumExp(logits: Float32Array, tokens: number, mask?: Uint32Array): number {
  let most = Number.NEGATIVE_INFINITY
  for (let t = 0; t < tokens; t++) if (logits[t]! > most && allows(mask, t)) most = logits[t]!
  if (most === Number.NEGATIVE_INFINITY) return most
  let sum = 0
  for (let t = 0; t < tokens; t++) if (allows(mask, t)) sum += exp(logits[t]! - most)
  return most + log(sum)
}

const allows = (mask: Uint32Array | undefined, token: number): boolean =>
  mask === undefined || (((mask[token >>> 5] ?? 0) >>> (token & 31)) & 1) === 1

/** Ids of the `count` greatest, greatest first, the lowest id first among equals. */
function greatestOf(logits: Float32Array, tokens: number, count: number): number[] {
  const ids: number[] = []
  if (count === 0) return ids
  for (let t = 0; t < tokens; t++) {
    const value = logits[t]!
    if (ids.length === count && !(value > logits[ids[count - 1]!]!)) continue
    let at = Math.min(ids.length, count - 1)
    while (at > 0 && value > logits[ids[at - 1]!]!) {
      ids[at] = ids[at - 1]!
      at--
    }
    ids[at] = t
  }
  return ids
}
