import { describe, expect, it } from 'vitest'
import { compile } from '../src/structured/index.js'
import { ajvOf } from './schemas/oracle.js'
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
