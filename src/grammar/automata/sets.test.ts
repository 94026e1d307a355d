import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../../test/support/full.js'
import { atOnce } from '../../platform/index.js'
import { Fuel } from '../fuel.js'
import { compileRegex } from '../regex/regex.js'
import { withLength } from './lengths.js'
import { literalSet } from './literals.js'
import * as sets from './sets.js'
import { DEAD, type TextAutomaton } from './types.js'
import { walk } from './walk.test-helper.js'
import { acceptsText } from './words.js'

const word = fc.array(fc.constantFrom('a', 'b', 'c', '😀', '"'), { maxLength: 5 }).map((letters) => letters.join(''))
const language = fc.oneof(
  fc
    .constantFrom('a', '^a', 'b$', '^[ab]*$', '^(a|😀)+$', '^.{2,3}$', '(?!)', '', '^(ab)*$', '^[^a]*$', 'c.*a')
    .map((source) => compileRegex(source)),
  fc.array(word, { maxLength: 4 }).map((words) => literalSet(words)),
  fc
    .tuple(fc.constantFrom('^a*$', 'b', '', '^(ab|c)*$'), fc.nat(3), fc.nat(3))
    .map(([source, min, more]) =>
      withLength(compileRegex(source), min, more === 3 ? Number.POSITIVE_INFINITY : min + more),
    ),
)
const words = fc.array(word, { minLength: 6, maxLength: 6 })

const difference = (a: TextAutomaton, b: TextAutomaton, fuel = new Fuel(1e9)) =>
  atOnce(sets.differenceInSlices(a, b, fuel))

describe('set operations', () => {
  it('follow boolean algebra', () => {
    fc.assert(
      fc.property(language, language, words, (a, b, samples) => {
        const both = sets.intersect(a, b)
        const either = sets.union(a, b)
        const only = difference(a, b)
        const none = sets.complement(a)
        for (const sample of samples) {
          const [inA, inB] = [acceptsText(a, sample), acceptsText(b, sample)]
          expect(acceptsText(both, sample)).toBe(inA && inB)
          expect(acceptsText(either, sample)).toBe(inA || inB)
          expect(acceptsText(only, sample)).toBe(inA && !inB)
          expect(acceptsText(none, sample)).toBe(!inA)
        }
        expect(difference(both, a).empty).toBe(true)
        expect(sets.intersect(a, none).empty).toBe(true)
        expect(difference(sets.ANY_TEXT, sets.union(a, none)).empty).toBe(true)
      }),
      { numRuns: runs(1500) },
    )
  })

  it('tell how far acceptance is, and what is free', () => {
    fc.assert(
      fc.property(language, fc.array(fc.nat(9), { maxLength: 6 }), (automaton, choices) => {
        if (automaton.empty) return
        let state = automaton.start
        for (const character of walk(automaton, choices)) {
          const distance = automaton.distance(state)
          expect(distance === 0).toBe(automaton.accepts(state))
          const codePoint = character.codePointAt(0)!
          const next = automaton.next(state, codePoint)
          expect(automaton.distance(next)).toBeGreaterThanOrEqual(distance - 1)
          expect(automaton.alive(state, codePoint, codePoint)).toBe(true)
          if (automaton.freedomAll(state) > 0) {
            for (const free of ['a', 'z', ' ', '~', '"', 'é', '😀', '\n']) {
              const after = automaton.next(state, free.codePointAt(0)!)
              expect(after).not.toBe(DEAD)
              expect(automaton.freedomAll(after)).toBeGreaterThanOrEqual(automaton.freedomAll(state) - 1)
            }
          }
          state = next
        }
      }),
      { numRuns: runs(800) },
    )
  })
})

describe('lengths', () => {
  it('cost nothing however high', () => {
    const many = withLength(sets.ANY_TEXT, 3, 1_000_000)
    expect(many.distance(many.start)).toBe(3)
    expect(many.freedomAll(many.start)).toBe(1_000_000)
    const pattern = withLength(compileRegex('^(ab)*$'), 5, 999_999)
    expect(pattern.distance(pattern.start)).toBe(6)
    expect(acceptsText(pattern, 'ab'.repeat(499_999))).toBe(true)
    expect(acceptsText(pattern, 'ab'.repeat(500_000))).toBe(false)
  })

  it('are no work where something is left out of them all', () => {
    const names = '^[a-z]+(?:-[a-z]+)*$'
    const spent = (most: number) => {
      const fuel = new Fuel()
      const rest = difference(withLength(compileRegex(names), 1, most), compileRegex('^(?:ab|cd-)+e?$'), fuel)
      for (const [text, allowed] of [
        ['abc', true],
        ['ababe', false],
        ['a'.repeat(most), true],
        ['a'.repeat(most + 1), false],
      ] as const) {
        expect(acceptsText(rest, text)).toBe(allowed)
      }
      return fuel.spent
    }
    expect(spent(100_000)).toBe(spent(20))
  })

  it('count code points', () => {
    expect(acceptsText(withLength(sets.ANY_TEXT, 1, 1), '😀')).toBe(true)
    expect(acceptsText(withLength(sets.ANY_TEXT, 2, 2), '😀')).toBe(false)
  })

  it('leave no state from which the pattern can no longer end in time', () => {
    const automaton = withLength(compileRegex('^a*bbb$'), 0, 5)
    let state = automaton.start
    state = automaton.next(automaton.next(state, 0x61), 0x61)
    expect(automaton.next(state, 0x61)).toBe(DEAD)
    expect(automaton.next(state, 0x62)).not.toBe(DEAD)
  })

  it('know an unsatisfiable length', () => {
    expect(withLength(compileRegex('^a{3}$'), 4, 9).empty).toBe(true)
    expect(withLength(compileRegex('^(ab)*$'), 3, 3).empty).toBe(true)
  })
})

describe('finite sets', () => {
  it('hold exactly their members', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'binary', maxLength: 6 }), { maxLength: 20 }),
        fc.string({ unit: 'binary', maxLength: 6 }),
        (members, other) => {
          const automaton = literalSet(members)
          for (const member of members) expect(acceptsText(automaton, member)).toBe(true)
          expect(acceptsText(automaton, other)).toBe(members.includes(other))
        },
      ),
    )
  })
})
