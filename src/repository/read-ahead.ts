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
  let window:
    | { readonly name: string; readonly from: number; readonly to: number; data: Promise<Uint8Array> }
    | undefined
  return async (name, from, to) => {
    if (to - from >= WINDOW) return files.slice(name, from, to)
    if (!window || window.name !== name || from < window.from || to > window.to) {
      const end = Math.max(to, Math.min(from + WINDOW, sizeOf(name)))
      window = { name, from, to: end, data: files.slice(name, from, end) }
    }
    const { data, from: start } = window
    try {
      return (await data).subarray(from - start, to - start)
    } catch (error) {
      // Asked for again, it is read again.
      window = undefined
      throw error
    }
  }
}
