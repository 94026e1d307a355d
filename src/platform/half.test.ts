import { describe, expect, it } from 'vitest'
import { floatToHalf, halfToFloat } from './half.js'

describe('half precision', () => {
  it('keeps every half, and rounds what lies between to the nearer, ties to even', () => {
    // One expectation for all: to make one takes a hundred times as long as to round.
    const wrong: number[] = []
    for (let bits = 0; bits < 0x7c00; bits++) {
      if (floatToHalf(halfToFloat(bits)) !== bits) wrong.push(bits)
      const next = halfToFloat(bits + 1)
      if (next === Number.POSITIVE_INFINITY) break
      const middle = (halfToFloat(bits) + next) / 2
      const even = bits % 2 === 0 ? bits : bits + 1
      if (floatToHalf(middle) !== even || (floatToHalf(-middle) & 0x7fff) !== even) wrong.push(bits)
    }
    expect(wrong).toEqual([])
    expect([floatToHalf(65520), floatToHalf(-1e9), floatToHalf(65519)]).toEqual([0x7c00, 0xfc00, 0x7bff])
  })
})
