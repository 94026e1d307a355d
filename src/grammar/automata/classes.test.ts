import { expect, it } from 'vitest'
import { randomness } from '../testing.test-helper.js'
import { type CharSet, contains, EVERY, normalise } from './charset.js'
import { partition } from './classes.js'

it('two characters are of one class where the same sets hold them', () => {
  const random = randomness(3)
  const some = (most: number) => Math.floor(random() * most)
  for (let round = 0; round < 40; round++) {
    const sets = Array.from({ length: some(30) }, (): CharSet => {
      const ranges = Array.from({ length: some(5) }, () => [some(40), some(40)].sort((a, b) => a - b)).flat()
      return random() < 0.1 ? EVERY : normalise(random() < 0.2 ? [...ranges, 0xd7f0, 0xd7ff] : ranges)
    })
    const { classes, members } = partition(sets)
    const known = new Map<string, number>()
    for (const codePoint of [...Array(42).keys(), 0xd7ef, 0xd7f0, 0xd7ff, 0xe000, 0x10ffff]) {
      const cls = classes.of(codePoint)
      const holding = sets.map((set) => contains(set, codePoint))
      expect(members.map((its) => its[cls] === 1)).toEqual(holding)
      const key = holding.join()
      if (!known.has(key)) expect([...known.values()]).not.toContain(cls)
      known.set(key, cls)
      expect(classes.of(codePoint)).toBe(known.get(key))
    }
    expect(classes.of(0xd800)).toBe(0)
  }
})
