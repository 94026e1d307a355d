import { describe, expect, it } from 'vitest'
import type { Sequence, TokenModel } from '../../contract/token-model.js'
import { Pulse, showPulse } from '../../platform/index.js'
import type { Lane, LanePieces, LaneScores } from '../answer/lane.js'
import { GREEDY } from '../answer/sampling.js'
import { compose, draftedInput, inputOf, nextSettings, stepsAhead, stepsToRead } from './batch.js'
import { makeSlot, type Slot } from './slot.js'

const CHUNK = 63
/** Of a chunk, for prompts beside somebody who writes. */
const BESIDE = 16
/** Of a chunk, for the prompts of a crowd beside a guest. */
const CROWDS = 4
/** Of these, what the oldest has for itself. */
const oldestOf = (room: number) => Math.ceil(room / 4)

interface Made {
  readonly caller?: string
  readonly first?: Slot
  /** Tokens that the model holds. */
  readonly held?: number
  readonly stepped?: number
  readonly lane?: Partial<Lane>
}

function slotOf(tokens: number, promptLength: number, { caller, first, held = 0, stepped = 0, lane }: Made = {}): Slot {
  const whole = { tokens: Array.from({ length: tokens }, (_, i) => i), promptLength, paused: false, ...lane }
  const slot = makeSlot(whole as Partial<Lane> as Lane, first, caller)
  slot.sequence = { length: held } as Sequence
  slot.stepped = stepped
  return slot
}
const prompt = (tokens: number, made?: Made) => slotOf(tokens, tokens, made)
/** Its prompt is in the cache, and one token more is to be read. */
const writer = (made?: Made) => slotOf(11, 10, { held: 10, ...made })

/** How many tokens of each are read. */
function read(slots: readonly Slot[], model: Partial<TokenModel> = {}): number[] {
  const rows = compose(slots, { maxBatch: 100, maxChunk: CHUNK, ...model } as TokenModel)
  expect(new Set(rows.map(({ slot }) => slot)).size).toBe(rows.length)
  return slots.map((slot) => rows.find((row) => row.slot === slot)?.count ?? 0)
}

