import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { SAMPLING, SAMPLING_NAMES } from './sampling.js'

describe('the numbers by which tokens are drawn', () => {
  const guide = (path: string) => readFileSync(new URL(`../../docs/${path}`, import.meta.url), 'utf8')

  it('are all told by the guides', () => {
    const local = Object.values(SAMPLING).flatMap(({ wire, local }) => (local ? [wire] : []))
    for (const page of ['guides/endpoints.md', 'interface.md', 'guides/browser-model.md']) {
      expect(
        local.filter((wire) => !guide(page).includes(`\`${wire}\``)),
        page,
      ).toEqual([])
    }
  })

  it('may be as they usually are, and have names of their own', () => {
    for (const name of SAMPLING_NAMES) {
      const { least, most, usual, floor = least } = SAMPLING[name]
      expect(usual).toBeGreaterThanOrEqual(Math.max(least, floor))
      expect(usual).toBeLessThanOrEqual(most)
    }
    expect(new Set(Object.values(SAMPLING).map(({ wire }) => wire)).size).toBe(SAMPLING_NAMES.length)
  })
})
