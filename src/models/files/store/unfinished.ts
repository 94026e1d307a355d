/** Files on a disk that are not whole yet, and whose they are. */
import { builtin, hasEnded, processHost } from '../../../platform/index.js'

type Fs = typeof import('node:fs/promises')

const program = () => builtin<typeof import('node:process')>('node:process')!

/** What they end in. */
export const PART = '.part'

/** No download leaves its file alone for so long. */
export const SILENT_MS = 120_000

/** A name of one's own for what is to be at `path`. */
export function partOf(path: string): string {
  return `${path}.${program().pid}-${hostHere()}-${Math.random().toString(36).slice(2, 10)}${PART}`
}

/** What follows the name of a file that is not whole: of whom and of what host, while somebody writes it. */
const UNFINISHED = /^(?:\.(\d+)-([a-z0-9]+)(?:-[a-z0-9]+)?)?\.part$/

/** Makes one's own what was left of a file by others, who have ended; how long it is. */
export async function takeOver(fs: Fs, path: string, part: string): Promise<number | undefined> {
  const folder = parentOf(path)
  for (const name of await fs.readdir(folder).catch(() => [])) {
    const other = `${folder}/${name}`
    const found = other.startsWith(path) && UNFINISHED.exec(other.slice(path.length))
    // Renamed by two at once, it is one's.
    if (found && !(await isBeingWritten(fs, other, found[1], found[2]))) await fs.rename(other, part).catch(() => {})
  }
  return lengthAt(fs, part)
}

/**
 * Of a process in another container, or on another machine, nothing is known by its number, and one in a container that
 * begins again has the number that it had before: the time of the file tells then.
 */
async function isBeingWritten(fs: Fs, path: string, pid?: string, host?: string): Promise<boolean> {
  if (pid === undefined) return false
  if (host === hostHere() && Number(pid) !== program().pid) return !hasEnded(program(), Number(pid))
  const stat = await fs.stat(path).catch(() => undefined)
  return stat !== undefined && Date.now() - stat.mtimeMs < SILENT_MS
}

let here: string | undefined

/** Whose numbers of processes are known here. */
function hostHere(): string {
  const of = <T>(name: string) => builtin<T>(name)!
  here ??= processHost({
    os: of<typeof import('node:os')>('node:os'),
    fs: of<typeof import('node:fs')>('node:fs'),
    crypto: of<typeof import('node:crypto')>('node:crypto'),
  })
  return here
}

export const parentOf = (path: string) => path.slice(0, path.lastIndexOf('/'))

export async function lengthAt(fs: Fs, path: string): Promise<number | undefined> {
  return fs.stat(path).then(
    // A folder of this name holds other addresses.
    (stat) => (stat.isFile() ? stat.size : undefined),
    () => undefined,
  )
}