describe('a step', () => {
  it('is for nobody where nobody is there, or all pause, or nothing is to be read', () => {
    expect(compose([], { maxBatch: 4, maxChunk: 9 } as TokenModel)).toEqual([])
    expect(read([prompt(9, { lane: { paused: true } }), writer({ lane: { paused: true } })])).toEqual([0, 0])
    expect(compose([writer({ held: 11 })], { maxBatch: 4, maxChunk: 9 } as TokenModel)).toEqual([])
  })

  it('reads of who writes all that is new, and no more than fits into it', () => {
    expect(read([writer(), slotOf(14, 10, { held: 10 }), slotOf(100, 10, { held: 10 })])).toEqual([1, 4, CHUNK])
  })

  it('reads of a prompt as much as fits into it, and little beside somebody who writes', () => {
    expect(read([prompt(500)])).toEqual([CHUNK])
    expect(read([prompt(500, { held: 490 })])).toEqual([10])
    expect(read([prompt(500), writer()])).toEqual([BESIDE, 1])
  })

  it('reads little beside a prompt that comes to its end, where a row takes time of its own', () => {
    const slots = [prompt(500), prompt(20)]
    expect(read(slots, { rowPositions: 100 })).toEqual([BESIDE, 20])
    expect(read(slots)).toEqual([CHUNK - 20, 20])
    const pieces: LanePieces = { floor: (at) => at, next: (_, most) => most, least: () => 30 }
    expect(read([prompt(500, { lane: { pieces } }), prompt(20)], { rowPositions: 100 })).toEqual([30, 20])
    // A question is answered by what is drawn once.
    const question = prompt(20, { lane: { remaining: 1 } })
    expect(read([prompt(500), question], { rowPositions: 100 })).toEqual([CHUNK - 20, 20])
    // Neither of them does.
    expect(read([prompt(500), prompt(300)], { rowPositions: 100 })).toEqual([oldestOf(CHUNK), CHUNK - oldestOf(CHUNK)])
  })

  it('reads short prompts first, and of the oldest a part whatever comes', () => {
    expect(read([prompt(500), prompt(20), prompt(10)])).toEqual([CHUNK - 30, 20, 10])
    const part = oldestOf(CHUNK)
    expect(read([prompt(500), prompt(300), prompt(400)])).toEqual([part, CHUNK - part, 0])
    expect(read([prompt(3), prompt(300)])).toEqual([3, CHUNK - 3])
  })

  it('leaves to the oldest what it can read at least', () => {
    const pieces = (least: number): LanePieces => ({ floor: (at) => at, next: (_, most) => most, least: () => least })
    expect(read([prompt(500, { lane: { pieces: pieces(40) } }), prompt(300)])).toEqual([40, CHUNK - 40])
    expect(read([prompt(30, { lane: { pieces: pieces(40) } }), prompt(300)])).toEqual([30, CHUNK - 30])
    // Not what one that came later could.
    expect(read([prompt(500), prompt(300, { lane: { pieces: pieces(60) } })])[0]).toBe(oldestOf(CHUNK))
  })

  it('reads what is to be read in pieces by whole ones, from where it stands', () => {
    const calls: number[][] = []
    const pieces: LanePieces = {
      floor: (at) => at,
      next(at, most) {
        calls.push([at, most])
        return most - (most % 10)
      },
      least: () => 0,
    }
    expect(read([prompt(500, { held: 5, lane: { pieces } })])).toEqual([60])
    expect(calls).toEqual([[5, CHUNK]])
    expect(read([prompt(500), prompt(200), prompt(300, { lane: { pieces } })])[2]).toBe(0)
    expect(calls).toHaveLength(1)
    const none = { ...pieces, next: () => 0 }
    expect(compose([prompt(500, { lane: { pieces: none } })], { maxBatch: 4, maxChunk: 64 } as TokenModel)).toEqual([])
  })
})

describe('a crowd of one caller and a guest', () => {
  const crowd = (make: (made: Made) => Slot) => make({ caller: 'crowd' })
  const guest = { caller: 'guest' }

  it('who writes is kept waiting by few tokens of the crowd’s prompts', () => {
    const slots = [prompt(500, { caller: 'crowd' }), prompt(400, { caller: 'crowd' }), writer(guest)]
    const part = oldestOf(CROWDS)
    expect(read(slots)).toEqual([part, CROWDS - part, 1])
    // Not by what it writes.
    expect(read([slotOf(14, 10, { held: 10, caller: 'crowd' }), crowd(writer), writer(guest)])).toEqual([4, 1, 1])
  })

  it('who has a prompt is read as if nobody wrote', () => {
    const slots = [crowd(writer), prompt(500, { caller: 'crowd' }), prompt(500, guest)]
    const part = oldestOf(CROWDS)
    expect(read(slots)).toEqual([1, part, CHUNK - part])
    expect(read([prompt(500, guest), crowd(writer), prompt(500, { caller: 'crowd' })])).toEqual([CHUNK, 1, 0])
  })

  it('who has a prompt is not read at the cost of another who writes', () => {
    const slots = [
      ...[prompt(500, { caller: 'crowd' }), prompt(400, { caller: 'crowd' })],
      ...[prompt(300, guest), writer({ caller: 'another' })],
    ]
    const part = oldestOf(CROWDS)
    expect(read(slots)).toEqual([part, 0, BESIDE - part, 1])
    // Whoever else writes.
    const [first, ...others] = slots as [Slot, ...Slot[]]
    expect(read([first, crowd(writer), ...others.slice(1)])).toEqual([part, 1, BESIDE - part, 1])
  })

  it('is none where each has one, or one has them all', () => {
    expect(read([prompt(500, { caller: 'a' }), writer({ caller: 'b' })])).toEqual([BESIDE, 1])
    expect(read([prompt(500, { caller: 'a' }), writer({ caller: 'a' })])).toEqual([BESIDE, 1])
    const part = oldestOf(CHUNK)
    expect(read([prompt(500, { caller: 'a' }), prompt(300, { caller: 'a' })])).toEqual([part, CHUNK - part])
    // Nobody says whose they are: each call is somebody's of its own, all choices of one are one caller's.
    expect(read([prompt(500), writer()])).toEqual([BESIDE, 1])
    const first = prompt(500)
    expect(read([first, prompt(500, { first }), writer()]).reduce((sum, count) => sum + count)).toBe(CROWDS + 1)
  })

  it('leaves to the crowd’s oldest what it can read at least', () => {
    const pieces: LanePieces = { floor: (at) => at, next: (_, most) => most, least: () => 12 }
    const slots = [
      ...[prompt(500, { caller: 'crowd', lane: { pieces } }), prompt(400, { caller: 'crowd' })],
      writer(guest),
    ]
    expect(read(slots)).toEqual([12, 0, 1])
  })
})

