/** Cuts a step into passes: no pass has more rows, or samples more of them, than the device was prepared for. */
import type { SampleSettings, StepInput } from '../contract/index.js'
import { PAGE } from '../device/index.js'
import type { PagedSequence } from './sequence.js'

export interface PlannedSpan {
  readonly sequence: PagedSequence
  readonly tokens: Int32Array
  /** Of the input whose last tokens these are. */
  readonly sample?: SampleSettings | undefined
  /** Of the tokens before the last. */
  readonly drafts?: readonly (SampleSettings | undefined)[] | undefined
  /** What follows these may be wrong. */
  readonly guessed?: true | undefined
  /** Logits are made of its last token, from which a later pass draws. */
  readonly logits?: true
  /** Place of the input in the step. */
  readonly input: number
}

export interface PassLimits {
  /** The most of a pass. */
  readonly rows: number
  /** See `DeviceLimits.fewRows`. */
  readonly few?: number | undefined
  /**
   * A pass ends before the last token of a prompt: because a sequence can be cut only to where one ended, or because rows
   * of which no logits are made are less work.
   */
  readonly marks?: boolean
  /** The most that a pass samples; those who ask for more beyond others are put beside none of these. @default any number */
  readonly samples?: number
}

/**
 * A prompt's end: more answers to it, and others to its like, begin where all of it but the last token has been fed. What
 * is asked about more of its tokens is no such end.
 */
const isMarked = ({ tokens, sample, drafts }: StepInput) => sample !== undefined && !drafts && tokens.length > PAGE

/**
 * A sequence that appends few tokens is never put beside
 * one that appends many, so that its answer does not depend on its company; nor one of a long text beside one of a short
 * text, where these are turned by other angles.
 */
export function planPasses(
  batch: readonly StepInput[],
  { rows, few = rows, marks = false, samples = Number.POSITIVE_INFINITY }: PassLimits,
): PlannedSpan[][] {
  if (marks) {
    const bodies = batch.flatMap((input, index) => (isMarked(input) ? [index] : []))
    if (bodies.length > 0) {
      const body = batch.map((input, i): StepInput => {
        return bodies.includes(i) ? { sequence: input.sequence, tokens: input.tokens.slice(0, -1) } : input
      })
      const last = batch.map((input, i): StepInput => {
        return bodies.includes(i) ? { ...input, tokens: input.tokens.slice(-1) } : input
      })
      return [...planPasses(body, { rows, few, samples }), ...cutApart(last, bodies, few)]
    }
  }
  const all = [...batch.keys()]
  const crowded = batch.reduce((sum, input) => sum + samplesOf(input), 0) > samples
  const scored = (input: number) => crowded && batch[input]!.drafts !== undefined
  const isShort = (input: number) => few < rows && batch[input]!.tokens.length <= few
  return [false, true].flatMap((apart) => {
    const these = all.filter((input) => scored(input) === apart)
    const [short, long] = [these.filter(isShort), these.filter((input) => !isShort(input))]
    return [...cutApart(batch, short, few), ...cutApart(batch, long, rows)]
  })
}

const samplesOf = ({ sample, drafts = [] }: StepInput): number =>
  (sample ? 1 : 0) + drafts.filter((draft) => draft !== undefined).length

function cutApart(batch: readonly StepInput[], inputs: readonly number[], rows: number): PlannedSpan[][] {
  const isLong = (input: number) => (batch[input]!.sequence as PagedSequence).long
  const near = inputs.filter((input) => !isLong(input))
  return [...cut(batch, near, rows), ...cut(batch, inputs.filter(isLong), rows)]
}

/** A sequence's tokens are only cut where no pass could hold them, and then at the same places whatever lies beside. */
function cut(batch: readonly StepInput[], inputs: readonly number[], rows: number): PlannedSpan[][] {
  const passes: PlannedSpan[][] = []
  let left = 0
  for (const input of inputs) {
    const { sequence, tokens, sample, drafts, guessed } = batch[input]!
    for (let from = 0; from < tokens.length; from += rows) {
      const to = Math.min(from + rows, tokens.length)
      if (to - from > left) {
        passes.push([])
        left = rows
      }
      const last = to === tokens.length
      passes.at(-1)!.push({
        sequence: sequence as PagedSequence,
        tokens: new Int32Array(tokens.slice(from, to)),
        input,
        sample: last ? sample : undefined,
        ...(last && sample && { drafts, guessed }),
      })
      left -= to - from
    }
  }
  return passes
}
