import { describe, expect, it } from 'vitest'
import type { Sequence } from '../../contract/token-model.js'
import type { Lane } from '../answer/lane.js'
import type { Drafted } from '../drafts/path.js'
import { inLine, MAY_BE_PASSED, makeSlot, needsLittle, pending, promptIsIn, type Slot, sync } from './slot.js'

const lane = (part: Partial<Lane> = {}) => ({ tokens: [], promptLength: 0, kept: 0, ...part }) as Partial<Lane> as Lane

/** What a model holds of a text: so many tokens. */
function held(length: number) {
  const sequence = {
    length,
    truncate(to: number) {
      sequence.length = to
      sequence.cut++
    },
    cut: 0,
  }
  return sequence as typeof sequence & Sequence
}

describe('a call', () => {
  it('is its first choice, and all of them are of one caller', () => {
    const first = makeSlot(lane(), undefined, 'me')
    const second = makeSlot(lane(), first, 'somebody else')
    expect([first.call, second.call]).toEqual([first, first])
    expect([first.owner, second.owner]).toEqual(['me', 'me'])
  })

  it('whose caller nobody names is one by itself', () => {
    const first = makeSlot(lane())
    const second = makeSlot(lane(), first)
    expect([first.owner, second.owner]).toEqual([first, first])
    expect(makeSlot(lane()).owner).not.toBe(first)
  })

  it('is released once somebody does so, and holds nothing before it begins', async () => {
    const slot = makeSlot(lane())
    expect(slot).toMatchObject({ sequence: undefined, drafted: undefined, passed: 0, stepped: 0 })
    expect([slot.cancelled, slot.spoilt, slot.started, slot.lacksRoom]).toEqual([false, false, false, false])
    let released = false
    void slot.released.then(() => {
      released = true
    })
    await Promise.resolve()
    expect(released).toBe(false)
    slot.release()
    await slot.released
    expect(released).toBe(true)
  })
})

describe('what is to be read', () => {
  it.each([
    ['all of it before it has a sequence', { tokens: [1, 2, 3] }, undefined, 3],
    ['what the sequence does not hold', { tokens: [1, 2, 3] }, 2, 1],
    ['nothing that is held', { tokens: [1, 2, 3] }, 3, 0],
    ['no more than the lane wants read', { tokens: [1, 2, 3, 4], reads: 3 }, 1, 2],
  ])('is %s', (_, part, length, expected) => {
    const slot = makeSlot(lane(part))
    slot.sequence = length === undefined ? undefined : held(length)
    expect(pending(slot)).toBe(expected)
  })

  it.each<[number | undefined, number, boolean]>([
    [undefined, 1, true],
    [undefined, 2, false],
    [3, 5, false],
    [4, 5, true],
    [5, 5, true],
    [9, 5, true],
  ])('holds the prompt but its last token, or more: %s of %i: %s', (length, promptLength, expected) => {
    const slot = makeSlot(lane({ promptLength }))
    slot.sequence = length === undefined ? undefined : held(length)
    expect(promptIsIn(slot)).toBe(expected)
  })
})

describe('after a step', () => {
  function synced(part: Partial<Lane>, length: number, guessed?: number[]) {
    const reported: unknown[] = []
    const whole = lane({
      settle: () => reported.push('settled'),
      holds: (tokens: number) => void reported.push(tokens),
      ...part,
    })
    const slot = makeSlot(whole)
    const sequence = held(length)
    slot.sequence = sequence
    slot.drafted = guessed && ({ tokens: guessed, draws: [] } satisfies Drafted)
    sync(slot)
    expect(slot.drafted).toBeUndefined()
    expect(reported).toEqual(['settled', sequence.length])
    return { left: sequence.length, cut: sequence.cut }
  }
  const tokens = [0, 1, 2, 3, 4, 5, 6, 7]

  it('what the lane has replaced is taken back', () => {
    expect(synced({ tokens, kept: 5 }, 7)).toEqual({ left: 5, cut: 1 })
  })

  it('one token is left to be fed, as the next is drawn from what it leads to', () => {
    expect(synced({ tokens, kept: 8 }, 8)).toEqual({ left: 7, cut: 1 })
  })

  it('what is right stays as it is', () => {
    expect(synced({ tokens, kept: 8 }, 7)).toEqual({ left: 7, cut: 0 })
    expect(synced({ tokens, kept: 8 }, 3)).toEqual({ left: 3, cut: 0 })
  })

  it.each([
    ['all that were right', [5, 6], 7, 7],
    ['all but the last, where nothing came behind them', [5, 6, 7], 8, 7],
    ['those before the first that was wrong', [5, 9, 7], 8, 6],
    ['none where the first was wrong', [9, 6], 7, 5],
    ['none beyond what the model has read of them', [4, 5], 6, 6],
  ])('of guesses stay %s', (_, guessed, length, left) => {
    expect(synced({ tokens, kept: 5 }, length, guessed).left).toBe(left)
  })

  it('no guess stays behind what was replaced before it', () => {
    expect(synced({ tokens, kept: 3 }, 7, [5, 6]).left).toBe(3)
  })

  it('who holds nothing is told nothing', () => {
    const slot = makeSlot(lane({ settle: () => expect.fail('settled'), holds: () => expect.fail('holds') }))
    slot.drafted = { tokens: [1], draws: [] }
    sync(slot)
    expect(slot.drafted).toBeUndefined()
  })

  it('a lane need not want to know what is held', () => {
    const slot = makeSlot(lane({ tokens, kept: 8, settle() {} }))
    slot.sequence = held(8)
    sync(slot)
    expect(slot.sequence.length).toBe(7)
  })
})

