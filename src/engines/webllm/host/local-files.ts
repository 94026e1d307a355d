import { type StoredFile, sliceOfFile } from '../../../models/index.js'
import { builtin } from '../../../platform/index.js'

/** Files of this machine by `file:` addresses, which Node's `fetch` does not read. */
export async function localFile(url: string): Promise<StoredFile | undefined> {
  const fs = builtin<typeof import('node:fs/promises')>('node:fs/promises')!
  const path = localPath(url)
  const bytes = await fs.stat(path).then(
    (stat) => (stat.isFile() ? stat.size : undefined),
    () => undefined,
  )
  if (bytes === undefined) return undefined
  return { bytes, slice: (from, to) => sliceOfFile(fs, path, from, to) }
}

/** WebLLM puts `resolve/main/` behind every model's address; in a folder there is no such thing. */
export function localPath(url: string): string {
  const { fileURLToPath } = builtin<typeof import('node:url')>('node:url')!
  return fileURLToPath(url.replace('/resolve/main/', '/'))
}

/** The whole file, read piece by piece once somebody wants it; `done` is called at its end. */
export function responseOf(file: StoredFile, done: () => void = () => {}): Response {
  let at = 0
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (at < file.bytes) {
          const piece = await file.slice(at, Math.min(file.bytes, at + PIECE))
          if (piece.length === 0) throw new Error('The file has become shorter while it was read.')
          at += piece.length
          controller.enqueue(piece)
        }
        if (at < file.bytes) return
        controller.close()
        done()
      },
    },
    // Not a byte before it is asked for: WebLLM looks whether a file is there by taking its response.
    { highWaterMark: 0 },
  )
  return new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>, {
    headers: { 'content-length': String(file.bytes), 'content-type': 'application/octet-stream' },
  })
}

const PIECE = 8 << 20
