import { expect, it } from 'vitest'
import { atOnce } from '../../platform/turns.js'
import { randomness } from '../testing.test-helper.js'
import { MOST_TEXT, stretchesOf } from './stretches-of.js'
import { TextError } from './types.js'
import { acceptsText } from './words.js'

it('stretches are as many states as the texts have characters, or twice as many', () => {
  const random = randomness(5)
  for (const letters of ['ab ', 'a', 'a ', '中', '中文', 'abcdefgh 1.,']) {
    const text = Array.from({ length: 60_000 }, () => letters[Math.floor(random() * letters.length)]!).join('')
    const automaton = atOnce(stretchesOf([text, text])).whole
    expect(automaton.states).toBeLessThanOrEqual(2 * Array.from(text).length + 2)
    expect(automaton.moves.to.length).toBeLessThanOrEqual(3 * Array.from(text).length + 2)
  }
})

it('stretches are told of what is as long as may be, and of one letter', () => {
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
