/** The parts that a likelihood is made of, over a document whose tokens are written out. */
import { describe, expect, it } from 'vitest'
import type { TokenConstraint } from '../../contract/engine.js'
import { type Draw, type Place, TokensBefore } from './draw.js'
import { agrees, continues, isWholeSpan, likelihoodOf, reaches, touches, weighed } from './likelihood.js'
import { runnerUpOf } from './others.js'

const encoder = new TextEncoder()

/** Tokens are numbered as they stand in the list; one of no bytes ends the document. */
function writing(document: string, tokens: readonly string[]) {
  const bytes = encoder.encode(document)
  const written = { byte: (at: number) => bytes[at]!, bytesOf: (token: number) => encoder.encode(tokens[token]) }
  /** `forced`: what is certain after each token that the grammar takes. */
  const place = (
    at: number,
    shares: Readonly<Record<string, number>>,
    forced: Readonly<Record<string, string>> = {},
  ) => {
    const grammar = (after = ''): Partial<TokenConstraint> => ({
      clone: () => grammar(after) as TokenConstraint,
      accept(token) {
        const text = tokens[token]!
        if (!(text in forced)) return false
        Object.assign(this, grammar(forced[text]))
        return true
      },
      forced: () => encoder.encode(after),
    })
    const known = new Map(Object.entries(shares).map(([text, share]) => [tokens.indexOf(text), share]))
    const rest = { before: new TokensBefore([], 0), all: false, reaching: false }
    return { at, shares: known, grammar: grammar() as TokenConstraint, ...rest } satisfies Place
  }
  const id = (text: string) => tokens.indexOf(text)
  const draw = (token: string, ...of: Parameters<typeof place>): Draw => ({ ...place(...of), token: id(token) })
  return { written, place, draw, id, bytes: (text: string) => encoder.encode(text) }
}

const TOKENS = [
  '',
  '{',
  ':',
  ':"',
  ':"c',
  ':"d',
  'x',
  '"ca',
  '"cat"',
  '"dog"',
  '"',
  't"',
  'ke"',
  '"cat',
  '",',
  '12',
  '12}',
  '1',
  '2',
  '123',
  '}',
  ':12',
  ':123',
]
/** `"cat"`, which says itself where it ends. */
const { written, place, draw, id, bytes } = writing('{"a":"cat"}', TOKENS)
const cat = { start: 5, end: 10, closed: true }
/** `12`, of which what follows says so. */
const number = writing('{"n":12}', TOKENS)
const twelve = { start: 5, end: 7, closed: false }

describe('a token', () => {
  it('is of a stretch where it begins in it, or behind a number', () => {
    const at = (where: number) => touches(draw('"ca', where, {}), cat, written)
    expect([5, 9, 10, 11].map(at)).toEqual([true, true, false, false])
    const ofNumber = (where: number) => touches(number.draw('1', where, {}), twelve, number.written)
    expect([5, 6, 7, 8].map(ofNumber)).toEqual([true, true, true, false])
  })

  it('reaches into it, or up to it, by itself or by what is certain then', () => {
    const far = (token: string, at: number, forced: Record<string, string> = {}) =>
      reaches(place(at, {}, forced), id(token), cat.start, written)
    expect(far(':"', 4)).toBe('into')
    expect(far(':', 4)).toBe('up to')
    expect(far('{', 0, { '{': '"a":' })).toBe('up to')
    expect(far('{', 0, { '{': '"a":"' })).toBe('up to')
    expect(far('{', 0, { '{': '"a"' })).toBe('not')
    expect(far('{', 0)).toBe('not')
    // What ends the document comes up to nothing.
    expect([far('x', 4), far('', 4), far('', 4, { '': '' }), far('x', 3)]).toEqual(['not', 'not', 'not', 'not'])
    expect(touches(draw('{', 0, {}, { '{': '"a":' }), cat, written)).toBe(true)
    expect(touches(draw('{', 0, {}), cat, written)).toBe(false)
  })

  it('agrees as far as both go', () => {
    expect([agrees(bytes('"cat"}'), 5, 10, written), agrees(bytes('"cat"!'), 5, 10, written)]).toEqual([true, true])
    expect([agrees(bytes('"car'), 5, 10, written), agrees(bytes('"c'), 5, 10, written)]).toEqual([false, true])
  })

  it('goes on with a stretch, or ends it', () => {
    const goesOn = (text: string, at: number) => continues(bytes(text), at, cat, written)
    expect([goesOn('"ca', 5), goesOn('"cat",', 5), goesOn('"do', 5), goesOn('', 10), goesOn('', 9)]).toEqual([
      true,
      true,
      false,
      true,
      false,
    ])
    const digits = (text: string, at: number) => continues(number.bytes(text), at, twelve, number.written)
    expect([digits('12', 5), digits('12}', 5), digits('123', 5), digits('2,', 6), digits('}', 7)]).toEqual([
      true,
      true,
      false,
      true,
      true,
    ])
    expect([
      isWholeSpan(bytes('"cat"'), 5, cat),
      isWholeSpan(bytes('"cat'), 5, cat),
      isWholeSpan(bytes(''), 5, cat),
    ]).toEqual([true, false, true])
    const ended = (text: string) => isWholeSpan(number.bytes(text), 5, twelve)
    expect([ended('12'), ended('12}'), ended('1')]).toEqual([false, true, false])
  })
})

