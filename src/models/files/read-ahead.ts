/**
 * Small pieces of a file that follow each other are read together: a model has hundreds of tensors, and each reading takes
 * its time however little is read.
 */
import type { RepositoryFiles } from './files.js'

/** Bytes that are read for a piece that is small. */
const WINDOW = 4 * 1048576
/** A piece of so many is worth a reading of its own, unless it was read with others: in a browser each takes a millisecond. */
const LARGE = 1048576

/** So many windows: who asks reads in several places of a file by turns. */
const WINDOWS = 4

interface Window {
  readonly name: string
  readonly from: number
  readonly data: Uint8Array
  readonly room: Uint8Array
}

/** As their `slice`; `sizeOf`: the bytes of a file. What was read is kept until enough other windows are. */
export function readAhead(
  files: Pick<RepositoryFiles, 'slice'>,
  sizeOf: (name: string) => number,
): RepositoryFiles['slice'] {
  /** The last used first. */
  const windows: Window[] = []
  /** One after the other: windows are read into the room of those that are not kept. */
  let last: Promise<unknown> = Promise.resolve()

  const find = (name: string, from: number, to: number) =>
    windows.findIndex((window) => window.name === name && from >= window.from && to <= window.from + window.data.length)

  async function read(name: string, from: number, to: number): Promise<Window> {
    const index = find(name, from, to)
    if (index >= 0) return windows.splice(index, 1)[0]!
    const room = (windows.length === WINDOWS ? windows.pop()?.room : undefined) ?? new Uint8Array(WINDOW)
    const end = Math.max(to, Math.min(from + WINDOW, sizeOf(name)))
    return { name, from, room, data: await files.slice(name, from, end, room.subarray(0, end - from)) }
  }

  async function small(name: string, from: number, to: number, given?: Uint8Array): Promise<Uint8Array> {
    const window = await read(name, from, to)
    windows.unshift(window)
    const into = given ?? new Uint8Array(to - from)
    const piece = window.data.subarray(from - window.from, to - window.from)
    into.set(piece)
    return into.subarray(0, piece.length)
  }
  return (name, from, to, into) => {
    if (to - from >= LARGE && find(name, from, to) < 0) return files.slice(name, from, to, into)
    const turn = last.then(() => small(name, from, to, into))
    last = turn.catch(() => {})
    return turn
  }
}