const SHARE = 100

interface Of {
  readonly tokens?: number
  readonly first?: Slot
  readonly started?: boolean
  readonly lacksRoom?: boolean
  readonly passed?: number
  readonly caller?: string
}

/** A call as the line sees it: by how many tokens it has, and what has become of it. */
function slot({ tokens = 10, first, caller, ...state }: Of = {}): Slot {
  const lane = { tokens: new Array(tokens).fill(1) } as unknown as Lane
  return Object.assign(makeSlot(lane, first, caller), state)
}

/** The names of those that wait, in the order in which they may begin. */
function order(waiting: Readonly<Record<string, Slot>>, running: readonly Slot[] = []): string[] {
  const names = new Map(Object.entries(waiting).map(([name, each]) => [each, name]))
  return inLine(Object.values(waiting), running, SHARE).map((each) => names.get(each)!)
}

describe('the line of those that wait', () => {
  it('goes as they came, whatever they need, where nobody lacks room', () => {
    const waiting = { long: slot({ tokens: 500 }), short: slot(), longer: slot({ tokens: 900 }), other: slot() }
    expect(order(waiting)).toEqual(['long', 'short', 'longer', 'other'])
  })

  it('lets those that need little go first where somebody lacks room', () => {
    const waiting = { large: slot({ tokens: 500, lacksRoom: true }), long: slot({ tokens: 500 }), a: slot(), b: slot() }
    expect(order(waiting)).toEqual(['a', 'b', 'large', 'long'])
  })

  it('lets who was passed often enough go before these', () => {
    const large = (passed: number) => slot({ tokens: 500, lacksRoom: true, passed })
    expect(order({ a: slot(), large: large(MAY_BE_PASSED - 1) })).toEqual(['a', 'large'])
    expect(order({ a: slot(), large: large(MAY_BE_PASSED) })).toEqual(['large', 'a'])
    // Whoever lacks no room is not waiting for any.
    const other = slot({ tokens: 500, passed: MAY_BE_PASSED })
    expect(order({ a: slot(), other, large: large(0) })).toEqual(['a', 'other', 'large'])
  })

  it('has further choices of a call that runs come last', () => {
    const [first, elsewhere] = [slot(), slot()]
    const waiting = { second: slot({ first }), long: slot({ tokens: 500 }), third: slot({ first: elsewhere }) }
    expect(order(waiting, [first])).toEqual(['long', 'third', 'second'])
    expect(order(waiting, [slot({ first })])).toEqual(['long', 'third', 'second'])
    expect(order(waiting)).toEqual(['second', 'long', 'third'])
    // Also behind who has more calls.
    const more = [slot({ caller: 'a' }), slot({ caller: 'a' })]
    expect(order({ second: slot({ first }), other: slot({ caller: 'a' }) }, [first, ...more])).toEqual([
      'other',
      'second',
    ])
  })

  it('goes by callers in turns, whoever has the fewest first', () => {
    const of = (caller: string) => slot({ caller })
    const waiting = { a1: of('a'), a2: of('a'), a3: of('a'), b1: of('b'), c1: of('c') }
    expect(order(waiting)).toEqual(['a1', 'b1', 'c1', 'a2', 'a3'])
    expect(order(waiting, [of('b'), of('a'), of('a')])).toEqual(['c1', 'b1', 'a1', 'a2', 'a3'])
    // Of one caller it is as they came; where nobody says whose they are, each is somebody's.
    expect(order({ a1: of('a'), a2: of('a') }, [of('a')])).toEqual(['a1', 'a2'])
    expect(order({ x: slot(), y: slot() }, [slot(), slot()])).toEqual(['x', 'y'])
  })

  it('is not changed by being looked at', () => {
    const waiting = [slot({ tokens: 500, lacksRoom: true }), slot()]
    const before = [...waiting]
    inLine(waiting, [], SHARE)
    expect(waiting).toEqual(before)
  })

  it.each([1, 2])('stays as it is while others come to wait: %i', (count) => {
    const waiting = Array.from({ length: count }, () => slot())
    const line = inLine(waiting, [], SHARE)
    waiting.unshift(slot())
    expect(line).toHaveLength(count)
  })
})

describe('a call in line', () => {
  it('needs little if it is shorter than an equal share of the cache, and has not begun', () => {
    expect([99, 100, 101].map((tokens) => needsLittle(slot({ tokens }), SHARE))).toEqual([true, false, false])
    expect(needsLittle(slot({ started: true }), SHARE)).toBe(false)
  })
})
