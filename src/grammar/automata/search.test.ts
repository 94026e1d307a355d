import { describe, expect, it } from 'vitest'
import { textsOf } from '../rules/rules.test-helper.js'
import { textsUpTo, textsWithout } from './search.js'
import { acceptsText } from './words.js'

const SETS = [['ab'], ['aa'], ['a', 'ab'], ['aab', 'ab', 'b'], ['aba', 'bb'], ['é🙂', '🙂a'], ['abab', 'ba']]

describe('texts by the words that occur in them', () => {
  for (const words of SETS) {
    it(words.join(), () => {
      const letters = [...new Set(['a', 'b', ...words.join('')])]
      const none = textsWithout(words)
      const each = textsUpTo(words)
      for (const text of textsOf(letters, letters.length > 2 ? 5 : 8)) {
        expect(acceptsText(none, text), text).toBe(!words.some((word) => text.includes(word)))
        const shorter = Array.from(text).slice(0, -1).join('')
        const first = !words.some((word) => shorter.includes(word))
        words.forEach((word, i) => {
          expect(acceptsText(each[i]!, text), `${text} to ${word}`).toBe(first && text.endsWith(word))
        })
      }
    })
  }

  it('any text, where there are no words', () => {
    expect(acceptsText(textsWithout([]), 'a\n"\\')).toBe(true)
  })
})
