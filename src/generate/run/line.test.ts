import { describe, expect, it } from 'vitest'
import type { Lane } from '../answer/lane.js'
import { inLine, MAY_BE_PASSED, needsLittle } from './line.js'
import { makeSlot, type Slot } from './slot.js'

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
})

describe('a call', () => {
  it('needs little if it is shorter than an equal share of the cache, and has not begun', () => {
    expect([99, 100, 101].map((tokens) => needsLittle(slot({ tokens }), SHARE))).toEqual([true, false, false])
    expect(needsLittle(slot({ started: true }), SHARE)).toBe(false)
  })
})
