import { describe, expect, it } from 'vitest'
import { BF16, F16, F32, Q4, Q4_EXACT } from './abi.js'
import { blockKind, EXACT_BLOCKS, PAIRS, WHOLE, WIDE_BLOCKS } from './block-kinds.js'
import { BYTE_PRODUCTS, multipliedOn } from './byte-products.js'

const [Q8, Q6] = [blockKind('q8_0'), blockKind('q6_k')]
const OF_EIGHT_BITS = [Q8, ...(['iq4_nl', 'iq4_xs', 'mxfp4'] as const).map(blockKind)]
const OF_FEWER = [Q4, Q6, ...(['q4_0', 'q4_k', 'q5_1', 'q2_k'] as const).map(blockKind)]

const both = (kind: number) => ({ few: kind, many: kind })

describe('products of bytes', () => {
  it('are by fours where that is one instruction, whole where codes have 8 bits', () => {
    const machine = { variant: 'relaxed', wholeBytes: true } as const
    for (const kind of OF_EIGHT_BITS) expect(multipliedOn(machine, kind)).toEqual(both(kind + WHOLE))
    for (const kind of OF_FEWER) expect(multipliedOn(machine, kind)).toEqual(both(kind))
  })

  it('are by pairs elsewhere, and in 16 bits where codes of 8 bits meet several rows', () => {
    const machine = { variant: 'relaxed', wholeBytes: false } as const
    for (const kind of OF_EIGHT_BITS) {
      expect(multipliedOn(machine, kind)).toEqual({ few: kind + PAIRS, many: kind + WIDE_BLOCKS })
    }
    for (const kind of OF_FEWER) expect(multipliedOn(machine, kind)).toEqual(both(kind + PAIRS))
  })

  it.each([
    ['bytes', both(Q8), both(Q6)],
    ['pairs', { few: Q8 + PAIRS, many: Q8 }, both(Q6 + PAIRS)],
    ['wide', both(Q8 + WIDE_BLOCKS), both(Q6)],
    ['whole', both(Q8 + WHOLE), both(Q6)],
  ] as const)('are as was asked for where there is such a kernel, else by fours: %s', (byteProducts, eight, six) => {
    const machine = { variant: 'relaxed', wholeBytes: true, byteProducts } as const
    expect(multipliedOn(machine, Q8)).toEqual(eight)
    expect(multipliedOn(machine, Q6)).toEqual(six)
  })

  it('are not whole where that is wrong, not even if asked for', () => {
    const machine = { variant: 'relaxed', wholeBytes: false, byteProducts: 'whole' } as const
    expect(multipliedOn(machine, Q8)).toEqual(both(Q8))
  })

  it('are for matrices of bytes, and for relaxed SIMD', () => {
    for (const wholeBytes of [true, false]) {
      for (const kind of [F32, F16, BF16, Q4_EXACT, EXACT_BLOCKS, Q8 + EXACT_BLOCKS]) {
        expect(multipliedOn({ variant: 'relaxed', wholeBytes }, kind)).toEqual(both(kind))
      }
      for (const byteProducts of [undefined, ...BYTE_PRODUCTS]) {
        const plain = { variant: 'simd', wholeBytes, ...(byteProducts && { byteProducts }) } as const
        expect([Q8, Q6, Q4].map((kind) => multipliedOn(plain, kind))).toEqual([Q8, Q6, Q4].map(both))
      }
    }
  })
})
