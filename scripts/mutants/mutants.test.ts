import { existsSync, readFileSync } from 'node:fs'
import { appendFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { bundle } from './bundle.js'
import { type Found, foundText, withFound } from './found.js'
import { type Equal, judged, type Report } from './judge.js'
import { KeptFates } from './kept-fates.js'
import { isJudged, testsOf, type Watched } from './select.js'
import { fates } from './trials.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (name: string) => JSON.parse(readFileSync(`${root}scripts/mutants/${name}`, 'utf8'))

describe('a verdict', () => {
  const source = 'const a = 1\nif (a > 0 &&\n  b) c()\n'
  const at = (line: number, from: number, to: number, end = line) => ({
    start: { line, column: from },
    end: { line: end, column: to },
  })
  const survivor = { status: 'Survived', replacement: 'true', location: at(2, 5, 4, 3) }
  const report = (...statuses: string[]): Report => {
    const killed = statuses.map((status) => ({ status, replacement: '2', location: at(1, 11, 12) }))
    return { files: { 'a.ts': { source, mutants: [...killed, survivor] } } }
  }
  const equal: Equal = { was: 'a > 0 && b', becomes: 'true', because: 'b is always there' }

  it('counts what was found out, by a test or by the clock, and what does not compile on neither side', () => {
    const { percent, killed, of } = judged('a.ts', report('Killed', 'Timeout', 'CompileError', 'RuntimeError'), [])
    expect({ percent, killed, of }).toEqual({ percent: 66, killed: 2, of: 3 })
  })

  it('names a survivor by its text, also over several lines, and whether any test came by', () => {
    const { survivors } = judged('a.ts', report('NoCoverage'), [])
    expect(survivors).toEqual([
      { line: 1, was: '1', becomes: '2', reached: false },
      { line: 2, was: 'a > 0 && b', becomes: 'true', reached: true },
    ])
  })

  it('leaves out what is known to be equal, and tells of what no longer is a survivor', () => {
    expect(judged('a.ts', report('Killed'), [equal])).toMatchObject({ percent: 100, of: 1, unheard: [] })
    const other = { ...equal, becomes: 'false' }
    expect(judged('a.ts', report('Killed'), [other])).toMatchObject({ percent: 50, unheard: [other] })
  })

  it('of a file without mutants is whole, and of one that was not judged is an error', () => {
    expect(judged('a.ts', { files: { 'a.ts': { source, mutants: [] } } }, []).percent).toBe(100)
    expect(() => judged('b.ts', report(), [])).toThrow('b.ts')
  })
})

describe('a trial of mutants', () => {
  /** Switches as StrykerJS puts them into a file. */
  const source = `
    function at(id: string): boolean {
      const ns = (globalThis as any).__stryker__
      const { perTest, static: loading } = ns.mutantCoverage
      const reached = ns.currentTestId ? (perTest[ns.currentTestId] ??= {}) : loading
      reached[id] = (reached[id] ?? 0) + 1
      return ns.activeMutant === id
    }
    export const THREE = at('while it is loaded') ? 4 : 3
    if (at('never loads')) throw new Error('broken')
    export const never = () => at('nobody comes by')
    export async function plusThree(n: number): Promise<number> {
      if (at('waits for ever')) await new Promise(() => {})
      if (at('fails outside')) setTimeout(() => { throw new Error('late') })
      await new Promise((resolve) => setTimeout(resolve, 5))
      return at('other sum') ? n - THREE : at('same sum') ? THREE + n : n + THREE
    }`
  const test = `
    import { expect, it, vi } from 'vitest'
    import { plusThree } from './made-up.ts'
    it('adds', async () => expect(await plusThree(1)).toBe(4))
    it('leaves things behind where it fails', () => {
      vi.stubGlobal('Math', undefined)
      expect(import.meta.url).toMatch(/made-up.test.ts$/)
      vi.unstubAllGlobals()
    })`

  it('tells what the tests find out, whatever a mutant does to them', async () => {
    const cache = `${root}node_modules/.cache`
    await mkdir(cache, { recursive: true })
    const folder = await mkdtemp(`${cache}/mutants-test-`)
    try {
      await writeFile(`${folder}/made-up.ts`, 'export {}')
      await writeFile(`${folder}/made-up.test.ts`, test)
      const here = folder.slice(root.length)
      await bundle(root, folder, [`${here}/made-up.test.ts`], new Map([[`${here}/made-up.ts`, source]]))
      const expected = {
        'other sum': 'Killed',
        'same sum': 'Survived',
        'while it is loaded': 'Killed',
        'never loads': 'Killed',
        'nobody comes by': 'NoCoverage',
        'fails outside': 'Killed',
        'waits for ever': 'Timeout',
      }
      const reported: string[][] = []
      const found = await fates(folder, 1, Object.keys(expected), (id, fate) => void reported.push([id, fate]))
      expect(Object.fromEntries(found)).toEqual(expected)
      // Each once, as it came.
      expect(reported.sort()).toEqual(Object.entries(expected).sort())
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})

it('fates are kept: who was found out once stays so, a survivor is tried anew by other tests', async () => {
  const folder = await mkdtemp(`${tmpdir()}/mutants-`)
  try {
    const path = `${folder}/fates`
    const first = new KeptFates(path).of('source', ['tests', 'more'])
    first.add('1', 'Killed')
    first.add('2', 'Survived')
    // Cut in the midst of a line.
    await appendFile(path, '\n{"source":')
    first.add('3', 'Timeout')
    const get = (source: string, ...tests: string[]) => {
      const kept = new KeptFates(path).of(source, tests)
      return ['1', '2', '3', '4'].map((mutant) => kept.get(mutant))
    }
    expect(get('source', 'tests', 'more')).toEqual(['Killed', 'Survived', 'Timeout', undefined])
    expect(get('source', 'tests')).toEqual(['Killed', undefined, 'Timeout', undefined])
    expect(get('other', 'tests', 'more')).toEqual([undefined, undefined, undefined, undefined])
  } finally {
    await rm(folder, { recursive: true })
  }
})

describe('the files that are judged', () => {
  const listed = Object.entries(read('files.json') as Record<string, Watched>)

  it('are sixty at least, and they and their tests are there', () => {
    expect(listed.length).toBeGreaterThanOrEqual(60)
    for (const [file, { tests }] of listed) {
      expect([file, isJudged(file)]).toEqual([file, true])
      expect([file, ...tests].filter((name) => !existsSync(root + name))).toEqual([])
      expect(tests.length).toBeGreaterThan(0)
    }
  })

  it('have what came of each, or that nothing did yet', () => {
    const found = read('found.json') as Record<string, Found>
    expect(Object.keys(found)).toEqual(listed.map(([file]) => file))
    for (const [file, came] of Object.entries(found)) {
      if (came === 'not run yet') continue
      const { percent, survivors } = came
      expect([file, Number.isInteger(percent) && percent >= 0 && percent <= 100]).toEqual([file, true])
      expect([file, survivors === 0]).toEqual([file, percent === 100])
      expect([file, survivors === 'not recorded' || Number.isInteger(survivors)]).toEqual([file, true])
    }
    expect(readFileSync(`${root}scripts/mutants/found.json`, 'utf8')).toBe(foundText(found))
  })

  it('are told of as they are judged, in the order of the list', () => {
    const survivor = { line: 1, was: 'a', becomes: 'b', reached: true }
    const verdict = { file: 'b.ts', percent: 50, killed: 1, of: 2, survivors: [survivor], unheard: [] }
    const before = { 'gone.ts': 'not run yet', 'c.ts': { percent: 100, survivors: 0 } } as const
    expect(Object.entries(withFound(before, verdict, ['a.ts', 'b.ts', 'c.ts']))).toEqual([
      ['a.ts', 'not run yet'],
      ['b.ts', { percent: 50, survivors: 1 }],
      ['c.ts', { percent: 100, survivors: 0 }],
    ])
  })

  it('have a reason for each change that is none', () => {
    const known = new Set(listed.map(([file]) => file))
    for (const [file, equals] of Object.entries(read('equal.json') as Record<string, Equal[]>)) {
      expect([file, known.has(file)]).toEqual([file, true])
      for (const { because } of equals) expect(because.length).toBeGreaterThan(10)
    }
  })

  it('otherwise have the test of their name, or those of their folder', () => {
    expect(testsOf(root, 'src/service/door/auth.ts')).toEqual(['src/service/door/auth.test.ts'])
    const folders = testsOf(root, 'src/service/stream/sse.ts')
    expect(folders).toContain('src/service/stream/paced.test.ts')
    expect(folders.filter((name) => !/^src\/service\/stream\/[\w-]+\.test\.ts$/.test(name))).toEqual([])
  })

  it.each([
    ['src/service/door/auth.ts', true],
    ['adapters/express.ts', true],
    ['src/service/door/auth.test.ts', false],
    ['src/service/v1.test-helper.ts', false],
    ['src/device/cpu/kernels.generated.ts', false],
    ['src/device/cpu/assembly/team.ts', false],
    ['scripts/test.ts', false],
  ])('%s: %s', (file, expected) => expect(isJudged(file)).toBe(expected))
})