describe('what else might have come', () => {
  it('is surely the stretch, may become it, or is something else', () => {
    const shares = { '"ca': 0.25, '"cat"': 0.125, '"cat': 0.25, '"dog"': 0.25, '"': 0.0625, x: 1e-10 }
    const open = weighed(place(5, shares), cat, written)
    expect(open).toEqual({
      among: 1,
      same: 0.125,
      unsure: [
        [id('"ca'), 0.25],
        [id('"cat'), 0.25],
        [id('"'), 0.0625],
      ],
    })
    // Where the rest is certain, it is that.
    const forced = weighed(place(5, shares, { '"ca': 't"', '"cat': '', '"': 'dog"' }), cat, written, id('"'))
    expect(forced).toEqual({ among: 1, same: 0.375, unsure: [[id('"cat'), 0.25]] })
    expect(weighed(place(5, { '"cat"': 1e-10 }), cat, written).same).toBe(0)
  })

  it('counts before the stretch where it reaches it', () => {
    const shares = { ':"': 0.25, ':"c': 0.125, ':"d': 0.125, ':': 0.25, x: 0.25 }
    const before = { ...place(4, shares), reaching: true }
    expect(weighed(before, cat, written)).toEqual({
      ...{ among: 0.75, same: 0 },
      unsure: [
        [id(':"'), 0.25],
        [id(':"c'), 0.125],
        [id(':'), 0.25],
      ],
    })
    expect(weighed(before, cat, written, id(':')).unsure).toHaveLength(2)
    expect(weighed({ ...before, reaching: false }, cat, written).among).toBe(1)
  })
})

describe('a likelihood', () => {
  const second = draw('t"', 8, { 't"': 0.75, 'ke"': 0.25 })

  it('is that of all ways to write the same', () => {
    const first = draw('"ca', 5, { '"ca': 0.5, '"cat"': 0.25, '"dog"': 0.25 })
    const whole = likelihoodOf([first, second], cat, written)
    expect(whole).toEqual({ sure: 0.25 + 0.5 * 0.75, open: [], chosen: true, strayed: false })
    // What comes before and after says nothing.
    const around = [draw('{', 0, { '{': 0.5 }), first, second, draw('}', 10, { '}': 0.5 })]
    expect(likelihoodOf(around, cat, written)).toEqual(whole)
  })

  it('leaves open what a beginning becomes, as likely as what led there', () => {
    const before = { ...draw(':"', 4, { ':"': 0.25, ':"c': 0.125, ':"d': 0.125, x: 0.5 }), reaching: true }
    const { open, sure, chosen } = likelihoodOf([before], cat, written)
    expect(open).toMatchObject([{ token: id(':"c'), likely: 0.25 }])
    expect([sure, chosen]).toEqual([0.5, true])
    // What is certain to become it is as likely among those that reach it.
    const shares = { ':"': 0.25, ':"c': 0.125, ':"d': 0.125, x: 0.5 }
    const certain = { ...draw(':"', 4, shares, { ':"c': 'at"' }), reaching: true }
    expect(likelihoodOf([certain], cat, written)).toMatchObject({ sure: 0.75, open: [] })
  })

  it('is no choice where there was none, and ends where something else was written', () => {
    const alone = { ...draw('"cat"', 5, { '"cat"': 1 }), all: true }
    expect(likelihoodOf([alone], cat, written)).toEqual({ sure: 1, open: [], chosen: false, strayed: false })
    expect(likelihoodOf([], cat, written)).toEqual({ sure: 1, open: [], chosen: false, strayed: false })
    // However unlikely it is that anything else comes.
    expect(likelihoodOf([{ ...alone, all: false }], cat, written).chosen).toBe(true)
    const surely = { ...draw('"cat"', 5, { '"cat"': 1, '"dog"': 0 }), all: true }
    expect(likelihoodOf([surely], cat, written)).toMatchObject({ sure: 1, chosen: true })
    // What goes on elsewhere is no other.
    const before = { ...number.draw(':12', 4, { ':12': 0.5, x: 0.5 }), all: true, reaching: true }
    const certain = { sure: 1, open: [], chosen: false, strayed: false }
    expect(likelihoodOf([before], twelve, number.written)).toEqual(certain)
    const other = draw('"dog"', 5, { '"dog"': 0.75, '"cat"': 0.25 })
    expect(likelihoodOf([other, second], cat, written)).toEqual({ sure: 0.25, open: [], chosen: true, strayed: true })
    expect(likelihoodOf([draw('"dog"', 5, { '"dog"': 1 })], cat, written)).toMatchObject({ sure: 0, chosen: true })
    // A number that goes on is another, also where its token begins before it.
    for (const before of ['', ':']) {
      const { draw, id, written } = number
      const shares = { [`${before}123`]: 0.5, [`${before}12`]: 0.25 }
      const longer = { ...draw(`${before}123`, 5 - before.length, shares), reaching: true }
      const { open, ...rest } = likelihoodOf([longer], twelve, written)
      expect(rest).toEqual({ sure: 0, chosen: true, strayed: true })
      const among = before === '' ? 1 : 0.75
      expect(open).toMatchObject([{ token: id(`${before}12`), likely: 0.25 / among }])
    }
  })
})

it('another value is none that goes on as the document does', () => {
  const forced = { '12}': '', '123': '}' }
  const drawn = { ...number.draw('12', 5, { '12': 0.5, '12}': 0.375, '123': 0.125 }, forced), all: true }
  expect(runnerUpOf([drawn], twelve, number.written)).toMatchObject({
    value: 123,
    text: new TextEncoder().encode('123'),
  })
})
