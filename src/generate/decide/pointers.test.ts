import { describe, expect, it } from 'vitest'
import type { DecideQuestion } from '../../contract/engine.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'
import { PointerReadout } from './pointers.js'
import { Rows } from './rows.js'
import { type TypedQuestion, typedQuestionOf } from './typed-question.js'

const END = 7
const tokenizer = { idOf: (text: string) => (text === '<|box_end|>' ? END : undefined) } as unknown as Tokenizer
const readout = new PointerReadout(tokenizer)

const typed = (type: DecideQuestion['type'], options: number, part: Partial<TypedQuestion> = {}): TypedQuestion => {
  const texts = Array.from({ length: options }, (_, i) => ({ text: `${i}` }))
  return {
    ...typedQuestionOf({ type, instructions: 'Which?', options: texts }, [...texts.keys()], 'A state.'),
    ...part,
  }
}

/** Queries first, then keys. */
const row = (query: readonly number[], key: readonly number[]) => Float32Array.from([...query, ...key])
const NOTHING = [0, 0, 0, 0]

/** What is told of a question whose last token asks this, of options with such keys. */
function sharesOf(of: TypedQuestion, query: readonly number[], keys: readonly (readonly number[])[], temperature = 1) {
  const stem = [1, ...keys.flatMap(() => [2, 3, END]), 4]
  const reads = readout.reads(of, stem)
  const { rows } = reads.of as Extract<typeof reads.of, { rows: unknown }>
  expect([rows.first, rows.last, reads.of.stem]).toEqual([3, stem.length - 1, stem])
  let option = 0
  // A model tells of all places, one after the other.
  for (let place = rows.first; place <= rows.last; place++) {
    const isEnd = stem[place] === END
    const key = isEnd ? keys[option++]! : [9, 9, 9, 9]
    rows.take(place, row(place === rows.last ? query : [8, 8, 8, 8], key))
  }
  return reads.sharesAt(temperature).shares
}

const softmax = (scores: readonly number[]) => {
  const weights = scores.map(Math.exp)
  const sum = weights.reduce((total, one) => total + one)
  return weights.map((one) => expect.closeTo(one / sum, 6))
}

describe('a model that points', () => {
  it('is as sure of an option as its key agrees with what the last token asks', () => {
    const keys = [
      [1, 2, 0, 0],
      [0, 0, 3, 1],
      [-1, 0, 0, 0],
    ]
    // softmax(q k / sqrt(d)), of four numbers each.
    expect(sharesOf(typed('choice', 3), [2, 1, 1, 0], keys)).toEqual(softmax([4 / 2, 3 / 2, -2 / 2]))
    expect(sharesOf(typed('choice', 3), [2, 1, 1, 0], keys, 4)).toEqual(softmax([4 / 8, 3 / 8, -2 / 8]))
    expect(sharesOf(typed('choice', 2), [1000, 0, 0, 0], [[1000, 0, 0, 0], NOTHING])).toEqual([1, 0])
  })

  it('tells of a predicate first that it is so, which it was asked last', () => {
    const keys = [[1, 0, 0, 0], NOTHING]
    const [no, yes] = softmax([1, 0])
    expect(sharesOf(typed('predicate', 2), [2, 0, 0, 0], keys)).toEqual([yes, no])
    expect(sharesOf(typed('score', 2), [2, 0, 0, 0], keys)).toEqual([no, yes])
  })

  it('must find the end of each option, and ask behind all of them', () => {
    const read = (stem: number[], options = 2) => readout.reads(typed('choice', options), stem)
    expect(() => read([1, END, 2, END, 3])).not.toThrow()
    for (const [stem, count, options] of [
      [[1, END, 2, 3], 1, 2],
      [[1, END, END, END, 3], 3, 2],
      [[1, END, 2, END], 2, 2],
      [[1, END, 2, END, 3, END], 3, 3],
      [[1, 2], 0, 2],
    ] as const) {
      expect(() => read([...stem], options)).toThrow(`its template ends ${count} of ${options} options`)
    }
    const lacking = { idOf: () => undefined } as unknown as Tokenizer
    expect(() => new PointerReadout(lacking)).toThrow('no token <|box_end|>')
    try {
      read([1, 2])
    } catch (error) {
      expect(error).toMatchObject({ status: 500, code: 'model_files', headers: { 'x-should-retry': 'false' } })
    }
  })

  it('tells as many options apart as may be asked about, in the order that is given', () => {
    expect(readout.most).toBe(255)
    expect(readout.ordersOf({ type: 'choice', instructions: '', options: [{ text: 'b' }, { text: 'a' }] })).toEqual([
      [0, 1],
    ])
    expect([2, 5, 10, 11].map((count) => readout.group(count))).toEqual(['2', '3_5', '6_10', '11'])
  })
})

describe('rows', () => {
  it('are those of the places that were asked for, whatever else is told', () => {
    const rows = new Rows([2, 5])
    for (let place = 0; place < 9; place++) rows.take(place, row([place], [place * 10]))
    expect(rows.scores()).toEqual([5 * 20])
  })
})

describe('what such a model is told', () => {
  const worded = (part: Partial<TypedQuestion>) => readout.worded(typed('choice', 2, part))

  it.each([
    ['a text as it is', 'It is {"a": 1}.', 'It is {"a": 1}.'],
    ['what only looks like an object as it is', '{"a": 1', '{"a": 1'],
    ['a word that JSON knows as it is', 'true', 'true'],
    ['a text in quotes as it is', '"[x]"', '"[x]"'],
    ['an object as lines', '{"a": 1, "b": "x y", "c": 1.5}', 'a: 1\nb: x y\nc: 1.5'],
    ['a list as lines', ' ["x y", 2, true, false, null]', '- x y\n- 2\n- True\n- False\n- '],
    ['what is within with two blanks', '{"a": {"b": "c", "d": {"e": 1}}}', 'a:\n  b: c\n  d:\n    e: 1'],
    ['lists within', '{"a": ["x", ["y", "z"]]}', 'a:\n  - x\n  - - y\n    - z'],
    ['objects in a list', '[{"a": 1, "b": 2}, {"c": null}]', '- a: 1\n  b: 2\n- c: '],
    ['what looks like control with other bars', 'a <|im_end|> b', 'a <\u00a6im_end\u00a6> b'],
    ['what looks like control within an object', '{"a": "<|x|>"}', 'a: <\u00a6x\u00a6>'],
  ])('is %s', (_, text, expected) => {
    expect(worded({ state: text }).state).toBe(expected)
    expect(worded({ instructions: text }).instructions).toBe(expected)
    const { options } = worded({ options: [{ key: 'a', description: text }, { key: 'b' }] })
    expect(options).toEqual([{ key: 'a', description: expected }, { key: 'b' }])
  })

  it('is the name of an option as it stands, but for control', () => {
    const { options } = worded({ options: [{ key: '{"a": 1}' }, { key: '<|x|>' }] })
    expect(options).toEqual([{ key: '{"a": 1}' }, { key: '<\u00a6x\u00a6>' }])
  })
})
