/** What is to be sampled, as words of one buffer, and how the answer is read. */
import { MOST_AMONG, UNDRAWN } from '../../../contract/index.js'
import { MAX_TOP, type SampledRow, type SampleRow, type SamplerShape } from '../../contract.js'
import { drawKey, drawNumbers, needsDetails, repeatFactors } from '../../sampling.js'

/** What a row is told by, a word each: the numbers of its draw, then counts and places of lists in the same buffer. */
const FLOATS = [...Object.keys(drawNumbers({ slot: 0, temperature: 0, topP: 1, seed: 0, index: 0 })), 'above', 'below']
const COUNTS = [
  ...['key', 'slot', 'mask', 'maskWords', 'adjust', 'adjustCount', 'wanted', 'top', 'repeats', 'repeatWords'],
  ...['among', 'amongCount', 'admitted'],
] as const
const ROW_WORDS = FLOATS.length + COUNTS.length
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

const word = (i: number) => `job[at + ${i}u]`

export const JOB = /* wgsl */ `
struct Job { ${FLOATS.map((name) => `${name}: f32`).join(', ')}, ${COUNTS.map((name) => `${name}: u32`).join(', ')} }
fn jobOf(row: u32) -> Job {
  let at = row * ${ROW_WORDS}u;
  return Job(${[...FLOATS.map((_, i) => `bitcast<f32>(${word(i)})`), ...COUNTS.map((_, i) => word(FLOATS.length + i))].join(', ')});
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
  const list = (values: ArrayLike<number> | undefined) => {
    if (!values) return [0, 0] as const
    words.set(values, end)
    end += values.length
    return [end - values.length, values.length] as const
  }
  rows.forEach((row, i) => {
    const [mask, maskWords] = list(row.mask)
    const { tokens, deltas } = row.adjust ?? { tokens: [], deltas: [] }
    const adjust = end
    tokens.forEach((token, k) => {
      words[end + 2 * k] = token
      floats[end + 2 * k + 1] = deltas[k]!
    })
    end += 2 * tokens.length
    const [repeats, repeatWords] = list(row.repeats?.tokens)
    const [among, amongCount] = list(row.among)
    const counts: Record<(typeof COUNTS)[number], number> = {
      ...{ key: drawKey(row.seed, row.index), slot: row.slot, mask, maskWords, adjust, adjustCount: tokens.length },
      ...{ repeats, repeatWords, among, amongCount, admitted: row.admitted ? 1 : 0 },
      ...{ wanted: needsDetails(row) ? 1 : 0, top: Math.min(row.topLogprobs ?? 0, MAX_TOP) },
    }
    floats.set([...Object.values(drawNumbers(row)), ...repeatFactors(row.repeats?.by ?? 1)], i * ROW_WORDS)
    words.set(
      COUNTS.map((name) => counts[name]),
      i * ROW_WORDS + FLOATS.length,
    )
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
