/** What is to be sampled, as words of one buffer, and how the answer is read. */
import { MOST_AMONG, UNDRAWN } from '../../../../decode/token-model.js'
import { MAX_TOP, type SampledRow, type SampleRow, type SamplerShape } from '../../contract.js'
import { drawKey, reachOf, repeatFactors, tells } from '../../sampling.js'

/** Words per row, from word 0: see `JOB`. */
const ROW_WORDS = 19
/** Words of an answer: token, log probability, alternatives in pairs, then what is allowed altogether. */
export const ADMITTED_WORD = 2 + 2 * MAX_TOP
export const RESULT_WORDS = ADMITTED_WORD + 1
/** Behind all answers, for each row: what was asked of tokens by name. Few passes ask, and only theirs read it back. */
export const amongAt = (rows: number): number => rows * RESULT_WORDS
export const AMONG_WORDS = MOST_AMONG
/** What has to be read back. */
export const resultWords = (rows: number, among: boolean): number => amongAt(rows) + (among ? rows * AMONG_WORDS : 0)

/** In place of a token: see `UNDRAWN`. */
export const UNDRAWN_WORD = 0xffffffff

export const JOB = /* wgsl */ `
struct Job {
  temperature: f32, topP: f32, key: u32, slot: u32,
  mask: u32, maskWords: u32, adjust: u32, adjustCount: u32, wanted: u32, top: u32,
  topK: u32, reach: f32, repeats: u32, repeatWords: u32, above: f32, below: f32,
  among: u32, amongCount: u32, admitted: u32,
}
fn jobOf(row: u32) -> Job {
  let at = row * ${ROW_WORDS}u;
  return Job(bitcast<f32>(job[at]), bitcast<f32>(job[at + 1u]), job[at + 2u], job[at + 3u], job[at + 4u], job[at + 5u],
    job[at + 6u], job[at + 7u], job[at + 8u], job[at + 9u], job[at + 10u], bitcast<f32>(job[at + 11u]), job[at + 12u],
    job[at + 13u], bitcast<f32>(job[at + 14u]), bitcast<f32>(job[at + 15u]), job[at + 16u],
    job[at + 17u], job[at + 18u]);
}
`

export function encodeJob(rows: readonly SampleRow[]): Uint32Array<ArrayBuffer> {
  let length = rows.length * ROW_WORDS
  for (const { mask, adjust, repeats, among } of rows) {
    length +=
      (mask?.length ?? 0) + 2 * (adjust?.tokens.length ?? 0) + (repeats?.tokens.length ?? 0) + (among?.length ?? 0)
  }
  const words = new Uint32Array(length)
  const floats = new Float32Array(words.buffer)
  let end = rows.length * ROW_WORDS
  rows.forEach((row, i) => {
    const at = i * ROW_WORDS
    floats[at] = row.temperature
    floats[at + 1] = row.topP
    words[at + 2] = drawKey(row.seed, row.index)
    words[at + 3] = row.slot
    if (row.mask) {
      words.set(row.mask, end)
      words.set([end, row.mask.length], at + 4)
      end += row.mask.length
    }
    if (row.adjust) {
      const { tokens, deltas } = row.adjust
      words.set([end, tokens.length], at + 6)
      tokens.forEach((token, k) => {
        words[end + 2 * k] = token
        floats[end + 2 * k + 1] = deltas[k]!
      })
      end += 2 * tokens.length
    }
    if (row.repeats) {
      const { tokens, by } = row.repeats
      words.set(tokens, end)
      words.set([end, tokens.length], at + 12)
      floats.set(repeatFactors(by), at + 14)
      end += tokens.length
    }
    if (row.among) {
      words.set(row.among, end)
      words.set([end, row.among.length], at + 16)
      end += row.among.length
    }
    words[at + 10] = row.topK ?? 0
    const reach = reachOf(row)
    floats[at + 11] = Number.isFinite(reach) ? reach : -1
    words[at + 8] = tells(row) ? 1 : 0
    words[at + 18] = row.admitted ? 1 : 0
    words[at + 9] = Math.min(row.topLogprobs ?? 0, MAX_TOP)
  })
  return words
}

export function decodeResults(
  buffer: ArrayBuffer,
  rows: readonly SampleRow[],
  { rows: most, tokens }: SamplerShape,
): SampledRow[] {
  const words = new Uint32Array(buffer)
  const floats = new Float32Array(buffer)
  return rows.map((row, i) => {
    const at = i * RESULT_WORDS
    const token = words[at]!
    if (token === UNDRAWN_WORD) return { token: UNDRAWN }
    const beside = {
      ...(row.among && { among: row.among.map((_, k) => floats[amongAt(most) + i * AMONG_WORDS + k]!) }),
      ...(row.admitted && { admitted: floats[at + ADMITTED_WORD]! }),
    }
    if (row.topLogprobs === undefined) return { token, ...beside }
    const count = Math.min(row.topLogprobs, MAX_TOP, tokens)
    const top = Array.from({ length: count }, (_, k) => ({
      token: words[at + 2 + 2 * k]!,
      logprob: floats[at + 3 + 2 * k]!,
    }))
    return { token, logprob: floats[at + 1]!, top, ...beside }
  })
}
