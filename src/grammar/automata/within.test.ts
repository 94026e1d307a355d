import { describe, expect, it } from 'vitest'
import { atOnce } from '../../platform/turns.js'
import { Fuel } from '../fuel.js'
import { compileRegex } from '../regex/regex.js'
import { randomness } from '../testing.test-helper.js'
import type { SparseAutomaton } from './sparse.js'
import { stretchesOf } from './stretches-of.js'
import { DEAD, type TextAutomaton, TextError } from './types.js'
import { textsWithin } from './within.js'
import { acceptsText } from './words.js'

const PATTERNS = ['^a', 'b$', '^[ab ]{2,5}$', '\\d', '^\\w+$', '.a.', '^$', 'zzz', '.*', 'a.*a']

/** All texts of an automaton without an end of them; of each of its states one must be an end, or lead to one. */
function textsOf(automaton: SparseAutomaton): string[] {
  const found: string[] = []
  const { first, classes, to } = automaton.moves
  expect([classes.length, to.length]).toEqual([first.at(-1), first.at(-1)])
  const visit = (state: number, text: string) => {
    const before = found.length
    if (automaton.accepts(state)) found.push(text)
    automaton.each(state, (codePoint, next) => {
      if (next <= state) throw new Error(`a way leads back from ${text}`)
      visit(next, text + String.fromCodePoint(codePoint))
    })
    if (found.length === before) throw new Error(`nothing leads on from ${text}`)
  }
  if (!automaton.empty) visit(automaton.start, '')
  return found.sort()
}

const partsOf = (text: string) => atOnce(stretchesOf([text])).whole

describe('the texts of one language that another has', () => {
  it.each(PATTERNS)('and those that it has not, are found each once: %s', (pattern) => {
    const random = randomness(pattern.length)
    const other = compileRegex(pattern)
    for (let round = 0; round < 8; round++) {
      const letters = ['ab ', 'a1., ', 'é a', '中a b'][round % 4]!
      const answerText = Array.from({ length: 16 }, () => letters[Math.floor(random() * letters.length)]!).join('')
      const parts = partsOf(answerText)
      const all = textsOf(parts)
      const [has, lacks] = [true, false].map((wanted) => textsOf(atOnce(textsWithin(parts, other, wanted, new Fuel()))))
      expect(has).toEqual(all.filter((text) => acceptsText(other, text)))
      expect(lacks).toEqual(all.filter((text) => !acceptsText(other, text)))
    }
  })

  it('are none, or all, where the other has none', () => {
    const nothing = compileRegex('[]')
    expect(nothing.empty).toBe(true)
    const parts = partsOf('a b')
    expect(atOnce(textsWithin(parts, nothing, true, new Fuel())).empty).toBe(true)
    expect(textsOf(atOnce(textsWithin(parts, nothing, false, new Fuel())))).toEqual(textsOf(parts))
    const none = partsOf('')
    expect(atOnce(textsWithin(none, compileRegex('.*'), true, new Fuel())).empty).toBe(true)
    expect(atOnce(textsWithin(none, nothing, false, new Fuel())).empty).toBe(true)
  })

  it('are found in long texts too, with a pause every few thousand pairs of places, and paid for', () => {
    const whole = Array.from({ length: 24_000 }, (_, i) => `${(i * 7919) % 1000}`).join(' ')
    const parts = partsOf(whole)
    const other = compileRegex('55')
    const fuel = new Fuel(10_000_000)
    const work = textsWithin(parts, other, true, fuel)
    let pauses = 0
    let last = work.next()
    for (; !last.done; last = work.next()) pauses++
    const found = last.value
    expect(found.states).toBeGreaterThan(parts.states / 2)
    expect(fuel.spent).toBeGreaterThanOrEqual(Math.floor(found.states / 32))
    expect(fuel.spent).toBeLessThanOrEqual(Math.ceil((4 * parts.states) / 32))
    // They are gone through four times: 32 of them are a step, and a pause is every 8192.
    const slices = Math.ceil((32 * fuel.spent) / 8192)
    expect(slices).toBeGreaterThan(10)
    expect(pauses).toBeGreaterThanOrEqual(4 * slices)
    expect(pauses).toBeLessThan(5 * slices)
    // Each pair is one state, however many there are.
    expect(atOnce(textsWithin(parts, compileRegex(''), true, new Fuel(10_000_000))).states).toBe(parts.states)
    const random = randomness(2)
    for (let i = 0; i < 300; i++) {
      const start = whole.indexOf(' ', Math.floor(random() * whole.length)) + 1
      const text = whole.slice(start, start + 1 + Math.floor(random() * 12)).trim()
      const [isPart, wanted] = [acceptsText(parts, text), acceptsText(other, text)]
      expect([text, acceptsText(found, text)]).toEqual([text, isPart && wanted])
    }
  })

  it('are told apart by where the other language is, not by where they are alone', () => {
    // Another language of very many states, each stretch of a text with another of them.
    const { classes } = compileRegex('^[ab ]*$')
    const step = (state: number, cls: number) => (state === DEAD ? DEAD : 1 + ((state * 31 + cls) % 9973))
    const next = (state: number, codePoint: number) => step(state, classes.of(codePoint))
    const other = { ...{ start: 1, empty: false, classes, step, next }, accepts: (state: number) => state % 2 === 0 }
    const random = randomness(4)
    for (let round = 0; round < 30; round++) {
      const answerText = Array.from({ length: 80 }, () => 'ab '[Math.floor(random() * 3)]!).join('')
      const parts = partsOf(answerText)
      const [has, lacks] = [true, false].map((wanted) =>
        textsOf(atOnce(textsWithin(parts, other as unknown as TextAutomaton, wanted, new Fuel(10_000_000)))),
      )
      const all = textsOf(parts)
      const isOther = (text: string) => acceptsText(other as unknown as TextAutomaton, text)
      expect([has, lacks]).toEqual([all.filter(isOther), all.filter((text) => !isOther(text))])
    }
  })

  it('are refused where it takes too many pairs of places to find them', () => {
    const parts = partsOf('ab a ab b')
    // All of them: of each of its states but the dead one there is one pair.
    const within = (most: number) => atOnce(textsWithin(parts, compileRegex(''), true, new Fuel(), most))
    const pairs = parts.states - 1
    expect(textsOf(within(pairs))).toEqual(textsOf(parts))
    const refused = new TextError('the texts to quote from are too long for the other requirements of the string')
    expect(() => within(pairs - 1)).toThrow(refused)
    // Where the other language does not go on, no more of them are looked at.
    const few = textsWithin(parts, compileRegex('^ab$'), true, new Fuel(), 'ab'.length + 1)
    expect(textsOf(atOnce(few))).toEqual(['ab'])
  })

  it('are refused where there is no fuel for them', () => {
    const work = textsWithin(partsOf('ab a '.repeat(500)), compileRegex('a'), true, new Fuel(5))
    expect(() => atOnce(work)).toThrow('too complex')
  })
})
