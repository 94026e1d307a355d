import { describe, expect, it } from 'vitest'
import type { DecideQuestion } from '../../contract/engine.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'
import { LabelReadout } from './labels.js'
import { LABEL_TYPES } from './made-form.js'
import { temperatureGroup } from './readout.js'
import { type TypedQuestion, templateText, typedQuestionOf } from './typed-question.js'

const LETTERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']

/** Texts that are one token; all others are a token for each letter. */
function tokenizerOf(words: Iterable<string>): Tokenizer & { id(text: string): number } {
  const ids = new Map([...new Set(words)].map((word, i) => [word, 1000 + i]))
  const id = (text: string) => ids.get(text)!
  const encodeContinuation = (text: string) =>
    ids.has(text) ? [id(text)] : [...text].flatMap((letter) => [1, letter.charCodeAt(0)])
  return { encodeContinuation, id } as unknown as Tokenizer & { id(text: string): number }
}

const PAIRS = LETTERS.flatMap((one) => LETTERS.map((other) => one + other))
const SMALL = LETTERS.map((letter) => letter.toLowerCase())
const NUMBERS = Array.from({ length: 100 }, (_, i) => `${Math.floor(i / 10)}${i % 10}`)
const ANSWERS = ['yes', 'Yes', 'YES', 'no', 'No', 'NO']
const every = [...LETTERS, ...SMALL, ...PAIRS, ...NUMBERS, ...ANSWERS, ...Array.from('0123456789')]
const whole = tokenizerOf([...every, ...every.map((word) => ` ${word}`)])

const question = (type: DecideQuestion['type'], ...texts: string[]): DecideQuestion => ({
  ...{ type, instructions: 'Which?' },
  options: texts.map((text) => ({ text })),
})
const typed = (of: DecideQuestion) => typedQuestionOf(of, [...of.options.keys()], 'A state.')
const choice = (...texts: string[]) => typed(question('choice', ...texts))
const PREDICATE = typed(question('predicate', 'Yes', 'No'))
const texts = (count: number) => Array.from({ length: count }, (_, i) => `option ${i}`)

/** How likely the model finds these tokens, and what comes of it. */
function answered(
  readout: LabelReadout,
  of: TypedQuestion,
  likely: (token: number) => number,
  temperature = 1,
): { readonly tokens: readonly number[]; readonly shares: readonly number[]; readonly mass?: number } {
  const reads = readout.reads(readout.worded(of), [1, 2, 3])
  const { trie } = reads.of as Extract<typeof reads.of, { trie: unknown }>
  expect(reads.of.stem).toEqual([1, 2, 3])
  // Behind the question, and nowhere else.
  expect(trie.walks()).toEqual([])
  const tokens = trie.candidates()
  trie.take(tokens.map((token) => Math.log(likely(token))))
  return { tokens, ...reads.sharesAt(temperature) }
}

const close = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 12))

describe('labels', () => {
  it.each(LABEL_TYPES)('are each one token, and what is told of them are shares: %s', (type) => {
    const readout = new LabelReadout(whole, type)
    for (const count of [2, 5, 26, Math.min(readout.most, 40)]) {
      const { tokens, shares, mass } = answered(readout, choice(...texts(count)), (token) => (token % 7) / 10_000)
      expect(new Set(tokens).size).toBe(tokens.length)
      expect(shares).toHaveLength(count)
      expect(shares.reduce((sum, share) => sum + share)).toBeCloseTo(1, 9)
      expect(mass).toBeCloseTo(
        tokens.reduce((sum, token) => sum + (token % 7) / 10_000, 0),
        9,
      )
    }
  })

  it.each([
    ['openjev', 52],
    ['lev', 255],
    ['nimble', 255],
    ['pplx-decider', 255],
    ['lfm2-d1', 132],
  ] as const)('of %s tell so many options apart: %i', (type, most) => {
    expect(new LabelReadout(whole, type).most).toBe(most)
  })

  it('of two letters are there only where they are one token', () => {
    const readout = new LabelReadout(tokenizerOf([...LETTERS.slice(0, 20), 'AB', 'ZZ']), 'nimble')
    expect(readout.most).toBe(22)
    const { options } = readout.worded(choice(...texts(22)))
    expect(options.map(({ label }) => label)).toEqual([...LETTERS.slice(0, 20), 'AB', 'ZZ'])
  })

  it.each(['nimble', 'pplx-decider', 'lev', 'lfm2-d1'] as const)('are told to the template: %s', (type) => {
    const { options } = new LabelReadout(whole, type).worded(choice('red', 'blue', 'x'))
    expect(options).toEqual([
      { key: 'red', label: 'A' },
      { key: 'blue', label: 'B' },
      { key: 'x', label: 'C' },
    ])
  })

  it('are known to the template of OpenJev, which is told of none', () => {
    const { options } = new LabelReadout(whole, 'openjev').worded(choice('red', 'blue'))
    expect(options).toEqual([{ key: 'red' }, { key: 'blue' }])
    const { tokens } = answered(new LabelReadout(whole, 'openjev'), choice(...texts(28)), () => 0.01)
    expect(tokens).toEqual([...LETTERS, 'a', 'b'].map((letter) => whole.id(letter)))
  })

  it('that a tokenizer has not are named', () => {
    const lacking = tokenizerOf([...LETTERS, ...SMALL].filter((letter) => letter !== 'q'))
    expect(() => new LabelReadout(lacking, 'openjev')).toThrow('no token for "q"')
    const without = new LabelReadout(tokenizerOf(['A', 'B', 'no']), 'lfm2-d1')
    expect(() => without.reads(without.worded(PREDICATE), [1])).toThrow('no token for "yes" or "Yes" or "YES"')
    expect(() => without.worded(choice('a', 'b', 'c'))).toThrow('no token for each of 3 options')
    try {
      new LabelReadout(lacking, 'openjev')
    } catch (error) {
      expect(error).toMatchObject({ status: 500, code: 'model_files', headers: { 'x-should-retry': 'false' } })
    }
  })
})

