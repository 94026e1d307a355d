import type { SampleSettings, StepInput, TokenModel } from '../../contract/index.js'
import { during } from '../../platform/index.js'
import type { Drafted } from '../drafts/path.js'
import { pending, promptIsIn, type Slot } from './slot.js'

/** What one slot gets in a step. */
export interface Row {
  readonly slot: Slot
  /** How many of its pending tokens are fed. */
  readonly count: number
  /** Somebody waits for it who has nothing else: no guesses lengthen it. */
  readonly brief?: true
}

/** The share of a full chunk that a new prompt gets in a step while others are writing. */
const PREFILL_SHARE = 4

const chunkBesideOthers = (maxChunk: number) => Math.ceil(maxChunk / PREFILL_SHARE)

/**
 * The share of a full chunk that all prompts of a crowd get in a step beside somebody who has one answer alone; where each
 * row takes time of its own, all its rows.
 */
const CROWD_SHARE = 16

/** Steps that a prompt takes while others are writing. */
export function stepsToRead(tokens: number, { maxChunk }: TokenModel): number {
  return Math.ceil(tokens / chunkBesideOthers(maxChunk))
}

/**
 * The share of what a step reads that is the oldest prompt's, whatever shorter ones there are, so that it comes to its end.
 */
const OLDEST_SHARE = 4

/**
 * Those that write get their tokens; what is left of the step goes to prompts, shortest first. Where a caller has several
 * answers under way and another has one alone, a crowd and a guest, the crowd's prompts get little of the steps that the
 * guest waits for, and the guest's own is read as fast as if nobody wrote.
 */
export function compose(running: readonly Slot[], model: TokenModel): Row[] {
  const { maxBatch, maxChunk, maxSamples = 0, maxScored = maxSamples, fewTokens } = model
  const all = shared(
    running.filter((slot) => !slot.lane.paused),
    maxBatch,
  )
  const isGuest = guestsAmong(all)
  const guests = all.filter(isGuest).length
  // Among guests alone, as in a crowd alone, nobody waits for a turn.
  const turns = guests > 0 && guests < all.length ? turnsOf(all, isGuest, model) : undefined
  const ready = turns ? all.filter((slot) => isGuest(slot) || turns.taking.has(slot)) : all
  const isBrief = (slot: Slot) => model.rowPositions !== undefined && turns !== undefined && !isGuest(slot)
  const [writing, reading]: [Slot[], Slot[]] = [[], []]
  for (const slot of ready) (promptIsIn(slot) ? writing : reading).push(slot)
  const rows: Row[] = []
  for (const slot of writing) {
    const brief = isBrief(slot)
    const count = Math.min(pending(slot), brief ? 1 : maxChunk)
    if (count > 0) rows.push({ slot, count, ...(brief && { brief }) })
  }
  // Each has one position to itself, whatever others do.
  let spare = Math.max(0, maxScored - ready.length)
  // Others share a pass with whoever draws, and what is read in no pieces is always read in the same way.
  const fewSpare = () => Math.max(0, spare - (maxScored - maxSamples))
  const [oldest, ...younger] = reading
  if (oldest === undefined) return rows
  const hurries = reading.some(isGuest) && !writing.some(isGuest)
  let left = writing.length === 0 || hurries ? maxChunk : chunkBesideOthers(maxChunk)
  const price = (slot: Slot) => priceOf(slot, model)
  let crowdsLeft = turns ? Math.max(turns.left, leastOf(oldest) * price(oldest)) : left
  const roomFor = (slot: Slot) =>
    !turns || isGuest(slot) ? left : Math.min(left, Math.floor(crowdsLeft / price(slot)))
  const room = roomFor(oldest)
  const its = Math.min(pending(oldest), room, Math.max(Math.ceil(room / OLDEST_SHARE), leastOf(oldest)))
  // It may have what others leave, too.
  for (const slot of [...younger.sort((a, b) => pending(a) - pending(b)), oldest]) {
    const most = roomFor(slot) - (slot === oldest ? 0 : its)
    const { scores, pieces } = slot.lane
    const open = scores?.many && (pieces || fewTokens === undefined) ? spare : fewSpare()
    const count = inPieces(slot, Math.min(scoredNext(slot, 1 + open) ?? pending(slot), most))
    if (count <= 0) continue
    rows.push({ slot, count, ...(isBrief(slot) && { brief: true }) })
    left -= count
    // Whose prompt comes to its end begins to write with this step, and waits for whatever else is read; who decides draws
    // once, and writes nothing.
    const writes = slot.lane.remaining !== 1
    if (model.rowPositions !== undefined && writes) left = Math.min(left, Math.max(its, chunkBesideOthers(maxChunk)))
    if (turns && !isGuest(slot)) crowdsLeft -= count * price(slot)
    if (isScored({ slot, count })) spare -= count - 1
  }
  return rows
}

