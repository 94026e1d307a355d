import { describe, expect, it } from 'vitest'
import { bordersOf, isStretch, mayBegin, mayEnd } from './borders.js'

/** The stretches of a text that begin with each of its characters, the shortest of each. */
function cut(text: string): string[] {
  const found: string[] = []
  for (let at = 0; at < text.length; at++) {
    if (!mayBegin(text, at)) continue
    let end = at + 1
    while (!mayEnd(text, end)) end++
    found.push(text.slice(at, end))
  }
  return found
}

describe('a text is cut', () => {
  it.each([
    ['between words', 'Ann, Anna', ['Ann', ',', 'Anna']],
    ['beside signs', 'C++ (new) "it\'s"', ['C', '+', '+', '(', 'new', ')', '"', 'it', "'", 's', '"']],
    ['never within numbers', '1,250.00 in 2020, 3.', ['1,250.00', 'in', '2020', '3']],
    ['between fields', 'Ann,34,b', ['Ann', ',', '34', 'b']],
    ['between hyphens and parts of dates', '2026-03-12', ['2026', '-', '03', '-', '12']],
    ['never before a mark', 'cafe\u0301 x\u0301y', ['cafe\u0301', 'x\u0301y']],
    ['between letters of scripts without blanks', '北京 ok手机', ['北', '京', 'ok', '手', '机']],
    ['in Thai, its marks aside', 'กี่ab', ['กี่', 'ab']],
    ['in Japanese', 'ひらカー', ['ひ', 'ら', 'カ', 'ー']],
    ['never before half a vowel of Thai and Lao', 'น้ำคำ ຄຳ', ['น้ำ', 'คำ', 'ຄຳ']],
    ['never before the voice of narrow katakana', 'ｶﾞﾊﾟ', ['ｶﾞ', 'ﾊﾟ']],
    ['between words of Korean', '서울은 좋다', ['서울은', '좋다']],
    ['between emoji and never within', '👩🏽‍🚀🇩🇪x❤\ufe0f.', ['👩🏽‍🚀', '🇩🇪', 'x', '❤\ufe0f', '.']],
    ['never within a Persian word', 'می\u200cخواهم ab', ['می\u200cخواهم', 'ab']],
    ['in Hebrew, marks of direction aside', '\u200fשלום\u200f.', ['\u200f', 'שלום', '\u200f', '.']],
    ['never at blanks', ' \ufeffa\u00a0b\n', ['a', 'b']],
    ['never within an Arabic word with its marks', 'كَتَبَ', ['كَتَبَ']],
  ])('%s', (_, text, stretches) => {
    expect(cut(text)).toEqual(stretches)
  })

  it('never within what readers take for one character', () => {
    const segments = new Intl.Segmenter('en', { granularity: 'grapheme' })
    const wrong: string[] = []
    for (let code = 0xa0; code < 0x20000; code++) {
      const char = String.fromCodePoint(code)
      if (!/[\p{M}\p{Lm}\p{Sk}\u200c\u200d]|\p{Script=Thai}|\p{Script=Lao}|\p{Script=Myanmar}/u.test(char)) continue
      for (const text of [`ก${char}`, `日${char}`]) {
        const parts = mayEnd(text, 1) || mayBegin(text, 1)
        if (parts && [...segments.segment(text)].length === 1) wrong.push(text)
      }
    }
    expect(wrong).toEqual([])
  })

  it('at the same places however it is asked', () => {
    const text = 'a1,2.b 👩🏽‍🚀é́ 手x,1 "\u200b'
    const characters = Array.from(text)
    const borders = bordersOf(Int32Array.from(characters, (char) => char.codePointAt(0)!))
    let at = 0
    characters.forEach((char, i) => {
      expect([i, borders[i]]).toEqual([i, (mayBegin(text, at) ? 1 : 0) | (mayEnd(text, at + char.length) ? 2 : 0)])
      at += char.length
    })
  })
})

describe('a stretch', () => {
  it('is found where it stands by itself, behind where it does not', () => {
    expect(isStretch('Anna and Ann', 'Ann')).toBe(true)
    expect(isStretch('Anna and Annie', 'Ann')).toBe(false)
    expect(isStretch('Anna', '')).toBe(false)
    expect(isStretch('1,250 250', '250')).toBe(true)
    expect(isStretch('1,250', '250')).toBe(false)
  })

  it('is looked for no longer than whoever asks wants', () => {
    const text = 'ab c'.repeat(100_000)
    const look = (left: number) => (characters: number) => {
      left -= characters
      if (left < 0) throw new Error('enough')
    }
    expect(() => isStretch(text, `c${'ab c'.repeat(20_000)}a`, look(10_000_000))).toThrow('enough')
    expect(isStretch(text, text, look(1_000_000))).toBe(true)
    // A long word is looked at once, wherever in it the text may stand.
    expect(isStretch('a'.repeat(100_000), 'a'.repeat(10_000), look(200_000))).toBe(false)
  })
})
