import { describe, expect, it } from 'vitest'
import { floatToHalf, halfToFloat } from './half.js'

describe('half precision', () => {
  it('keeps every half, and rounds what lies between to the nearer, ties to even', () => {
    for (let bits = 0; bits < 0x7c00; bits++) {
      expect(floatToHalf(halfToFloat(bits))).toBe(bits)
      const next = halfToFloat(bits + 1)
      if (next === Number.POSITIVE_INFINITY) break
      const middle = (halfToFloat(bits) + next) / 2
      expect(floatToHalf(middle)).toBe(bits % 2 === 0 ? bits : bits + 1)
      expect(floatToHalf(-middle) & 0x7fff).toBe(bits % 2 === 0 ? bits : bits + 1)
    }
    expect([floatToHalf(65520), floatToHalf(-1e9), floatToHalf(65519)]).toEqual([0x7c00, 0xfc00, 0x7bff])
  })
})
