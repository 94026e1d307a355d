import { describe, expect, it } from 'vitest'

/** A number of a value, by which another differs from it. */
const off = (make: () => ArrayLike<number>, by: number) => Object.assign(make(), { 2: by })

describe('bytes and lists that are compared', () => {
  it.each([
    ['bytes', () => Uint8Array.from([1, 2, 3])],
    ['numbers that are none', () => Float64Array.from([Number.NaN, -0, 3])],
    ['a list', () => [1, 2, 3]],
    ['words and numbers', () => ['one', 2, true]],
  ])('are the same where each of them is: %s', (_, make) => {
    expect(make()).toEqual(make())
    expect({ within: [make()] }).toStrictEqual({ within: [make()] })
  })

  it.each([
    ['bytes', () => Uint8Array.from([1, 2, 3])],
    ['numbers', () => Float32Array.from([1, 2, 3])],
    ['a list', () => [1, 2, 3]],
  ])('differ where one of them does: %s', (_, make) => {
    expect(off(make, 4)).not.toEqual(make())
    expect({ within: off(make, 4) }).not.toEqual({ within: make() })
    expect(() => expect(off(make, 4)).toEqual(make())).toThrow('4')
  })

  it('differ by their length, their type, and the sign of zero', () => {
    expect(Uint8Array.of(1, 2)).not.toEqual(Uint8Array.of(1, 2, 3))
    expect(Uint8Array.of(1, 2)).not.toEqual(Uint16Array.of(1, 2))
    expect(Uint8Array.of(1, 2)).not.toStrictEqual(Buffer.of(1, 2))
    expect(Float32Array.of(0)).not.toEqual(Float32Array.of(-0))
    expect([0]).not.toEqual([-0])
    expect([1, 2]).not.toEqual(['1', '2'])
  })

  it('may have what stands for others in them', () => {
    expect([1, 'two']).toEqual([1, expect.any(String)])
    expect([1, { two: 2 }]).toEqual([1, { two: expect.any(Number) }])
    const holed: unknown[] = []
    holed[1] = 1
    expect([undefined, 1]).not.toStrictEqual(holed)
  })
})
