import { describe, expect, it, vi } from 'vitest'
import { runs } from '../../../test/support/full.js'
import { isStretch } from '../../platform/borders.js'
import { atOnce } from '../../platform/turns.js'
import { Fuel } from '../fuel.js'
import { compileRegex } from '../regex/regex.js'
import { randomness } from '../testing.test-helper.js'
import { encoded, IN_JSON } from '../values/text-length.js'
import { withLength } from './lengths.js'
import { complement, intersect } from './sets.js'
import { SparseAutomaton } from './sparse.js'
import { isSparse, type Sparse, whole, wholeInSlices } from './stretches.js'
import { stretchesOf } from './stretches-of.js'
import { DEAD, type TextAutomaton } from './types.js'
import { shortestText } from './walk.test-helper.js'
import { acceptsText } from './words.js'

/** Few letters each, so that texts repeat themselves: letters, marks, blanks, signs, and what goes together. */
const ALPHABETS = [
  ...['ab ', 'aab  ', 'a1., ', '1,', "12.,' a", 'a"\\\n', 'é\u0301a ', '中a ', '中文', 'กีa ', 'ひカー '],
  ...['a\u200d👩🏽 ', '🇩🇪a', 'a\u200b\u200c ', 'שa\u200f ', '𝒳𝒴 ', 'a\ud83d ', '\u00ada '],
  // Where no text goes on: what may begin and never ends, and what ends and has not begun.
  ...['a.\u200d\ud83d ', 'a\ud83d\u0301 '],
].map((letters) => letters.split(/(?<![\ud800-\udbff])|(?![\udc00-\udfff])/))

function textFrom(letters: readonly string[], most: number, random: () => number): string {
  const length = Math.floor(random() * (most + 1))
  return Array.from({ length }, () => letters[Math.floor(random() * letters.length)]!).join('')
}

const isWritten = (text: string) => !/\p{Surrogate}/u.test(text)

/** Every part of the texts, wherever it is cut, and some that may be none. */
function candidates(texts: readonly string[], letters: readonly string[], random: () => number): Set<string> {
  const found = new Set([''])
  for (const text of texts) {
    const all = Array.from(text)
    for (let i = 0; i < all.length; i++) for (let j = i + 1; j <= all.length; j++) found.add(all.slice(i, j).join(''))
  }
  for (let i = 0; i < 30; i++) found.add(textFrom(letters, 6, random))
  return found
}

/** All texts of an automaton without an end of them; each of its states must lead to one. */
function all(automaton: TextAutomaton): string[] {
  const found: string[] = []
  const visit = (state: number, text: string) => {
    if (automaton.accepts(state)) found.push(text)
    let leads = automaton.accepts(state)
    automaton.each!(state, (codePoint, next) => {
      leads = automaton.next(state, codePoint) === next && automaton.alive(state, codePoint, codePoint)
      visit(next, text + String.fromCodePoint(codePoint))
    })
    if (!leads) throw new Error(`nothing leads on from ${text}`)
  }
  if (!automaton.empty) visit(automaton.start, '')
  return found
}

/** As they are walked, and as other languages meet them; who has the whole walks no further. */
function formsOf(...texts: readonly string[]): readonly Sparse[] {
  return [atOnce(stretchesOf(texts)), atOnce(stretchesOf(texts)).whole]
}

/** All states that texts lead to. */
function statesOf(automaton: Sparse): Set<number> {
  const found = new Set(automaton.empty ? [] : [automaton.start])
  for (const state of found) automaton.each(state, (_, next) => found.add(next))
  return found
}