describe('beside a guest, where a row takes time of its own, a crowd', () => {
  const POSITIONS = 100
  const model = { rowPositions: POSITIONS }
  /** Writes behind so many positions, and so costs one row more for each `POSITIONS`. */
  const behind = (held: number, made?: Made) => slotOf(held + 1, held, { caller: 'crowd', held, ...made })
  const guest = () => writer({ caller: 'guest' })
  const crowdOf = (count: number, held: number) => Array.from({ length: count }, () => behind(held))
  const taking = (slots: readonly Slot[]) => read([...slots, guest()], model).filter((count) => count > 0).length - 1

  it('has as many rows as cost what short ones of its share do', () => {
    expect([0, POSITIONS, 3 * POSITIONS].map((held) => taking(crowdOf(20, held)))).toEqual([
      CROWDS,
      CROWDS / 2,
      CROWDS / 4,
    ])
    expect(taking([behind(2 * POSITIONS), behind(0), behind(0)])).toBe(2)
  })

  it('always has one, however long its text is', () => {
    expect(read([...crowdOf(3, 50 * POSITIONS), guest()], model)).toEqual([1, 0, 0, 1])
    const prompts = Array.from({ length: 3 }, () => prompt(9000, { caller: 'crowd', held: 50 * POSITIONS }))
    expect(read([...prompts, guest()], model)).toEqual([1, 0, 0, 1])
  })

  it('takes turns, those that write and those that are read', () => {
    const slots = [9, 4, 7, 5].map((stepped) => behind(POSITIONS, { stepped }))
    expect(read([...slots, guest()], model)).toEqual([0, 1, 0, 1, 1])
    const reads = (stepped: number) => prompt(9000, { caller: 'crowd', held: POSITIONS, stepped })
    expect(read([...slots, reads(8), guest()], model)).toEqual([0, 1, 0, 1, 0, 1])
    expect(read([...slots, reads(3), guest()], model)).toEqual([0, 1, 0, 0, 1, 1])
    // Who has nothing to be read has no turn.
    const done = slotOf(301, 300, { caller: 'crowd', held: 301 })
    expect(read([done, ...slots, guest()], model)).toEqual([0, 0, 1, 0, 1, 1])
  })

  it('is read by as many tokens as its share has, whatever others of it would cost', () => {
    expect(read([prompt(500, { caller: 'crowd' }), behind(50 * POSITIONS, { stepped: 1 }), guest()], model)).toEqual([
      ...[CROWDS, 0, 1],
    ])
  })

  it('leaves to its oldest what it can read at least, however far it has come', () => {
    const pieces: LanePieces = { floor: (at) => at, next: (_, most) => most, least: () => 12 }
    const made = { caller: 'crowd', held: POSITIONS }
    expect(read([prompt(9000, { ...made, lane: { pieces } }), prompt(9000, made), guest()], model)).toEqual([12, 0, 1])
  })

  it('is read by fewer tokens, the further it has come', () => {
    const two = (held: number) => [prompt(9000, { caller: 'crowd', held }), prompt(9000, { caller: 'crowd', held })]
    const both = [0, POSITIONS, 3 * POSITIONS].map((held) => {
      const [first = 0, second = 0] = read([...two(held), guest()], model)
      return first + second
    })
    expect(both).toEqual([CROWDS, CROWDS / 2, CROWDS / 4])
    // Of a longer step more have a part, and together no more than its share.
    const [first = 0, second = 0] = read([...two(POSITIONS), guest()], { ...model, maxChunk: 4 * CHUNK + 3 })
    expect(first + second).toBe((4 * CROWDS) / 2)
  })

  it('writes a token of each, and says so; the guest as many as there are', () => {
    const forced = slotOf(14, 10, { held: 10, caller: 'crowd' })
    const own = slotOf(14, 10, { held: 10, caller: 'guest' })
    expect(read([forced, behind(10), own], model)).toEqual([1, 1, 4])
    const rows = compose([forced, prompt(500, { caller: 'crowd' }), own], {
      maxBatch: 9,
      maxChunk: CHUNK,
      ...model,
    } as TokenModel)
    expect(rows.map(({ brief = false }) => brief)).toEqual([true, false, true])
  })

  it('is as long as ever where nobody is its guest', () => {
    expect(read(crowdOf(20, 3 * POSITIONS), model)).toEqual(new Array(20).fill(1))
    expect(read([...crowdOf(2, 3 * POSITIONS), writer({ caller: 'a' }), writer({ caller: 'a' })], model)).toEqual([
      ...[1, 1, 1, 1],
    ])
    expect(read([...crowdOf(20, 3 * POSITIONS), guest()])).toEqual(new Array(21).fill(1))
    const forced = slotOf(14, 10, { held: 10, caller: 'a' })
    expect(read([forced, writer({ caller: 'a' })], model)).toEqual([4, 1])
  })
})

