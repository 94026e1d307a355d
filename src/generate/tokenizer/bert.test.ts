import { describe, expect, test } from 'vitest'
import { atOnce } from '../../platform/turns.js'
import { wordPieces } from '../testing/word-pieces.test-helper.js'

import FIXTURE from './bert.fixture.json' with { type: 'json' }
import { atSpaces } from './bert-normalizer.js'
import { Tokenizer } from './tokenizer.js'

/** `bert.fixture.json` is what Hugging Face's own library made of these texts: `scripts/tokenizers/bert.py`. */
describe.each(FIXTURE)('WordPiece, $form', ({ form, cases, pair }) => {
  const tokenizer = new Tokenizer(wordPieces(form))
  const { before, after } = tokenizer.surround

  test('texts become the same tokens as in the library that models are made with', () => {
    for (const { text, ids } of cases)
      expect([text, ...before, ...tokenizer.encode(text), ...after]).toEqual([text, ...ids])
  })

  test('and two texts the same pair', () => {
    const { before, between, after, secondType } = tokenizer.surround.pair
    const [first, second] = pair.texts.map((text) => tokenizer.encodePlain(text))
    expect([...before, ...first!, ...between, ...second!, ...after]).toEqual(pair.ids)
    expect(secondType).toBe(pair.types.at(-1))
  })
})

describe('a long text', () => {
  const tokenizer = new Tokenizer(wordPieces())
  const text = FIXTURE[0]!.cases
    .map((one) => one.text)
    .join(' ')
    .replaceAll(/\[\w+\]/g, 'x')
    .repeat(20)

  test('in pieces it is the same text', () => {
    expect([...atSpaces(text)].join('')).toBe(text)
    expect([...atSpaces(text)].length).toBeGreaterThan(10)
  })

  test('is cut in turns, and no further than it may be long', () => {
    let turns = 0
    for (const work = new Tokenizer(wordPieces()).encodeInSlices(text, 0); !work.next().done; ) turns++
    expect(turns).toBeGreaterThan(text.length / 10_000)
    const some = atOnce(tokenizer.encodeInSlices(text, 0, 100))
    const all = tokenizer.encodePlain(text)
    expect(some.length).toBeGreaterThan(100)
    expect(some.length).toBeLessThan(all.length / 5)
    expect(some).toEqual(all.slice(0, some.length))
  })

  test('is the text of its tokens again, as far as the tokenizer keeps it', () => {
    expect(tokenizer.decode(tokenizer.encode('Hello, playing cats!'))).toBe('hello, playing cats!')
  })
})
