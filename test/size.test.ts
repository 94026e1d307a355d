import { describe, expect, it } from 'vitest'
import { above, ceilingOf, ceilings, longer, mostWays, roomOf, sizes, wayCeiling, ways } from '../scripts/size/rooms.js'

describe('the size of the house', () => {
  it('stays under its ceilings (`npm run sz`)', async () => {
    expect(above(await sizes(), await ceilings())).toEqual([])
  })

  it('lets a chat go through no more files and functions than was agreed on', async () => {
    const [found, most] = [await ways(), await mostWays()]
    expect(longer(found, most)).toEqual([])
    // Something was counted: a schema brings the grammar with it.
    expect(found.plain!.files).toBeGreaterThan(20)
    expect(found.strict!.functions).toBeGreaterThan(found.plain!.functions)
    expect(longer({ strict: wayCeiling(most.strict!) }, most)).toHaveLength(2)
  })

  it('is counted by rooms, tests apart', () => {
    const paths = [
      'src/index.ts',
      'src/generate/run/slot.ts',
      'src/generate/run/slot.test.ts',
      'test/cli.test.ts',
      'apps/playground/main.tsx',
    ]
    expect(paths.map(roomOf)).toEqual(['src', 'src/generate', 'tests', 'tests', 'apps'])
  })

  it('names a room that is above its ceiling, in lines or in files, and one that has none', () => {
    const most = new Map([
      ['src', { lines: 10, files: 2 }],
      ['docs', { lines: 10, files: 2 }],
    ])
    const found = new Map([
      ['src', { lines: 11, files: 2 }],
      ['docs', { lines: 10, files: 3 }],
      ['new', { lines: 1, files: 0 }],
    ])
    expect(above(found, most)).toEqual([
      'src: 11 lines, and its ceiling in scripts/size/ceilings.json is 10',
      'docs: 3 files, and its ceiling in scripts/size/ceilings.json is 2',
      'new: 1 lines, and its ceiling in scripts/size/ceilings.json is 0',
    ])
  })

  it('may grow by a mend under a new ceiling, and not by a room', () => {
    const size = { lines: 300, files: 4 }
    const ceiling = ceilingOf(size)
    const found = (more: number) => new Map([['src', { lines: size.lines + more, files: size.files }]])
    expect(above(found(50), new Map([['src', ceiling]]))).toEqual([])
    expect(above(found(200), new Map([['src', ceiling]]))).not.toEqual([])
  })
})
