import fc from 'fast-check'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { runs } from '../../test/support/full.js'
import { type DeepPartial, partial } from './partial.js'

/** Whether what has been told is a beginning of the whole; `growing`: of its texts too. */
function begins(part: unknown, whole: unknown, growing: boolean): boolean {
  if (typeof part === 'string' && typeof whole === 'string') return growing ? whole.startsWith(part) : whole === part
  if (Array.isArray(part) && Array.isArray(whole)) {
    return part.length <= whole.length && part.every((item, i) => begins(item, whole[i], growing))
  }
  if (typeof part === 'object' && part !== null && typeof whole === 'object' && whole !== null) {
    return Object.keys(part).every(
      (key) => Object.hasOwn(whole, key) && begins(Reflect.get(part, key), Reflect.get(whole, key), growing),
    )
  }
  return Object.is(part, whole)
}

describe('a document that is still being written', () => {
  it('is told as far as it is certain, and never otherwise than it becomes', () => {
    const layouts = fc.constantFrom(undefined, 2, '\t')
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 4 }),
        layouts,
        fc.constantFrom('growing', 'whole'),
        (value, indent, strings) => {
          const text = JSON.stringify(value, null, indent)
          const whole = JSON.parse(text)
          let before: unknown
          for (let i = 0; i <= text.length; i++) {
            const part = partial(text.slice(0, i), { strings })
            if (part === undefined) expect(before).toBeUndefined()
            else {
              expect(begins(part, whole, strings === 'growing')).toBe(true)
              if (before !== undefined) expect(begins(before, part, true)).toBe(true)
            }
            before = part
          }
          expect(partial(`${text} `)).toEqual(whole)
        },
      ),
      { numRuns: runs(300) },
    )
  })

  it.each([
    ['{"n":12', {}],
    ['{"n":12,', { n: 12 }],
    ['{"n":-', {}],
    ['[1.', []],
    ['[1.5e', []],
    ['[1.5e3]', [1500]],
    ['[tru', []],
    ['12', undefined],
    ['"caf\\u00e', 'caf'],
    ['"\\ud83d', ''],
    ['"\\ud83d\\ude00', '😀'],
    ['{"a', {}],
    ['{"a":', {}],
    ['{"a":{"b":[', { a: { b: [] } }],
    ['', undefined],
  ])('%s', (text, value) => expect(partial(text)).toEqual(value))

  it('leaves out texts that have not ended, where asked to', () => {
    expect(partial('{"a":"x","kind":"fo', { strings: 'whole' })).toEqual({ a: 'x' })
    expect(partial('["a","b', { strings: 'whole' })).toEqual(['a'])
  })

  it('is read no further than it is JSON, whatever comes', () => {
    expect(partial('{"a":01,"b":2}')).toEqual({})
    expect(partial('["a\nb"]')).toEqual(['a'])
    expect(partial('["\\q"]')).toEqual([''])
    expect(() => partial('['.repeat(1_000_000))).not.toThrow()
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[]":,\\u0e-1.tfn\n a') }), (text) => void partial(text)),
    )
  })

  it('is typed by what it becomes', () => {
    interface Order {
      name: string
      lines: { count: number; note: string | null }[]
    }
    const part = partial<Order>('{"lines":[{"count":1')
    expectTypeOf(part).toEqualTypeOf<DeepPartial<Order> | undefined>()
    expectTypeOf(part?.lines?.[0]?.note).toEqualTypeOf<string | null | undefined>()
    expect(part).toEqual({ lines: [{}] })
  })
})
