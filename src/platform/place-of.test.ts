import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { placeOf } from './place-of.js'

/** Of few letters, so that beginnings come again and again. */
const few = (length: number) => fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: length })

describe('the place of a text in another', () => {
  it('is that which indexOf finds', () => {
    fc.assert(
      fc.property(few(40), few(20), fc.nat(80), fc.nat(400), (part, other, count, from) => {
        const text = other + part.repeat(count) + other
        for (const wanted of [
          part.repeat(9),
          part.repeat(5) + other,
          text.slice(from, from + 130),
          `${text.slice(3)}c`,
        ])
          expect(placeOf(text, wanted, from)).toBe(text.indexOf(wanted, from))
      }),
    )
  })

  it('looks at each character a few times, where each place begins like it', () => {
    const looked = { times: 0 }
    const counted = (text: string) =>
      new Proxy(Object(text) as object, {
        get(target, name) {
          if (name === 'charCodeAt')
            return (at: number) => {
              looked.times++
              return text.charCodeAt(at)
            }
          const value = (target as Record<PropertyKey, unknown>)[name]
          return typeof value === 'function' ? value.bind(text) : value
        },
      }) as unknown as string
    const [length, wanted] = [20_000, 5000]
    expect(placeOf(counted('a'.repeat(length)), `${'a'.repeat(wanted)}b`)).toBe(-1)
    expect(looked.times).toBeLessThan(3 * length)
  })
})
