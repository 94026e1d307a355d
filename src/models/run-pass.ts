/**
 * Cuts a step into passes over parts of sequences (no pass has more rows, or samples more of them, than the device was
 * prepared for), and records and submits each.
 */
import { type Sampled, type SampleSettings, type StepInput, UNDRAWN } from '../contract/index.js'
import {
  type Device,
  type KeyValueCache,
  PAGE,
  type Pass,
  type SampleRow,
  type Sampler,
  type Span,
  slotToken,
} from '../device/index.js'
import type { Decoder } from './decoder.js'
import type { SequenceMemory } from './kept.js'
import type { PagesChanged } from './pages.js'
import { sampleRowOf } from './sampling.js'
import type { Changed, PagedSequence } from './sequence.js'

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

interface PassLimits {
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
      // Nothing is left of others.
      const last = batch.map((input, i): StepInput => {
        return { ...input, tokens: bodies.includes(i) ? input.tokens.slice(-1) : [] }
      })
      return [...planPasses(body, { rows, few, samples }), ...planPasses(last, { rows: few })]
    }
  }
  const crowded = drawsIn(batch) > samples
  const kinds = batch.map(({ tokens, drafts, sequence }) => ({
    apart: crowded && drafts !== undefined,
    many: few >= rows || tokens.length > few,
    long: (sequence as PagedSequence).long,
  }))
  const passes: PlannedSpan[][] = []
  for (const apart of [false, true]) {
    for (const many of [false, true]) {
      for (const long of [false, true]) {
        const alike: number[] = []
        for (const [i, kind] of kinds.entries()) {
          if (kind.apart === apart && kind.many === many && kind.long === long) alike.push(i)
        }
        passes.push(...cut(batch, alike, many ? rows : few))
      }
    }
  }
  return passes
}

/** Behind how many tokens something is drawn. */
export function drawsIn(batch: readonly StepInput[]): number {
  let count = draftsIn(batch)
  for (const { sample } of batch) if (sample) count++
  return count
}