describe('prompts of which each token is scored', () => {
  const scores = (scored: number, open: number) => ({ scores: { scored, open } as LaneScores })

  it('are read as far as there are positions to score', () => {
    const [one, two] = [prompt(500, { lane: scores(0, 499) }), prompt(400, { lane: scores(0, 399) })]
    expect(read([one], { maxSamples: 10 })).toEqual([10])
    expect(read([one, two], { maxSamples: 10 })).toEqual([1, 9])
    expect(read([one, two, writer()], { maxSamples: 10 })).toEqual([1, 8, 1])
    expect(read([prompt(500, { held: 495, lane: scores(495, 4) })], { maxSamples: 10 })).toEqual([4])
    // What one does not need is the others'; who is not scored needs none.
    const few = prompt(5, { lane: scores(0, 4) })
    expect(read([one, two, few], { maxSamples: 12 })).toEqual([1, 7, 4])
    expect(read([one, prompt(20)], { maxSamples: 10 })).toEqual([9, 20])
  })

  it.each<[string, number, Partial<Lane>, Partial<TokenModel>]>([
    ['few have those of whoever draws', 10, {}, {}],
    ['many have all', 40, { scores: { ...scores(0, 499).scores, many: true } }, {}],
    [
      ...(['many have those of whoever draws, where more tokens are computed otherwise', 10] as const),
      ...([{ scores: { ...scores(0, 499).scores, many: true } }, { fewTokens: 16 }] as const),
    ],
    [
      ...(['many have all where they are read in pieces', 40] as const),
      {
        scores: { ...scores(0, 499).scores, many: true },
        pieces: { floor: (at) => at, next: (_, most) => most, least: () => 1 },
      },
      { fewTokens: 16 },
    ],
  ])('of the positions that only scores may have, %s', (_, count, lane, model) => {
    const one = prompt(500, { lane: { ...scores(0, 499), ...lane } })
    expect(read([one], { maxSamples: 10, maxScored: 40, ...model })).toEqual([count])
  })

  it('are read token by token where a step scores one position of each', () => {
    expect(read([prompt(500, { lane: scores(0, 499) }), prompt(400, { lane: scores(0, 399) })])).toEqual([1, 1])
  })

  it('are read as others are up to what is scored already, and once all is', () => {
    const again = prompt(500, { held: 10, lane: scores(30, 469) })
    expect(read([again, prompt(400, { lane: scores(0, 399) })], { maxSamples: 10 })).toEqual([20, 9])
    expect(read([prompt(500, { held: 10, lane: scores(500, 0) })], { maxSamples: 10 })).toEqual([CHUNK])
  })
})