describe('the stretches of texts', () => {
  // A few first: they find most mistakes, and soon.
  it.each([4, runs(3000)])('are all that stand there, cut between words, and nothing else: %d times', (rounds) => {
    const random = randomness(31)
    for (let round = 0; round < rounds; round++) {
      const letters = ALPHABETS[round % ALPHABETS.length]!
      const texts = Array.from({ length: 1 + Math.floor(random() * 3) }, () => textFrom(letters, 11, random))
      const wanted = (text: string) => isWritten(text) && texts.some((one) => isStretch(one, text))
      for (const form of formsOf(...texts)) {
        const wrong = [...candidates(texts, letters, random)].filter((one) => acceptsText(form, one) !== wanted(one))
        const found = all(form)
        const more = found.filter((one) => !wanted(one))
        expect([texts, wrong, more]).toEqual([texts, [], []])
        expect([texts, form.longest]).toEqual([texts, Math.max(0, ...found.map((one) => Array.from(one).length))])
      }
    }
  })

  it.each([
    [30, 3],
    [600, 130],
  ])('are the same however far the text is walked: of %d letters, %d ways', (length, ways) => {
    const random = randomness(6)
    for (const letters of ['中文字', 'ab ']) {
      const text = Array.from({ length }, () => letters[Math.floor(random() * 3)]!).join('')
      // Said twice, every way goes to two places for long.
      const walked = atOnce(stretchesOf([text, text]))
      const { whole } = atOnce(stretchesOf([text, text]))
      const next = (automaton: Sparse, state: number) => {
        const found: [number, number][] = []
        automaton.each(state, (codePoint, to) => found.push([codePoint, to]))
        return found
      }
      const about = (automaton: Sparse, state: number) => [
        ...[automaton.accepts(state), automaton.distance(state), IN_JSON.length(automaton, state)],
        next(automaton, state).map(([codePoint]) => [codePoint, automaton.alive(state, codePoint, codePoint)]),
        Array.from(letters, (letter) => automaton.next(state, letter.codePointAt(0)!) !== DEAD),
      ]
      for (let way = 0; way < ways; way++) {
        let [one, other] = [walked.start, whole.start]
        const [found, wanted]: unknown[][] = [[], []]
        for (let i = 0; i < 400; i++) {
          found!.push(about(walked, one))
          wanted!.push(about(whole, other))
          const on = next(walked, one)
          if (on.length === 0) break
          const place = Math.floor(random() * on.length)
          one = on[place]![1]
          other = next(whole, other)[place]![1]
        }
        expect(found).toEqual(wanted)
      }
    }
  })

  it('know whether any of a range of characters leads on', () => {
    const random = randomness(10)
    for (let round = 0; round < 40; round++) {
      const letters = ALPHABETS[round % ALPHABETS.length]!
      const text = textFrom(letters, 30, random)
      // Said twice, most of its places are met in pairs.
      for (const automaton of [...formsOf(text), ...formsOf(text, text)]) {
        const states = statesOf(automaton)
        expect(automaton.states).toBeGreaterThan(Math.max(0, ...states))
        for (const state of [DEAD, ...states]) {
          const on: number[] = []
          automaton.each(state, (codePoint) => on.push(codePoint))
          for (let i = 0; i < 4; i++) {
            const low = letters[Math.floor(random() * letters.length)]!.codePointAt(0)! - Math.floor(random() * 2)
            const high = low + [0, 1, 60, 0x10000][Math.floor(random() * 4)]!
            const may = on.some((codePoint) => codePoint >= low && codePoint <= high)
            expect([text, low, high, automaton.alive(state, low, high)]).toEqual([text, low, high, may])
          }
          expect(automaton.next(state, 0x2603)).toBe(DEAD)
        }
        expect([automaton.accepts(DEAD), automaton.next(DEAD, 0x61)]).toEqual([false, DEAD])
      }
    }
  })

  it('are whole as any language is that is so already', () => {
    const [stretches, other] = [atOnce(stretchesOf(['a b'])), compileRegex('a')]
    expect([isSparse(stretches), isSparse(stretches.whole), isSparse(other)]).toEqual([true, true, false])
    const all = [stretches, stretches.whole, other]
    expect(all.map((one) => whole(one))).toEqual([stretches.whole, stretches.whole, other])
    all.forEach((one, i) => {
      expect(atOnce(wholeInSlices(one))).toBe([stretches.whole, stretches.whole, other][i])
    })
    expect(atOnce(wholeInSlices(atOnce(stretchesOf(['a b']))))).toBeInstanceOf(SparseAutomaton)
  })

  it('are told where they say the same over and over, in all or in half of a text', () => {
    const random = randomness(3)
    const other = Array.from({ length: 3000 }, () => Math.floor(random() * 1e6).toString(36)).join(' ')
    const same = ['中'.repeat(2000), 'ab '.repeat(1000), `${other} ${'one and the same '.repeat(1000)}`]
    // Said but twice, how long it may ever be.
    const long = Array.from({ length: 256 }, () =>
      Math.floor(random() * 1e15)
        .toString(36)
        .repeat(9),
    ).join(' ')
    const twice = [other, long].map((text) => `${text} ${text}`)
    const once = ['', 'a', 'a b', other, ...twice, `${'中文字'.repeat(2)} ${other}`]
    expect([same, once].map((all) => all.map((text) => atOnce(stretchesOf([text])).repeatsItself()))).toEqual([
      same.map(() => true),
      once.map(() => false),
    ])
  })

  it('are walked as the text itself where nothing else begins so', () => {
    // The start, and a state for each character: where they begin is no matter.
    expect(statesOf(atOnce(stretchesOf(['abc def']))).size).toBe(1 + 'abc def'.length)
  })

  it('are made into one automaton only where a long text is gone through again and again', () => {
    const random = randomness(5)
    const word = () => Math.floor(random() * 1e6).toString(36)
    const other = Array.from({ length: 1000 }, word).join(' ')
    const long = Array.from({ length: 300 }, () => word().repeat(4)).join(' ')
    const made = [other, `${long} ${long}`].map((text) => {
      const stretches = atOnce(stretchesOf([text]))
      const making = vi.spyOn(stretches, 'wholeInSlices')
      statesOf(stretches)
      return making.mock.calls.length > 0
    })
    expect(made).toEqual([false, true])
  })

  it('know the shortest way to an end', () => {
    const random = randomness(8)
    for (let round = 0; round < runs(300); round++) {
      const letters = ALPHABETS[round % ALPHABETS.length]!
      for (const automaton of formsOf(textFrom(letters, 30, random))) {
        for (const state of statesOf(automaton)) {
          const rest = Array.from(shortestText(automaton, state)!)
          expect(automaton.distance(state)).toBe(rest.length)
          expect(automaton.farthest).toBeGreaterThanOrEqual(rest.length)
          let at = state
          for (const letter of rest) at = automaton.next(at, letter.codePointAt(0)!)
          expect(automaton.accepts(at)).toBe(true)
        }
        expect(automaton.farthest).toBeLessThanOrEqual(automaton.longest)
        expect(automaton.distance(DEAD)).toBe(Infinity)
      }
    }
  })

  it('know how many bytes the shortest way takes', () => {
    const random = randomness(9)
    for (let round = 0; round < runs(300); round++) {
      const letters = ALPHABETS[round % ALPHABETS.length]!
      const text = textFrom(letters, 30, random)
      for (const automaton of formsOf(text)) {
        // Asked at the start, and then from the farthest back: what is known grows with what is walked.
        expect(IN_JSON.length(automaton, DEAD)).toBe(Infinity)
        const states = [...statesOf(automaton)].reverse()
        for (const state of states) {
          const nextOnes: number[] = []
          automaton.each(state, (codePoint, next) => {
            nextOnes.push(encoded(codePoint).length + IN_JSON.length(automaton, next))
          })
          const least = automaton.accepts(state) ? 0 : Math.min(...nextOnes)
          expect(IN_JSON.length(automaton, state)).toBe(least)
          expect(IN_JSON.spell(automaton, state).length).toBe(least)
        }
        const lengths = states.map((state) => IN_JSON.length(automaton, state))
        expect(IN_JSON.longest(automaton)).toBeGreaterThanOrEqual(Math.max(0, ...lengths))
        const all = Array.from(text).reduce((sum, letter) => sum + encoded(letter.codePointAt(0)!).length, 0)
        expect(IN_JSON.longest(automaton)).toBeLessThanOrEqual(all)
      }
    }
  })
})

