import { afterEach, describe, expect, it, vi } from 'vitest'
import { bestVariant, multipliesWholeBytes } from './wasm.js'

afterEach(() => void vi.unstubAllGlobals())

/** A host whose product of bytes comes to that; none where it has no such instruction. */
function stubProduct(product?: (a: number, b: number) => number) {
  vi.stubGlobal('WebAssembly', {
    validate: () => product !== undefined,
    Module: class {},
    Instance: class {
      exports = { p: product }
    },
  })
}

const clamped = (sum: number) => Math.max(-32768, Math.min(32767, sum))
const signed = (b: number) => (b > 127 ? b - 256 : b)
const HOSTS = [
  ['as unsigned', (a: number, b: number) => 7 + 4 * a * b, true],
  ['as signed', (a: number, b: number) => 7 + 4 * a * signed(b), true],
  ['as unsigned, by pairs that 16 bits have no room for', (a: number, b: number) => 7 + 2 * clamped(2 * a * b), false],
  ['without their eighth bit', (a: number, b: number) => 7 + 4 * a * (b & 127), false],
] as const

describe('products of bytes', () => {
  it.each(HOSTS)('of a host that takes second factors %s', (_, product, whole) => {
    stubProduct(product)
    expect([bestVariant(), multipliesWholeBytes()]).toEqual(['relaxed', whole])
  })

  it('are not used where there are none, or where they are wrong', () => {
    stubProduct()
    expect([bestVariant(), multipliesWholeBytes()]).toEqual(['simd', false])
    stubProduct((a, b) => a * b)
    expect([bestVariant(), multipliesWholeBytes()]).toEqual(['simd', false])
  })

  it('of this host are one of these, or it has none', () => {
    if (bestVariant() === 'simd') return expect(multipliesWholeBytes()).toBe(false)
    expect(typeof multipliesWholeBytes()).toBe('boolean')
  })
})