describe('more answers than fit into a step', () => {
  const takers = (slots: readonly Slot[], maxBatch: number) => read(slots, { maxBatch }).map((count) => count > 0)

  it('are not chosen from where all fit', () => {
    expect(takers([writer({ caller: 'a' }), writer({ caller: 'a' })], 2)).toEqual([true, true])
    // Nor is their order another: what came first is the oldest, whoever has waited.
    const slots = [prompt(500, { caller: 'a', stepped: 5 }), prompt(300, { caller: 'b', stepped: 1 })]
    expect(read(slots, { maxBatch: 2 })).toEqual([oldestOf(CHUNK), CHUNK - oldestOf(CHUNK)])
  })

  it('have one of each caller first, then a second of each', () => {
    const slots = ['a', 'a', 'a', 'b', 'c', 'c'].map((caller) => writer({ caller }))
    expect(takers(slots, 3)).toEqual([true, false, false, true, true, false])
    expect(takers(slots, 5)).toEqual([true, true, false, true, true, true])
  })

  it('have of a caller the first of each call before a second', () => {
    const first = writer({ caller: 'a' })
    const choices = [writer({ caller: 'a', first }), writer({ caller: 'a', first })]
    const slots = [first, ...choices, writer({ caller: 'a' }), writer({ caller: 'a' })]
    expect(takers(slots, 3)).toEqual([true, false, false, true, true])
    expect(takers(slots, 4)).toEqual([true, true, false, true, true])
  })

  it('have those of the callers that waited longest, where these are too many', () => {
    const slots = [5, 3, 4, 2].map((stepped, i) => writer({ caller: `${i}`, stepped }))
    expect(takers(slots, 2)).toEqual([false, true, false, true])
    // Of one caller it is no matter who waited.
    const one = [5, 3, 4].map((stepped) => writer({ caller: 'a', stepped }))
    expect(takers(one, 2)).toEqual([true, true, false])
    const two = [9, 5, 3].map((stepped, i) => writer({ caller: i === 2 ? 'b' : 'a', stepped }))
    expect(takers([...two, writer({ caller: 'b', stepped: 2 })], 3)).toEqual([true, true, true, false])
  })
})

describe('how far one may go without looking', () => {
  const ahead = (lanes: readonly Partial<Lane>[], most: number) =>
    stepsAhead(
      lanes.map((lane) => ({ slot: writer({ lane: { foreseeable: true, remaining: 99, ...lane } }), count: 1 })),
      most,
    )

  it('is as far as may be, and as the shortest goes', () => {
    expect(ahead([{}, {}], 8)).toBe(8)
    expect(ahead([{}, { remaining: 3 }], 8)).toBe(3)
  })

  it('is one step where something hangs on what is drawn, or more is to be read', () => {
    expect(ahead([{}, { foreseeable: false }], 8)).toBe(1)
    expect(ahead([{ reads: 50 }, {}], 8)).toBe(1)
  })

  it('is for a prompt as many steps as it takes beside others', () => {
    const steps = (tokens: number) => stepsToRead(tokens, { maxChunk: CHUNK } as TokenModel)
    expect([0, 1, BESIDE, BESIDE + 1, 10 * BESIDE].map(steps)).toEqual([0, 1, 1, 2, 10])
  })
})