describe('a predicate', () => {
  const likely = (tokens: Record<string, number>) => (token: number) => {
    const [found] = Object.entries(tokens).filter(([word]) => whole.id(word) === token)
    return found?.[1] ?? 0.001
  }

  it.each(['openjev', 'lfm2-d1'] as const)('is asked with what is so first: %s', (type) => {
    const { options } = new LabelReadout(whole, type).worded(PREDICATE)
    expect(options.map(({ key }) => key)).toEqual(['true', 'false'])
  })

  it.each(['nimble', 'pplx-decider', 'lev'] as const)('is asked with what is not so first: %s', (type) => {
    const { options } = new LabelReadout(whole, type).worded(PREDICATE)
    expect(options.map(({ key, label }) => [key, label])).toEqual([
      ['false', 'A'],
      ['true', 'B'],
    ])
  })

  it('tells first how likely it is so, whichever came first', () => {
    const { shares: first } = answered(new LabelReadout(whole, 'openjev'), PREDICATE, likely({ A: 0.6, B: 0.2 }))
    expect(first).toEqual(close([0.75, 0.25]))
    const { shares: second } = answered(new LabelReadout(whole, 'nimble'), PREDICATE, likely({ A: 0.6, B: 0.2 }))
    expect(second).toEqual(close([0.25, 0.75]))
  })

  it('of Lev is a scale of nine, of which the mean is told', () => {
    const readout = new LabelReadout(whole, 'lev')
    const { tokens, shares } = answered(readout, PREDICATE, likely({ A: 0.25, I: 0.5, E: 0.25 }))
    expect(tokens).toEqual(LETTERS.slice(0, 9).map((letter) => whole.id(letter)))
    const few = 6 * 0.001
    // Certainly not, certainly so, and in the middle; the others are nearly nothing.
    const so = (0.5 + 0.25 / 2 + (0.001 * (1 + 2 + 3 + 5 + 6 + 7)) / 8) / (1 + few)
    expect(shares).toEqual(close([so, 1 - so]))
  })

  it('of LFM2 is told by any word that says it, of which the likeliest counts', () => {
    const readout = new LabelReadout(whole, 'lfm2-d1')
    const { tokens, shares } = answered(readout, PREDICATE, likely({ Yes: 0.3, YES: 0.2, no: 0.1 }))
    expect(tokens).toEqual(['yes', 'Yes', 'YES', 'no', 'No', 'NO'].map((word) => whole.id(word)))
    expect(shares).toEqual(close([0.75, 0.25]))
  })
})

