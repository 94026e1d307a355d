import { expect, it } from 'vitest'
import { V1Error } from '../../contract/errors.js'
import { gbnf, Vocabulary } from '../../grammar/structured.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'
import { Guided, grammarRefusal } from './guided.js'

it("a grammar that is read in too many ways is its author's fault, by the name of its rule", () => {
  const letter = new TextEncoder().encode('a')
  const vocabulary = new Vocabulary([undefined, letter, new Uint8Array(1000).fill(letter[0]!)], { eos: [0] })
  const grammar = gbnf('root ::= r\nr ::= ((r | "a") root+)*')
  const tokenizer = { bytes: (token: number) => vocabulary.bytes(token), encodeContinuation: () => [] }
  const guided = new Guided(grammar.start(vocabulary), tokenizer as unknown as Tokenizer)
  expect(guided.accept(1)).toBe(true)
  for (const ask of [() => guided.mask(new Uint32Array(1), 10), () => guided.accept(2)]) {
    try {
      ask()
      expect.fail('it was not refused')
    } catch (error) {
      const refusal = grammarRefusal(error)
      expect(refusal).toBeInstanceOf(V1Error)
      expect(refusal).toMatchObject({ status: 400, code: 'grammar_too_complex', cause: error })
      expect((refusal as V1Error).message).toMatch(/the rule '(r|root)'/)
    }
  }
})

it("is asked too deep a text where the engine's stack ends, and no other fault is a refusal", () => {
  const sink = (depth: number): number => sink(depth + 1) + 1
  try {
    sink(0)
    expect.fail('the stack has no end')
  } catch (error) {
    expect(grammarRefusal(error)).toMatchObject({ status: 400, code: 'grammar_too_complex', cause: error })
  }
  for (const fault of [new RangeError('A step samples at most 3 positions.'), new TypeError('x is undefined')])
    expect(grammarRefusal(fault)).toBe(fault)
})
