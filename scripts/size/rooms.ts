import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Way } from './way.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
export const CEILINGS = fileURLToPath(new URL('./ceilings.json', import.meta.url))

export interface Size {
  readonly lines: number
  readonly files: number
}

/** The rooms of the house, and their tests apart: what a reader has before them. */
export async function sizes(): Promise<Map<string, Size>> {
  const found = new Map<string, Size>()
  for (const path of await sources()) {
    const room = roomOf(path)
    const { lines, files } = found.get(room) ?? { lines: 0, files: 0 }
    const text = await readFile(join(ROOT, path), 'utf8')
    found.set(room, { lines: lines + text.split('\n').length - 1, files: files + 1 })
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** What was written by hand: what git knows or would add, so that nothing built counts; and what is still there. */
async function sources(): Promise<string[]> {
  const run = promisify(execFile)
  const kinds = ['*.ts', '*.tsx', '*.js', '*.mjs', '*.css', '*.py']
  const listed = ['ls-files', '-co', '--exclude-standard', '--', ...kinds]
  const { stdout } = await run('git', listed, { cwd: ROOT, maxBuffer: 2 ** 26 })
  return stdout.split('\n').filter((path) => path && existsSync(join(ROOT, path)))
}

export function roomOf(path: string): string {
  const folders = path.split('/').slice(0, -1)
  const [top = '.', room] = folders
  if (top === 'test' || /\.test(-helper)?\.tsx?$/.test(path)) return 'tests'
  return top === 'src' && room !== undefined ? `src/${room}` : top
}

export type Ceilings = ReadonlyMap<string, Size>

export async function ceilings(): Promise<Ceilings> {
  return new Map(Object.entries(JSON.parse(await readFile(CEILINGS, 'utf8')) as Record<string, Size>))
}

/** A line for each room that has grown beyond what was agreed on. */
export function above(found: ReadonlyMap<string, Size>, most: Ceilings): string[] {
  return [...found].flatMap(([room, size]) => {
    const ceiling = most.get(room) ?? { lines: 0, files: 0 }
    return (['lines', 'files'] as const)
      .filter((unit) => size[unit] > ceiling[unit])
      .map(
        (unit) => `${room}: ${size[unit]} ${unit}, and its ceiling in scripts/size/ceilings.json is ${ceiling[unit]}`,
      )
  })
}

/** Room for mends: what is new should ask. */
const STEP: Size = { lines: 100, files: 2 }

export function ceilingOf({ lines, files }: Size): Size {
  const up = (value: number, step: number) => (Math.floor(value / step) + 1) * step
  return { lines: up(lines, STEP.lines), files: up(files, STEP.files) }
}

/** Through how much of `src` a request goes, and the most that was agreed on. */
export const WAYS = fileURLToPath(new URL('./ways.json', import.meta.url))
export type Ways = Readonly<Record<string, Way>>

/** In a process of its own: functions are counted as they are first compiled, before anything else ran. */
export async function ways(): Promise<Ways> {
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, ['--import', 'tsx', 'scripts/size/way.ts'], { cwd: ROOT })
  return JSON.parse(stdout) as Ways
}

export async function mostWays(): Promise<Ways> {
  return JSON.parse(await readFile(WAYS, 'utf8')) as Ways
}

/** A line for each request that goes through more than was agreed on. */
export function longer(found: Ways, most: Ways): string[] {
  return Object.entries(found).flatMap(([request, way]) =>
    (['files', 'functions'] as const)
      .filter((unit) => way[unit] > (most[request]?.[unit] ?? 0))
      .map((unit) => `A ${request} chat goes through ${way[unit]} ${unit}, and may through ${most[request]?.[unit]}.`),
  )
}

/** What hangs on the clock (who pauses, who waits) moves the count of functions by a few. */
export const wayCeiling = ({ files, functions }: Way): Way => ({
  files: files + 2,
  functions: Math.ceil((functions * 1.02) / 10) * 10,
})
