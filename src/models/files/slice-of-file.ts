import { getOrMake } from '../../platform/index.js'

type FileHandle = import('node:fs/promises').FileHandle

/** Files that are being read: who reads beside another uses the same handle. */
const shared = new Map<string, { readonly file: Promise<FileHandle>; readers: number }>()

/** The bytes of a file from one place to another; fewer where it ends before. `into` has room for them. */
export async function sliceOfFile(
  fs: typeof import('node:fs/promises'),
  path: string,
  from: number,
  to: number,
  into: Uint8Array = new Uint8Array(to - from),
): Promise<Uint8Array> {
  const open = getOrMake(shared, path, () => ({ file: fs.open(path), readers: 0 }))
  open.readers++
  const file = await open.file.catch((error: unknown) => {
    leave(path, open)
    throw error
  })
  try {
    return await part(file, from, to, into)
  } finally {
    if (leave(path, open)) await file.close()
  }
}

async function part(file: FileHandle, from: number, to: number, into: Uint8Array): Promise<Uint8Array> {
  try {
    const { bytesRead } = await file.read(into, 0, to - from, from)
    return into.subarray(0, bytesRead)
  } catch (error) {
    // A runtime may read into no memory that threads share.
    const shared = typeof SharedArrayBuffer !== 'undefined' && into.buffer instanceof SharedArrayBuffer
    if (!shared || !(error instanceof TypeError)) throw error
    return part(file, from, to, new Uint8Array(to - from))
  }
}

/** Whether nobody else reads it. */
function leave(path: string, open: { readers: number }): boolean {
  if (--open.readers > 0) return false
  shared.delete(path)
  return true
}
