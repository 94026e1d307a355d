import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { NOTHINGS, POINTERS } from '../../contract/index.js'
import { laidOut } from './layout.js'
import { Scores } from './scores.js'

const HEAD = 4
const VOCABULARY = 16
const SCALES = [0.5, 2] as const

type Pointer = (typeof POINTERS)[number]
type Question = { readonly options?: readonly number[] }

/** Numbers of a text of so many tokens and of questions, each one token long; all of them zero but what is planted. */
class Planted {
  readonly laid: ReturnType<typeof laidOut>
  readonly numbers: Float32Array

  constructor(text: readonly number[], questions: readonly Question[]) {
    // Every token is written as its number.
    const tokenizer = { encodePlain: (text: string) => text.split(' ').map(Number) }
    this.laid = laidOut(
      tokenizer as unknown as Parameters<typeof laidOut>[0],
      { user: 0, assistant: 1, end: 2 },
      text,
      questions.map(({ options = [] }) => ({ text: '3', options: options.map(String) })),
    )
    const { tokens, marks } = this.laid
    this.numbers = new Float32Array(tokens.length * POINTERS.length * HEAD + marks.length * (NOTHINGS + VOCABULARY))
  }

  get scores(): Scores {
    return new Scores(this.laid, this.numbers, { headSize: HEAD, vocabulary: VOCABULARY, logitScales: SCALES })
  }

  /** That they point at each other so much, along one of the head's numbers. */
  points(asks: Pointer, row: number, answers: Pointer, other: number, much: number, along = 0): void {
    const at = (row: number, pointer: Pointer) => (row * POINTERS.length + POINTERS.indexOf(pointer)) * HEAD + along
    this.numbers[at(row, asks)] = 1
    this.numbers[at(other, answers)] = much * Math.sqrt(HEAD)
  }

