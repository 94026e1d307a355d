import { describe, expect, it } from 'vitest'
import { compile } from '../src/grammar/structured.js'
import { ajvOf, isMultiple } from './schemas/oracle.js'
import { WRITTEN } from './schemas/written/index.js'
import { checkWritten } from './schemas/written-documents.js'

describe('schemas as libraries write them', () => {
  it('are at least ninety, and each is enforced and known to ajv', () => {
    const all = Object.values(WRITTEN).flatMap((schemas) => Object.values(schemas))
    expect(all.length).toBeGreaterThanOrEqual(90)
    for (const schema of all) {
      expect(() => compile(schema)).not.toThrow()
      expect(ajvOf(schema)).toBeDefined()
    }
  })

  it.each(Object.keys(WRITTEN))('give random documents that satisfy them: %s', (library) => {
    const { documents, faults } = checkWritten(library, 4, 7)
    expect(documents).toBeGreaterThan(50)
    expect(faults).toEqual([])
  })
})

describe('multiples in the oracle', () => {
  it.each([
    [0.01, 1.1, true],
    [0.01, 1.105, false],
    [5, 1e22, true],
    [3, 1e22, false],
    [0.1, 0.3, true],
    [1e-7, 3e-7, true],
    [2, -6, true],
    [1.5, 0, true],
  ])('of %d: %d, %s', (step, value, is) => expect(isMultiple(step, value)).toBe(is))
})