describe('what else is asked of a stretch', () => {
  const random = randomness(77)
  const patterns = ['^a', 'b$', '^[a-b ]{2,5}$', '\\d', '^\\w+$', '^(?!a)', '.a.', '^$', '"', '中']

  it('leaves those of which it is true, and with its contrary the others', () => {
    for (let round = 0; round < runs(1500); round++) {
      const letters = ALPHABETS[round % ALPHABETS.length]!
      const text = textFrom(letters, 14, random)
      const automaton = atOnce(stretchesOf([text]))
      const source = patterns[Math.floor(random() * patterns.length)]!
      const other = compileRegex(source)
      const regex = new RegExp(source, 'u')
      const both = intersect(automaton, other, new Fuel())
      const apart = intersect(complement(other), automaton, new Fuel())
      expect([both, apart].every((one) => one.empty || one instanceof SparseAutomaton)).toBe(true)
      const stretches = all(automaton)
      expect([source, text, all(both).sort()]).toEqual([
        source,
        text,
        stretches.filter((one) => regex.test(one)).sort(),
      ])
      expect([source, text, all(apart).sort()]).toEqual([
        source,
        text,
        stretches.filter((one) => !regex.test(one)).sort(),
      ])
    }
  })

  it('may be how long it is', () => {
    for (let round = 0; round < runs(1500); round++) {
      const letters = ALPHABETS[round % ALPHABETS.length]!
      const text = textFrom(letters, 20, random)
      const automaton = atOnce(stretchesOf([text]))
      const min = Math.floor(random() * 6)
      const max = random() < 0.3 ? Infinity : min + Math.floor(random() * 6)
      const cut = withLength(automaton, min, max)
      const lengthOf = (one: string) => Array.from(one).length
      const wanted = all(automaton).filter((one) => lengthOf(one) >= min && lengthOf(one) <= max)
      expect([text, min, max, all(cut).sort()]).toEqual([text, min, max, wanted.sort()])
    }
  })
})