/** Which of them is its caller's only one: where none has more all are, and nobody keeps another waiting. */
function guestsAmong(ready: readonly Slot[]): (slot: Slot) => boolean {
  const counts = new Map<unknown, number>()
  for (const { owner } of ready) counts.set(owner, (counts.get(owner) ?? 0) + 1)
  return ({ owner }) => counts.get(owner) === 1
}

/** What a token of it costs beside one that attends to nothing; what is drawn beside others costs nothing on a GPU. */
function priceOf(slot: Slot, { rowPositions }: TokenModel): number {
  if (rowPositions === undefined) return promptIsIn(slot) ? 0 : 1
  return 1 + held(slot) / rowPositions
}

/**
 * Which of a crowd take part in a step that a guest waits for, those first that waited longest, and what they leave of
 * their share to those that are read.
 */
function turnsOf(ready: readonly Slot[], isGuest: (slot: Slot) => boolean, model: TokenModel) {
  const crowd = ready.filter((slot) => !isGuest(slot) && pending(slot) > 0).sort((a, b) => a.stepped - b.stepped)
  const price = (slot: Slot) => priceOf(slot, model)
  const taking = new Set<Slot>()
  // Somebody always goes on.
  let left = Math.max(Math.ceil(model.maxChunk / CROWD_SHARE), ...crowd.slice(0, 1).map(price))
  let open = left
  for (const slot of crowd) {
    open -= price(slot)
    if (open < 0) break
    taking.add(slot)
    if (promptIsIn(slot)) left -= price(slot)
  }
  return { taking, left }
}

/** Tokens in the cache: whoever runs has a sequence. */
const held = ({ sequence }: Slot): number => sequence!.length

const leastOf = (slot: Slot): number => slot.lane.pieces?.least(held(slot)) ?? 0

/** Of tokens for which there is room, those that a step reads. */
function inPieces(slot: Slot, most: number): number {
  const { pieces } = slot.lane
  return pieces && most > 0 ? pieces.next(held(slot), most) : most
}

/**
 * Tokens that a slot is fed where its prompt is scored: no more than there are positions for it in the step, and before
 * that those whose scores are known. Undefined where nothing is to be scored.
 */
function scoredNext(slot: Slot, positions: number): number | undefined {
  const { scores } = slot.lane
  if (!scores?.open) return undefined
  const again = scores.scored - held(slot)
  return again > 0 ? again : Math.min(scores.open, positions)
}

/** Whether each of a row's tokens is followed by one that is scored. */
function isScored({ slot }: Row): boolean {
  const { scores } = slot.lane
  return !!scores?.open && held(slot) === scores.scored
}

/**
 * Those who take part where not all can: one of each caller, then a second of each, and so on; of a caller's the first of
 * each call, then the second of each. Where there are more callers than may take part, it is those who waited longest.
 */