describe('what the model is asked', () => {
  const settings = (index: number) => ({ ...GREEDY, index })
  const saying = { settings: () => settings(7) }

  it('is a token behind the last of a text, and none within it', () => {
    const slot = slotOf(20, 20, { held: 5, lane: saying })
    const { sequence } = slot
    expect(inputOf({ slot, count: 3 })).toEqual({ sequence, tokens: [5, 6, 7] })
    const tokens = Array.from({ length: 15 }, (_, i) => i + 5)
    expect(inputOf({ slot, count: 15 })).toEqual({ sequence, tokens, sample: settings(7) })
  })

  it('is every token’s score where they are asked for, from where they are not known', () => {
    const scores = { scored: 5, open: 14, settings: (position: number) => settings(position) } as LaneScores
    const slot = slotOf(20, 20, { held: 5, lane: { scores } })
    const { sequence } = slot
    const drafts = [settings(5), settings(6)]
    expect(inputOf({ slot, count: 3 })).toEqual({ sequence, tokens: [5, 6, 7], sample: settings(7), drafts })
    expect(inputOf({ slot, count: 1 })).toEqual({ sequence, tokens: [5], sample: settings(5) })
    const again = slotOf(20, 20, { held: 2, lane: { scores } })
    expect(inputOf({ slot: again, count: 3 })).toEqual({ sequence: again.sequence, tokens: [2, 3, 4] })
    const known = slotOf(20, 20, { held: 5, lane: { ...saying, scores: { ...scores, open: 0 } } })
    expect(inputOf({ slot: known, count: 15 })).toMatchObject({ sample: settings(7) })
  })

  it('is, of guesses, how each is drawn and what comes behind the last', () => {
    const slot = slotOf(12, 10, { held: 10 })
    // A guess, what is certain behind it, another guess.
    const draws = [
      { at: 0, settings: settings(0) },
      { at: 2, settings: settings(1) },
      { at: 3, settings: settings(2) },
    ]
    expect(draftedInput({ slot, count: 2 }, { tokens: [70, 71, 72], draws })).toEqual({
      sequence: slot.sequence,
      tokens: [10, 11, 70, 71, 72],
      sample: settings(2),
      drafts: [settings(0), undefined, settings(1)],
      guessed: true,
    })
    // What is certain may come last.
    const guessed = draftedInput({ slot, count: 2 }, { tokens: [70, 71, 72], draws: [draws[0]!, draws[2]!] })
    expect(guessed.drafts).toEqual([settings(0), undefined, undefined])
  })

  it('is found while it shows whose mask it is at', () => {
    const pulse = new Pulse()
    showPulse(pulse.memory)
    const at: unknown[] = []
    const watched = (request?: string): Partial<Lane> => ({
      ...(request && { request }),
      settings() {
        at.push(pulse.doing)
        return settings(7)
      },
    })
    for (const request of ['a call', undefined]) inputOf({ slot: writer({ lane: watched(request) }), count: 1 })
    expect(at).toEqual(['a call', ''].map((of) => ({ stage: 'mask', of })))
  })

  it('is nothing of who cannot say, which ends that one alone', () => {
    const failed: unknown[] = []
    const reason = new Error('no token may come')
    const broken: Partial<Lane> = {
      settings() {
        throw reason
      },
      fail: (error) => failed.push(error),
    }
    const slot = writer({ lane: broken })
    const other = writer({ lane: saying })
    expect(inputOf({ slot, count: 1 })).toBeUndefined()
    expect(nextSettings([slot, other].map((slot) => ({ slot, count: 1 })))).toBeUndefined()
    expect(failed).toEqual([reason, reason])
    expect(nextSettings([other, other].map((slot) => ({ slot, count: 1 })))).toEqual([settings(7), settings(7)])
  })
})
