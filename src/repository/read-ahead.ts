/**
 * Small pieces of a file that follow each other are read together: a model has hundreds of tensors, and each reading takes
 * its time however little is read.
 */
import type { RepositoryFiles } from './files.js'

/** Bytes that are read for a piece that is smaller. */
const WINDOW = 4 * 1048576

/** As their `slice`; `sizeOf`: the bytes of a file. What was read is kept until another window is. */
export function readAhead(
  files: Pick<RepositoryFiles, 'slice'>,
  sizeOf: (name: string) => number,
): RepositoryFiles['slice'] {
  let window: { readonly name: string; readonly from: number; readonly data: Uint8Array } | undefined
  let room: Uint8Array | undefined
  /** One after the other: all windows are read into the same room. */
  let last: Promise<unknown> = Promise.resolve()

  async function small(name: string, from: number, to: number, given?: Uint8Array): Promise<Uint8Array> {
    const there = window?.name === name && from >= window.from && to <= window.from + window.data.length
    if (!window || !there) {
      window = undefined
      room ??= new Uint8Array(WINDOW)
      const end = Math.max(to, Math.min(from + WINDOW, sizeOf(name)))
      window = { name, from, data: await files.slice(name, from, end, room.subarray(0, end - from)) }
    }
    const into = given ?? new Uint8Array(to - from)
    const piece = window.data.subarray(from - window.from, to - window.from)
    into.set(piece)
    return into.subarray(0, piece.length)
  }
  return (name, from, to, into) => {
    if (to - from >= WINDOW) return files.slice(name, from, to, into)
    const turn = last.then(() => small(name, from, to, into))
    last = turn.catch(() => {})
    return turn
  }
}
