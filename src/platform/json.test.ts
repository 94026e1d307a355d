import { describe, expect, it } from 'vitest'
import { AT_ONCE, isSmall, RawJson, rawObjectOf, spelled, textOfJson } from './json.js'

const long = (piece: string) => piece.repeat(Math.ceil((3 * AT_ONCE) / piece.length))
const many = <T>(count: number, one: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => one(i))

const VALUES: readonly [name: string, value: unknown][] = [
  ['a long text', long('word "quoted" \\ and\nlines ')],
  ['pairs that no piece may cut', `x${long('😀')}`],
  ['halves of pairs', long('\ud83d \ude00 x')],
  ['numbers', many(50_000, (i) => Math.sin(i))],
  ['lists within lists', many(300, (i) => many(i, (k) => k / 7))],
  ['objects', many(20_000, (i) => ({ id: `msg_${i}`, role: 'user', content: [{ text: 'x' }] }))],
  ['what is left out', { a: undefined, b: long('x'), c: () => 1, d: null, e: [undefined, long('y')], f: undefined }],
  ['nothing but what is left out, beside a long text', [{ a: undefined, b: () => long('x') }, long('x')]],
  ['what makes its own', { vectors: many(500, (i) => ({ toJSON: () => many(400, (k) => i / (k + 1)) })) }],
  ['a date beside a long text', [new Date(0), long('x')]],
  ['deep', many(200, () => 0).reduce<unknown>((inner) => ({ inner: [inner] }), long('x'))],
  ['names that need quotes', Object.fromEntries(many(9000, (i) => [`"${i}\n"`, i]))],
]

describe('spelled', () => {
  it.each(VALUES)('%s come as JSON.stringify has them, in pieces', (_, value) => {
    const pieces = [...spelled(value)]
    expect(pieces.join('')).toBe(JSON.stringify(value))
    expect(pieces.length).toBeGreaterThan(1)
    // Escapes take up to six characters for one.
    for (const piece of pieces) expect(piece.length).toBeLessThan(8 * AT_ONCE)
    expect(isSmall(value)).toBe(false)
  })

  it.each([[null], [0], ['x'], [[]], [{}], [[[], {}]], [{ a: [1, 'b', { c: true }] }]])('%j is one piece', (value) => {
    expect([...spelled(value)]).toEqual([JSON.stringify(value)])
    expect(isSmall(value)).toBe(true)
  })

  it('has JSON that was written already as it was written, in small values and in large ones', () => {
    const raw = new RawJson('{"id": 9007199254740993}')
    const fields = (other: unknown) => [{ other, raw }, raw, { list: [1, raw] }]
    const written = (other: unknown) =>
      `[{"other":${JSON.stringify(other)},"raw":${raw.text}},${raw.text},{"list":[1,${raw.text}]}]`
    for (const other of ['x', long('x'), many(9000, (i) => ({ i }))]) {
      expect([...spelled(fields(other))].join('')).toBe(written(other))
      expect(textOfJson(fields(other))).toBe(written(other))
      expect(isSmall(fields(other))).toBe(other === 'x')
    }
    expect(isSmall(new RawJson(JSON.stringify(long('x'))))).toBe(false)
    expect(textOfJson(['[1]', '{"a":', '', '{"a":\n1}'].map(rawObjectOf))).toBe('[{},{},{},{"a": 1}]')
  })

  it('makes of a list only what has been asked for', () => {
    let made = 0
    const one = () => ({
      toJSON: () => {
        made++
        return long('x')
      },
    })
    const pieces = spelled(many(10, one))
    pieces.next()
    expect(made).toBe(1)
  })
})