  nothing(question: number, kind: number, much: number): void {
    this.numbers[this.#behind + question * NOTHINGS + kind] = much
  }

  says(question: number, token: number, much: number): void {
    this.numbers[this.#behind + this.laid.marks.length * NOTHINGS + question * VOCABULARY + token] = much
  }

  get #behind(): number {
    return this.laid.tokens.length * POINTERS.length * HEAD
  }
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)

describe('a layout', () => {
  it('is the text, and behind it each question with its options', () => {
    const { laid } = new Planted([5, 6], [{}, { options: [7, 8] }])
    expect(laid.tokens).toEqual([0, 5, 6, 1, 3, 3, 7, 2, 8, 2])
    expect(laid.marks).toEqual([4, 5])
    expect([laid.from, laid.to]).toEqual([1, 3])
    expect(laid.options).toEqual([
      [],
      [
        { first: 6, end: 7 },
        { first: 8, end: 9 },
      ],
    ])
  })

  it('keeps the end of a long question and the beginning of a long option', () => {
    const many = Array.from({ length: 300 }, (_, i) => i).join(' ')
    const tokenizer = { encodePlain: (text: string) => text.split(' ').map(Number) }
    const { tokens, marks, options } = laidOut(
      tokenizer as unknown as Parameters<typeof laidOut>[0],
      { user: -1, assistant: -2, end: -3 },
      [],
      [{ text: many, options: [many] }],
    )
    expect(tokens[marks[0]!]).toBe(299)
    expect(tokens[options[0]![0]!.first]).toBe(0)
    expect(tokens.length).toBeLessThan(300)
  })
})

describe('the scores of stretches', () => {
  it('are highest where one was planted', () => {
    const planted = new Planted([5, 6, 7, 8, 9], [{}, {}])
    const [first, second] = planted.laid.marks as [number, number]
    planted.points('start_q', first, 'start_k', 2, 20)
    planted.points('end_q', first, 'end_k', 4, 20)
    planted.points('start_q', second, 'start_k', 5, 20, 1)
    planted.points('end_q', second, 'end_k', 5, 20, 1)
    const [one, two] = [planted.scores.stretches(0), planted.scores.stretches(1)]
    expect(one.stretches[0]).toMatchObject({ from: 1, to: 4 })
    expect(one.stretches[0]!.probability).toBeGreaterThan(0.99)
    expect(one.nothing).toBeLessThan(0.01)
    // One token, the text's last.
    expect(two.stretches[0]).toMatchObject({ from: 4, to: 5 })
  })

  it('end where what begins there ends', () => {
    const planted = new Planted([5, 6, 7, 8], [{}])
    const [mark] = planted.laid.marks as [number]
    planted.points('start_q', mark, 'start_k', 1, 20)
    planted.points('end_q', mark, 'end_k', 2, 10)
    planted.points('from_q', 1, 'end_k', 3, 20, 1)
    expect(planted.scores.stretches(0).stretches[0]).toMatchObject({ from: 0, to: 3 })
  })

  it('never end before they begin', () => {
    const planted = new Planted([5, 6, 7, 8], [{}])
    const [mark] = planted.laid.marks as [number]
    planted.points('start_q', mark, 'start_k', 3, 20)
    planted.points('end_q', mark, 'end_k', 1, 20)
    const [best] = planted.scores.stretches(0).stretches
    expect(best!.from).toBe(2)
    expect(best!.to).toBeGreaterThan(2)
  })

  it('count what would be written', () => {
    const planted = new Planted([5, 6, 7], [{}])
    planted.says(0, 7, 20)
    const { stretches } = planted.scores.stretches(0)
    expect(stretches[0]!.from).toBe(2)
    // Where nothing else is known, half of the score of what is said stands against two scores of zero.
    const start = Math.exp(SCALES[0] * 20)
    expect(stretches[0]!.probability).toBeCloseTo(start / (start + 2))
  })

  it('count what would be written of their own question', () => {
    const planted = new Planted([5, 6, 7], [{}, {}])
    planted.says(1, 6, 20)
    expect(planted.scores.stretches(1).stretches[0]!.from).toBe(1)
    expect(new Set(planted.scores.stretches(0).stretches.map(({ probability }) => probability * 6))).toContain(1)
  })

  it('are products over the root of their length, of nothing beside them', () => {
    const planted = new Planted([5, 6, 7], [{}])
    const [mark] = planted.laid.marks as [number]
    planted.points('start_q', mark, 'start_k', 3, 1)
    // What stands next to both of them in a row.
    planted.points('start_k', mark, 'end_q', 3, 9)
    expect(planted.scores.stretches(0).stretches[0]).toMatchObject({ from: 2, to: 3 })
    expect(planted.scores.stretches(0).stretches[0]!.probability).toBeCloseTo(Math.E / (Math.E + 2))
  })

  it('are those of the likeliest starts alone, wherever they are', () => {
    const many = Array.from({ length: 14 }, (_, i) => i)
    const planted = new Planted(many, [{}])
    const [mark] = planted.laid.marks as [number]
    planted.points('start_q', mark, 'start_k', many.length, 5)
    const { stretches } = planted.scores.stretches(0)
    expect(stretches[0]).toMatchObject({ from: 13, to: 14 })
    expect(stretches.length).toBeLessThan(many.length)
  })

  it('are first where start and end together are likeliest', () => {
    const planted = new Planted([5, 6, 7, 8, 9, 5, 6, 7], [{}])
    const [mark] = planted.laid.marks as [number]
    // The first start is the likelier, but where it ends is open.
    planted.points('start_q', mark, 'start_k', 1, 9.1)
    planted.points('start_q', mark, 'start_k', 8, 9)
    expect(planted.scores.stretches(0).stretches[0]).toMatchObject({ from: 7, to: 8 })
  })

  it('say that there is none', () => {
    const planted = new Planted([5, 6, 7], [{}, {}])
    planted.nothing(1, 0, 20)
    expect(planted.scores.stretches(0).nothing).toBeCloseTo(1 / 4)
    expect(planted.scores.stretches(1).nothing).toBeGreaterThan(0.99)
    // If there is one all the same, it is any of them.
    expect(sum(planted.scores.stretches(1).stretches.map(({ probability }) => probability))).toBeGreaterThan(0.3)
  })

  it('are those of a text of one token, and of none', () => {
    expect(new Planted([5], [{}]).scores.stretches(0)).toEqual({
      nothing: 0.5,
      stretches: [{ from: 0, to: 1, probability: 1 }],
    })
    expect(new Planted([], [{}]).scores.stretches(0)).toEqual({ nothing: 1, stretches: [] })
  })
})

describe('the scores of options', () => {
  it('are highest where one was planted', () => {
    const planted = new Planted([5], [{ options: [6, 7] }, { options: [8, 9, 10] }])
    const [first, second] = planted.laid.marks as [number, number]
    const [ofFirst, ofSecond] = planted.laid.options as unknown as [{ end: number }[], { end: number }[]]
    planted.points('option_q', first, 'option_k', ofFirst[1]!.end, 20)
    planted.points('option_q', second, 'option_k', ofSecond[0]!.end, 20, 1)
    expect(planted.scores.options(0).options[1]).toBeGreaterThan(0.99)
    expect(planted.scores.options(1).options[0]).toBeGreaterThan(0.99)
  })

  it('count what would be written first', () => {
    const planted = new Planted([5], [{ options: [6, 7] }])
    planted.says(0, 7, 3)
    const likely = Math.exp(SCALES[1] * 3)
    expect(planted.scores.options(0).options[1]).toBeCloseTo(likely / (likely + 1))
  })

  it('say that there is none, by a number of its own', () => {
    const planted = new Planted([5], [{ options: [6, 7] }])
    planted.nothing(0, 1, 60)
    const { nothing, options } = planted.scores.options(0)
    expect(nothing).toBe(1)
    expect(options).toEqual([0.5, 0.5])
    expect(planted.scores.stretches(0).nothing).toBe(0.5)
  })
})

it('are probabilities, whatever the numbers', () => {
  const numbers = fc.double({ min: -1000, max: 1000, noNaN: true })
  const options = fc.array(fc.nat(VOCABULARY - 1), { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(
      fc.array(fc.nat(VOCABULARY - 1), { maxLength: 70 }),
      options,
      fc.array(numbers, { minLength: 1 }),
      (text, options, drawn) => {
        const planted = new Planted(text, [{ options }])
        for (let i = 0; i < planted.numbers.length; i++) planted.numbers[i] = drawn[(i * 7 + (i >> 4)) % drawn.length]!
        const { nothing, stretches } = planted.scores.stretches(0)
        const likely = planted.scores.options(0)
        const all = [nothing, likely.nothing, ...likely.options, ...stretches.map(({ probability }) => probability)]
        for (const one of all) expect(one >= 0 && one <= 1, String(one)).toBe(true)
        expect(sum(likely.options)).toBeCloseTo(1)
        expect(sum(stretches.map(({ probability }) => probability))).toBeLessThan(1 + 1e-9)
        for (const { from, to } of stretches) {
          expect(from).toBeGreaterThanOrEqual(0)
          expect(to).toBeGreaterThan(from)
          expect(to).toBeLessThanOrEqual(text.length)
        }
      },
    ),
  )
})