function shared(ready: readonly Slot[], maxBatch: number): readonly Slot[] {
  if (ready.length <= maxBatch) return ready
  const inCalls = ranked(ready, ({ call }) => call).sort((a, b) => a.rank - b.rank)
  const all = ranked(
    inCalls.map(({ slot }) => slot),
    ({ owner }) => owner,
  )
  return all
    .sort((a, b) => a.rank - b.rank || (a.rank === 0 ? a.slot.stepped - b.slot.stepped : 0))
    .slice(0, maxBatch)
    .map(({ slot }) => slot)
}

/** Each with how many of its own kind stand before it. */
function ranked(slots: readonly Slot[], kindOf: (slot: Slot) => unknown): { slot: Slot; rank: number }[] {
  const seen = new Map<unknown, number>()
  return slots.map((slot) => {
    const kind = kindOf(slot)
    const rank = seen.get(kind) ?? 0
    seen.set(kind, rank + 1)
    return { slot, rank }
  })
}

/** Tokens that a slot may still come to have without outgrowing its sequence, and one at least. */
export const roomLeft = ({ sequence, lane }: Slot): number =>
  Math.max(1, (sequence!.lengths?.[1] ?? Number.POSITIVE_INFINITY) - lane.tokens.length)

/** Up to `most` where nothing that is still unknown decides how the next tokens are drawn, else 1. */
export function stepsAhead(rows: readonly Row[], most: number): number {
  let steps = most
  for (const { slot, count } of rows) {
    if (!slot.lane.foreseeable || pending(slot) !== count) return 1
    steps = Math.min(steps, slot.lane.remaining, roomLeft(slot))
  }
  return steps
}

/** A row that goes on with guesses, as the model takes it. */
export function draftedInput({ slot, count }: Row, { tokens, draws }: Drafted): StepInput {
  const sequence = slot.sequence!
  const from = sequence.length
  const last = draws.length - 1
  const drafts: (SampleSettings | undefined)[] = new Array(tokens.length).fill(undefined)
  for (const { at, settings } of draws.slice(0, -1)) drafts[at] = settings
  return {
    sequence,
    tokens: [...slot.lane.tokens.slice(from, from + count), ...tokens],
    sample: draws[last]!.settings,
    drafts,
    guessed: true,
  }
}

/** How the next token of each is drawn; undefined where one cannot say, which ends it. */
export function nextSettings(rows: readonly Row[]): SampleSettings[] | undefined {
  const all: SampleSettings[] = []
  for (const { slot } of rows) {
    const settings = nextOf(slot)
    if (settings) all.push(settings)
  }
  return all.length === rows.length ? all : undefined
}

/** Whether who draws behind a row can say how; one whose mask takes long is left out until that is made. */
export function isPrepared(row: Row): boolean {
  const { lane } = row.slot
  if (!draws(row) || !lane.prepare) return true
  try {
    return during('mask', lane.request ?? '', () => lane.prepare!())
  } catch (error) {
    lane.fail(error)
    return false
  }
}

/** Whether its next token is drawn behind a row. */
const draws = (row: Row): boolean => !isScored(row) && held(row.slot) + row.count >= row.slot.lane.tokens.length

function nextOf({ lane }: Slot): SampleSettings | undefined {
  try {
    const settings = () => (lane.prepare?.() === false ? undefined : lane.settings())
    return during('mask', lane.request ?? '', settings)
  } catch (error) {
    lane.fail(error)
    return undefined
  }
}

/** A row as the model takes it; undefined if the lane cannot say how to go on, which ends it. */
export function inputOf(row: Row): StepInput | undefined {
  const { slot, count } = row
  const { lane } = slot
  const sequence = slot.sequence!
  const from = sequence.length
  const tokens = lane.tokens.slice(from, from + count)
  if (isScored(row)) {
    const drafts = tokens.map((_, i) => lane.scores!.settings(from + i))
    const sample = drafts.pop()!
    return { sequence, tokens, sample, ...(drafts.length > 0 && { drafts }) }
  }
  if (!draws(row)) return { sequence, tokens }
  const sample = nextOf(slot)
  return sample && { sequence, tokens, sample }
}
