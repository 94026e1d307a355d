import { describe, expect, it } from 'vitest'
import { isStretch } from '../../platform/borders.js'
import { atOnce } from '../../platform/slices.js'
import { Fuel } from '../fuel.js'
import { compileRegex } from '../regex/regex.js'
import { randomness } from '../testing.test-helper.js'
import { encoded, IN_JSON } from '../values/text-length.js'
import { withLength } from './lengths.js'
import { complement, intersect } from './sets.js'
import { SparseAutomaton } from './sparse.js'
import type { Sparse, Stretches } from './stretches.js'
import { MOST_TEXT, stretchesOf } from './stretches-of.js'
import { DEAD, type TextAutomaton, TextError } from './types.js'
import { shortestText } from './walk.test-helper.js'
import { acceptsText } from './words.js'

/** Few letters each, so that texts repeat themselves: letters, marks, blanks, signs, and what goes together. */
const ALPHABETS = [
  ...['ab ', 'aab  ', 'a1., ', '1,', "12.,' a", 'a"\\\n', 'é\u0301a ', '中a ', '中文', 'กีa ', 'ひカー '],
  ...['a\u200d👩🏽 ', '🇩🇪a', 'a\u200b\u200c ', 'שa\u200f ', '𝒳𝒴 ', 'a\ud83d ', '\u00ada '],
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

/** As they are walked, and as other languages meet them. */
const formsOf = (stretches: Stretches): readonly Sparse[] => [stretches, stretches.whole]

/** All states that texts lead to. */
function statesOf(automaton: Sparse): Set<number> {
  const found = new Set(automaton.empty ? [] : [automaton.start])
  for (const state of found) automaton.each(state, (_, next) => found.add(next))
  return found
}

describe('the stretches of texts', () => {
  it('are all that stand there, cut between words, and nothing else', () => {
    const random = randomness(31)
    for (let round = 0; round < 3000; round++) {
      const letters = ALPHABETS[round % ALPHABETS.length]!
      const texts = Array.from({ length: 1 + Math.floor(random() * 3) }, () => textFrom(letters, 11, random))
      const automaton = atOnce(stretchesOf(texts))
      const wanted = (text: string) => isWritten(text) && texts.some((one) => isStretch(one, text))
      for (const form of formsOf(automaton)) {
        const wrong = [...candidates(texts, letters, random)].filter((one) => acceptsText(form, one) !== wanted(one))
        const found = all(form)
        const more = found.filter((one) => !wanted(one))
        expect([texts, wrong, more]).toEqual([texts, [], []])
        expect([texts, form.longest]).toEqual([texts, Math.max(0, ...found.map((one) => Array.from(one).length))])
      }
    }
  })

  it('are the same however far the text is walked', () => {
    const random = randomness(6)
    for (const letters of ['中文字', 'ab ']) {
      const text = Array.from({ length: 600 }, () => letters[Math.floor(random() * 3)]!).join('')
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
      ]
      for (let way = 0; way < 130; way++) {
        let [one, other] = [walked.start, whole.start]
        const [found, wanted]: unknown[][] = [[], []]
        for (let i = 0; i < 400; i++) {
          found!.push(about(walked, one))
          wanted!.push(about(whole, other))
          const ways = next(walked, one)
          if (ways.length === 0) break
          const place = Math.floor(random() * ways.length)
          one = ways[place]![1]
          other = next(whole, other)[place]![1]
        }
        expect(found).toEqual(wanted)
      }
    }
  })

  it('are as many states as the texts have characters, or twice as many', () => {
    const random = randomness(5)
    for (const letters of ['ab ', 'a', 'a ', '中', '中文', 'abcdefgh 1.,']) {
      const text = textFrom([...letters], 60_000, random)
      const automaton = atOnce(stretchesOf([text, text])).whole
      expect(automaton.states).toBeLessThanOrEqual(2 * Array.from(text).length + 2)
      expect(automaton.moves.to.length).toBeLessThanOrEqual(3 * Array.from(text).length + 2)
    }
  })

  it('are told of what is as long as may be, and of one letter', () => {
    for (const letter of ['a', '中', 'a ', '中a', '𝒳']) {
      const text = letter.repeat(MOST_TEXT / letter.length)
      const automaton = atOnce(stretchesOf([text]))
      expect(acceptsText(automaton, text.trim())).toBe(true)
      expect(acceptsText(automaton, letter.trim())).toBe(letter !== 'a' && letter !== '𝒳')
    }
    expect(() => atOnce(stretchesOf(['a'.repeat(MOST_TEXT), 'a']))).toThrow(TextError)
    const every = Array.from({ length: 100_000 }, (_, i) => String.fromCodePoint(0x10000 + i)).join('')
    expect(() => atOnce(stretchesOf([every]))).toThrow('different characters')
  })

  it('know the shortest way to an end', () => {
    const random = randomness(8)
    for (let round = 0; round < 300; round++) {
      const letters = ALPHABETS[round % ALPHABETS.length]!
      for (const automaton of formsOf(atOnce(stretchesOf([textFrom(letters, 30, random)])))) {
        for (const state of statesOf(automaton)) {
          const rest = Array.from(shortestText(automaton, state)!)
          expect(automaton.distance(state)).toBe(rest.length)
          expect(automaton.farthest).toBeGreaterThanOrEqual(rest.length)
          let at = state
          for (const letter of rest) at = automaton.next(at, letter.codePointAt(0)!)
          expect(automaton.accepts(at)).toBe(true)
        }
        expect(automaton.distance(DEAD)).toBe(Infinity)
      }
    }
  })

  it('know how many bytes the shortest way takes', () => {
    const random = randomness(9)
    for (let round = 0; round < 300; round++) {
      const letters = ALPHABETS[round % ALPHABETS.length]!
      for (const automaton of formsOf(atOnce(stretchesOf([textFrom(letters, 30, random)])))) {
        const states = [...statesOf(automaton)]
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
      }
    }
  })
})

describe('what else is asked of a stretch', () => {
  const random = randomness(77)
  const patterns = ['^a', 'b$', '^[a-b ]{2,5}$', '\\d', '^\\w+$', '^(?!a)', '.a.', '^$', '"', '中']

  it('leaves those of which it is true, and with its contrary the others', () => {
    for (let round = 0; round < 1500; round++) {
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
    for (let round = 0; round < 1500; round++) {
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