describe('labels of LFM2', () => {
  const readout = new LabelReadout(whole, 'lfm2-d1')
  const labels = (...keys: string[]) => readout.worded(choice(...keys)).options.map(({ label }) => label)

  it('are the options themselves, where all of them are letters', () => {
    expect(labels('c', 'Q', 'a')).toEqual(['c', 'Q', 'a'])
    expect(labels('c', 'Q', 'ab')).toEqual(['A', 'B', 'C'])
    expect(labels('c', '1')).toEqual(['A', 'B'])
  })

  it('are numbers where there are more options than letters', () => {
    expect(labels(...texts(26)).at(-1)).toBe('Z')
    expect(labels(...texts(27)).slice(0, 11)).toEqual(NUMBERS.slice(0, 11))
  })

  it('are others that are free, where one is no token or taken already', () => {
    // Small letters are read as the capitals are.
    const alike = {
      encodeContinuation: (text: string) => whole.encodeContinuation(text.toUpperCase()),
    } as unknown as Tokenizer
    const given = new LabelReadout(alike, 'lfm2-d1').worded(choice('b', 'B', 'c')).options
    expect(given.map(({ label }) => label)).toEqual(['b', 'A', 'c'])
    const few = new LabelReadout(tokenizerOf(['A', 'C', '07', '#5']), 'lfm2-d1')
    expect(few.worded(choice(...texts(4))).options.map(({ label }) => label)).toEqual(['A', 'C', '07', '#5'])
    expect(few.most).toBe(4)
  })

  it('count with a blank before them, too', () => {
    const likely = (token: number) => ({ [whole.id(' A')]: 0.4, [whole.id('B')]: 0.1 })[token] ?? 0.05
    const { tokens, shares, mass } = answered(readout, choice('red', 'blue'), likely)
    expect(tokens).toEqual(['A', ' A', 'B', ' B'].map((word) => whole.id(word)))
    expect(shares).toEqual(close([0.8, 0.2]))
    expect(mass).toBeCloseTo(0.6, 12)
    // A tokenizer may have none, or read a blank as nothing.
    const none = answered(new LabelReadout(tokenizerOf(LETTERS), 'lfm2-d1'), choice('red', 'blue'), () => 0.1)
    expect(none.tokens).toHaveLength(2)
    const blind = { encodeContinuation: (text: string) => whole.encodeContinuation(text.trim()) }
    const same = answered(new LabelReadout(blind as unknown as Tokenizer, 'lfm2-d1'), choice('red', 'blue'), () => 0.1)
    expect(same.tokens).toHaveLength(2)
    // No token counts twice.
    expect(same.mass).toBeCloseTo(0.2, 12)
  })

  it('of levels are their numbers', () => {
    const score = typed(question('score', 'low', 'middle', 'high'))
    expect(readout.worded(score).options.map(({ label }) => label)).toEqual(['0', '1', '2'])
    const { shares } = answered(readout, score, (token) => (token === whole.id('1') ? 0.6 : 0.2))
    expect(shares).toEqual(close([0.2, 0.6, 0.2]))
  })
})

describe('how a question is put', () => {
  it('is both ways to Lev where it is a choice, and as it is given to others', () => {
    for (const type of LABEL_TYPES) {
      const readout = new LabelReadout(whole, type)
      const orders = readout.ordersOf(question('choice', 'a', 'b', 'c'))
      const both = [
        [0, 1, 2],
        [2, 1, 0],
      ]
      expect([type, orders]).toEqual([type, type === 'lev' ? both : [[0, 1, 2]]])
      expect(readout.ordersOf(question('choice', 'a'))).toEqual([[0]])
      expect(readout.ordersOf(question('predicate', 'Yes', 'No'))).toEqual([[0, 1]])
      expect(readout.ordersOf(question('score', 'a', 'b'))).toEqual([[0, 1]])
    }
  })

  it('has a temperature by the number of its options', () => {
    const groups = (of: (options: number) => string, counts: number[]) => counts.map(of)
    const lev = new LabelReadout(whole, 'lev')
    expect(groups((count) => lev.group(count), [2, 8, 9, 26, 27])).toEqual(['small', 'small', 'mid', 'mid', 'large'])
    for (const type of LABEL_TYPES.filter((each) => each !== 'lev')) {
      const readout = new LabelReadout(whole, type)
      const counts = [1, 2, 3, 5, 6, 10, 11, 99]
      expect(groups((count) => readout.group(count), counts)).toEqual(counts.map(temperatureGroup))
    }
    expect([1, 2, 3, 5, 6, 10, 11, 99].map(temperatureGroup)).toEqual([
      '2',
      '2',
      '3_5',
      '3_5',
      '6_10',
      '6_10',
      '11',
      '11',
    ])
  })

  it('is answered by it: above one less surely, below one more so', () => {
    const readout = new LabelReadout(whole, 'nimble')
    const likely = (token: number) => (token === whole.id('A') ? 0.64 : 0.16)
    expect(answered(readout, choice('a', 'b'), likely, 2).shares).toEqual(close([2 / 3, 1 / 3]))
    expect(answered(readout, choice('a', 'b'), likely, 0.5).shares).toEqual(close([16 / 17, 1 / 17]))
  })
})

it('a template for decisions that cannot be read is named', () => {
  const read = () => templateText('{% if', () => expect.fail('no text is guarded'))
  expect(read).toThrow(expect.objectContaining({ status: 500, code: 'model_files' }))
})
