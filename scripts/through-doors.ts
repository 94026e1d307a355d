import { readFile } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'esbuild'

const SRC = fileURLToPath(new URL('../src/', import.meta.url))
const NAMED = /^(import|export)( type)? \{([^}]*)\} from '(\.[^']*)'$/gm

/**
 * A room's door (`src/<room>/index.ts`) is for readers: it shows what others may take. A build looks through it, at the
 * files themselves: esbuild counts a file among what an entry loads if any import leads there, used or not, so that by
 * doors alone each small entry of the package would load nearly all of it.
 */
export function throughDoors(): Plugin {
  const doors = new Map<string, Promise<ReadonlyMap<string, string>>>()
  const filesOf = (door: string) => {
    const found = doors.get(door) ?? readDoor(door)
    doors.set(door, found)
    return found
  }
  return {
    name: 'through-doors',
    setup(build) {
      build.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        if (!path.startsWith(SRC)) return undefined
        return { contents: await direct(path, await readFile(path, 'utf8'), filesOf), loader: 'ts' }
      })
    },
  }
}

/** The source with the files themselves in place of doors. */
async function direct(
  path: string,
  source: string,
  filesOf: (door: string) => Promise<ReadonlyMap<string, string>>,
): Promise<string> {
  const parts: string[] = []
  let end = 0
  for (const found of source.matchAll(NAMED)) {
    const [whole, keyword, type = '', names, from] = found as unknown as [string, string, string, string, string]
    const door = join(dirname(path), from.replace(/\.js$/, '.ts'))
    if (!isDoor(door)) continue
    const files = await filesOf(door)
    const lines = listed(names).map((name) => {
      const file = files.get(named(name))
      if (file === undefined) throw new Error(`${path} takes ${name}, which ${door} does not show`)
      const isType = type !== '' || name.startsWith('type ')
      // Of types alone, or the file is loaded for nothing.
      const what = `${isType ? 'type ' : ''}{ ${name.replace(/^type /, '')} }`
      return `${keyword} ${what} from '${spelled(relative(dirname(path), file))}'`
    })
    // As many lines as before, for who reads a stack.
    parts.push(source.slice(end, found.index), lines.join('; '), '\n'.repeat(whole.split('\n').length - 1))
    end = found.index + whole.length
  }
  return parts.join('') + source.slice(end)
}

/** Where each name that a door shows is written. */
async function readDoor(door: string): Promise<ReadonlyMap<string, string>> {
  const shown = [...(await readFile(door, 'utf8')).matchAll(NAMED)]
  return new Map(
    shown.flatMap(([, , , names, from]) =>
      listed(names!).map((name) => [named(name), join(dirname(door), from!)] as const),
    ),
  )
}

const isDoor = (path: string) => /^[^/\\]+[/\\]index\.ts$/.test(path.startsWith(SRC) ? path.slice(SRC.length) : '')
const listed = (names: string) =>
  names
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)
const named = (name: string) => name.replace(/^type /, '').replace(/ as .*$/, '')
const spelled = (path: string) => {
  const forward = path.split(sep).join('/')
  return forward.startsWith('.') ? forward : `./${forward}`
}
