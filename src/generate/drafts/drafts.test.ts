import { describe, expect, it } from 'vitest'
import type { Sequence, TokenModel } from '../../contract/index.js'
import type { Lane } from '../answer/lane.js'
import { Arms, Drafting } from './drafting.js'
import { guessOf } from './foresee.js'
import { OpenValue } from './open-value.js'
import { DraftSource } from './source.js'

const bytes = (text: string) => new TextEncoder().encode(text)
const begun = (document: string): OpenValue => {
  const value = new OpenValue()
  value.push(bytes(document))
  return value
}

describe('the open value', () => {
  it.each([
    ['{"name":"Ann', 'Ann', true, 'name'],
    ['{"a":{"b":[1,"x \\"y', 'x \\"y', true, 'b'],
    ['{"n":-12.5', '-12.5', false, 'n'],
    ['{"n":', '', false, 'n'],
    ['{"n":"', '', true, 'n'],
    ['["one","tw', 'tw', true, ''],
  ])('of %s', (document, written, quoted, key) => {
    const value = begun(document)
    expect([value.written, value.quoted, value.key]).toEqual([written, quoted, key])
  })

  it('is none in a key, or within a character', () => {
    expect(begun('{"na').written).toBeUndefined()
    expect(begun('{"a":1,').written).toBeUndefined()
    const cut = new OpenValue()
    cut.push(bytes('{"a":"é').slice(0, -1))
    expect(cut.written).toBeUndefined()
  })

  it('is none where it is too long to be looked up, and the next one is again', () => {
    const long = begun(`{"a":"${'x'.repeat(2000)}`)
    expect(long.written).toBeUndefined()
    long.push(bytes('","b":"y'))
    expect([long.written, long.key]).toEqual(['y', 'b'])
  })

  it('is the same however it was cut, and a copy goes its own way', () => {
    const document = '{"a":{"b":["ü","x'
    const piece = new OpenValue()
    for (const byte of bytes(document)) piece.push(Uint8Array.of(byte))
    expect(piece.written).toBe(begun(document).written)
    const copy = piece.clone()
    copy.push(bytes('yz'))
    expect([piece.written, copy.written]).toEqual(['x', 'xyz'])
  })
})

describe('a guess', () => {
  const mail =
    'Dear Ms Miller, Maria Lopez wants 14 chairs by 12 March 2026; her phone is 030-4711 (office). City: Bonn'
  const source = () => new DraftSource([mail])
  it.each([
    ['{"name":"Mar', 'ia Lopez"', 'case, and words that begin as names do'],
    ['{"name":"MARIA L', 'opez"', 'in whatever case it was begun'],
    ['{"date":"12', ' March 2026"', 'up to a sign'],
    ['{"phone":"03', '0-4711"', 'over a sign within a word'],
    ['{"n":1', '4', 'the digits of a number'],
    ['{"city":"', 'Bonn"', 'what stands behind its label'],
  ])('behind %s is %s: %s', (document, text) => {
    expect(guessOf(begun(document), source())?.text).toBe(text)
  })

  it('is none for what begins nowhere, or only within a word', () => {
    expect(guessOf(begun('{"name":"Zo'), source())).toBeUndefined()
    expect(guessOf(begun('{"name":"iller'), source())).toBeUndefined()
  })

  it('looks at a text of one letter in bounded time, and finds the beginning of a word alone', () => {
    const letters = new DraftSource(['a'.repeat(1_000_000)])
    expect(letters.after('aaa', 8)).toBe('aaaaaaaa')
    expect(letters.after('b', 8)).toBeUndefined()
  })
})

describe('what is chosen', () => {
  /** What was chosen the second half of the time, and the share of what was not the most frequent. */
  const play = (arms: Arms, rates: readonly number[], turns = 600) => {
    const chosen = Array.from({ length: turns }, () => {
      const arm = arms.next()
      arms.took(arm, rates[arm]!, 1)
      return arm
    }).slice(turns / 2)
    const counts = rates.map((_, arm) => chosen.filter((one) => one === arm).length)
    const most = Math.max(...counts)
    return { arm: counts.indexOf(most), others: 1 - most / chosen.length }
  }

  it('is what did best, and what does best now', () => {
    const arms = new Arms(3)
    expect(play(arms, [1, 3, 2]).arm).toBe(1)
    expect(play(arms, [1, 1, 9]).arm).toBe(2)
  })

  it('is nothing where little is gained, and what gains nothing is tried less and less', () => {
    const arms = new Arms(3)
    const first = play(arms, [1, 1.08, 1.02], 120)
    const later = play(arms, [1, 1.08, 1.02])
    expect([first.arm, later.arm]).toEqual([0, 0])
    expect(later.others).toBeLessThan(first.others)
    expect(later.others).toBeLessThan(0.03)
  })

  it('is given up early where it is far from the best', () => {
    const arms = new Arms(2)
    arms.took(0, 32, 32)
    expect(arms.hopeless(1, 8, 10)).toBe(false)
    expect(arms.hopeless(1, 8, 17)).toBe(true)
  })
})

describe('a head that guesses', () => {
  /** So many trials, of which those that ask it gain so much: in how many it was asked, and in how many it did not rest. */
  const play = (count: number, gain: number, knows: boolean, drafting = new Trials()) => {
    drafting.small.knows = () => knows
    let [guesses, awake] = [0, 0]
    for (let i = 0; i < count; i++) {
      if (drafting.trial(gain)) guesses++
      if (!drafting.small.rests) awake++
    }
    return { guesses, awake, drafting }
  }

  it('rests where it does not gain, and is tried ever less', () => {
    const first = play(200, 0.9, true)
    const later = play(1000, 0.9, true, first.drafting)
    expect(first.guesses).toBeGreaterThan(1)
    expect(later.guesses).toBeGreaterThan(1)
    expect(later.awake).toBeLessThan(20)
    // Once it gains, it is asked all the time.
    const gaining = play(3000, 2, true, first.drafting)
    expect(gaining.awake).toBeGreaterThan(2000)
    expect(play(100, 2, true, first.drafting).awake).toBe(100)
  })

  it('is not asked for what it has not read, and does not wait for long that it is', () => {
    const { drafting } = play(200, 0.9, true)
    const unread = play(1000, 0.9, false, drafting)
    expect(unread.guesses).toBe(0)
    expect(unread.awake).toBeGreaterThan(0)
    expect(unread.awake).toBeLessThan(200)
    expect(play(1000, 0.9, false).awake).toBeLessThan(200)
  })
})

class Trials {
  readonly small = {
    ...{ lengths: [1], rests: false, knows: () => true, guess: async () => 0 },
    ...{ drop: () => {}, clear: () => {}, close: async () => {} },
  }
  readonly #drafting = new Drafting({ maxChunk: 64, maxSamples: 8 } as TokenModel, 'gaining', this.small)

  /** Whether it was asked. */
  trial(gain: number): boolean {
    const writer = { lane: { draftable: true } as Lane, sequence: {} as Sequence }
    const { ask, steps, took } = this.#drafting.of([writer], { rows: 1, draws: 1 })
    took(ask ? gain * steps : steps, steps, steps)
    return ask !== undefined
  }
}