/** Behind how many tokens before the last of an input. */
export function draftsIn(batch: readonly StepInput[]): number {
  let count = 0
  for (const { drafts } of batch) for (const draft of drafts ?? []) if (draft) count++
  return count
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

export interface PassParts {
  readonly device: Device
  readonly decoder: Decoder
  readonly sampler: Sampler
  readonly kept: SequenceMemory
}

export interface PassResult {
  readonly input: number
  readonly sampled: Sampled
}

/** What must happen to pages before a pass. */
export class Changes implements Changed {
  readonly full: PagesChanged = { copies: [], cleared: [] }
  readonly windows: PagesChanged = { copies: [], cleared: [] }

  /** Appends tokens to a sequence; gives back what a pass reads of it. */
  append(sequence: PagedSequence, tokens: Int32Array, how?: Parameters<PagedSequence['append']>[2]): Span {
    const position = sequence.length
    const state = sequence.append(tokens.length, this, how)
    const windowPages = sequence.windows?.pages
    return { tokens, position, pages: sequence.pages, windowPages, ...(state && { state }) }
  }

  record(pass: Pass, caches: readonly KeyValueCache[]): void {
    for (const cache of caches) {
      const { copies, cleared } = cache.shape.sliding ? this.windows : this.full
      if (cleared.length > 0) pass.clearPages(cache, cleared)
      if (copies.length > 0) pass.copyPages(cache, copies)
    }
  }
}

/** Nothing is drawn where the head makes rows. */
function rowsOf(values: Float32Array, count: number): Sampled[] {
  const length = values.length / count
  return Array.from({ length: count }, (_, i) => {
    const row = values.slice(i * length, (i + 1) * length)
    return { token: row.every(Number.isFinite) ? 0 : UNDRAWN, row }
  })
}

/** Behind how many of its tokens something is drawn, the last left out. */
const endsOf = (tokens: Int32Array, drafts: NonNullable<PlannedSpan['drafts']>): number[] =>
  drafts.flatMap((draft, i) => (draft ? [tokens.length - drafts.length + i] : []))

/** Appends the tokens to their sequences at once; the promise is of what was sampled. */
export async function submitSpans(
  parts: PassParts,
  planned: readonly PlannedSpan[],
  slots: readonly number[],
  /** For what drafts draw: a slot for each, or for as many as are drawn at once; no later pass begins with any. */
  spare: readonly number[] = [],
): Promise<PassResult[]> {
  const { device, decoder, sampler, kept } = parts
  const draws = decoder.rowLength === undefined
  const spans: Span[] = []
  const changes = new Changes()
  const samples: SampleRow[] = []
  const wanted: number[] = []
  let row = 0
  let drafted = 0
  for (const { sequence, tokens, sample, drafts = [], guessed, logits, input } of planned) {
    const back = guessed && endsOf(tokens, drafts)
    spans.push(changes.append(sequence, tokens, { back, along: decoder.readsAlong }))
    row += tokens.length
    if (logits) wanted.push(row - 1)
    if (!sample) continue
    for (const [i, draft] of drafts.entries()) {
      if (!draft) continue
      wanted.push(row - 1 - drafts.length + i)
      if (draws) samples.push(sampleRowOf(draft, spare[drafted++ % spare.length]!))
    }
    wanted.push(row - 1)
    if (draws) samples.push(sampleRowOf(sample, slots[input]!))
  }
  const pass = device.begin({ spans, sampler })
  changes.record(pass, kept.caches)
  const { long } = planned[0]!.sequence
  const drawing = wanted.length > decoder.wanted ? drawApart : drawWithin
  const rows = await drawing(parts, pass, { spans, wanted, samples, long })
  const results: PassResult[] = []
  let next = 0
  for (const { sequence, input, sample, drafts } of planned) {
    if (!sample) continue
    const before = drafts && rows.slice(next, next + drafts.filter((draft) => draft).length)
    next += before?.length ?? 0
    const last = rows[next++]!
    if (last.token === UNDRAWN || before?.some(({ token }) => token === UNDRAWN)) sequence.spoil()
    results.push({ input, sampled: before ? { ...last, drafts: before } : last })
  }
  return results
}

interface Drawing {
  readonly spans: readonly Span[]
  /** Rows of which logits are made. */
  readonly wanted: readonly number[]
  readonly samples: readonly SampleRow[]
  readonly long: boolean
}

async function drawWithin(
  { decoder, sampler }: PassParts,
  pass: Pass,
  { spans, wanted, samples, long }: Drawing,
): Promise<readonly Sampled[]> {
  decoder.forward(pass, spans, new Int32Array(wanted), long)
  decoder.sample(pass, sampler, samples)
  const made = decoder.read(pass, wanted.length)
  const drawn = await pass.submit()
  return made ? rowsOf(await made, wanted.length) : drawn
}

/** There is no room for the logits of all rows at once: they are made after the pass, a few at a time. */
async function drawApart(
  { device, decoder, sampler }: PassParts,
  pass: Pass,
  { spans, wanted, samples, long }: Drawing,
): Promise<readonly Sampled[]> {
  decoder.body(pass, spans, long)
  const submitted: Promise<readonly Sampled[]>[] = [pass.submit()]
  for (let from = 0; from < wanted.length; from += decoder.wanted) {
    const rows = Int32Array.from(wanted.slice(from, from + decoder.wanted))
    const head = device.begin({ spans: headSpans(spans, rows), sampler })
    decoder.logitsOf(head, rows)
    decoder.sample(head, sampler, samples.slice(from, from + rows.length))
    submitted.push(head.submit())
  }
  return (await Promise.all(submitted)).flat()
}

/** Appends tokens to a sequence and reads the logits behind each, which are made as many at a time as there is room for. */
export async function* logitsBehind(
  { device, decoder, sampler, kept }: PassParts,
  sequence: PagedSequence,
  tokens: Int32Array,
): AsyncGenerator<Float32Array> {
  const changes = new Changes()
  const spans = [changes.append(sequence, tokens, { along: decoder.readsAlong })]
  const pass = device.begin({ spans, sampler })
  changes.record(pass, kept.caches)
  decoder.body(pass, spans, sequence.long)
  await pass.submit()
  for (let from = 0; from < tokens.length; from += decoder.wanted) {
    const rows = Int32Array.from({ length: Math.min(decoder.wanted, tokens.length - from) }, (_, i) => from + i)
    const head = device.begin({ spans: headSpans(spans, rows), sampler })
    const read = head.read(decoder.logitsOf(head, rows), rows.length)
    await head.submit()
    const logits = await read
    const length = logits.length / rows.length
    for (const row of rows.keys()) yield logits.subarray(row * length, (row + 1) * length)
  }
}

/** No row reads its token, nor what lies on a page. */
const headSpans = ([first]: readonly Span[], rows: Int32Array): Span[] =>
  Array.from(rows, () => ({ tokens: Int32Array.of(0), position: 0, pages: first!.pages }))

/** Draws from the logits of the pass before, of each of these sequences one row, in their order. */
export async function submitDraws(
  { device, decoder, sampler }: PassParts,
  sequences: readonly PagedSequence[],
  settings: readonly SampleSettings[],
  slots: readonly number[],
): Promise<readonly Sampled[]> {
  const spans = sequences.map(({ length, pages }, i) => {
    return { tokens: Int32Array.of(slotToken(slots[i]!)), position: length - 1, pages }
  })
  const pass = device.begin({ spans, sampler })
  decoder.sample(
    pass,
    sampler,
    settings.map((each, i) => sampleRowOf(each, slots[i]!)),
  )
  const drawn = await pass.submit()
  for (const [i, { token }] of drawn.entries()) if (token === UNDRAWN) sequences[i]!.spoil()
  return drawn
}
