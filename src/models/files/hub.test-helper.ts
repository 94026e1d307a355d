import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Hub {
  readonly url: string
  /** Every request so far: its file, and the range it asked for. */
  readonly requests: { file: string; range: string | undefined }[]
  /** Answers in another way; return true when it has. */
  intercept: ((file: string, request: IncomingMessage, response: ServerResponse, nth: number) => boolean) | undefined
  close(): Promise<void>
}

/** A file server that knows ranges, on a free port. */
export async function hub(files: ReadonlyMap<string, Uint8Array>): Promise<Hub> {
  const server = createServer((request, response) => {
    const file = request.url!.slice(1)
    state.requests.push({ file, range: request.headers.range })
    const nth = state.requests.filter((seen) => seen.file === file).length
    if (state.intercept?.(file, request, response, nth)) return
    const bytes = files.get(file)
    if (!bytes) return void response.writeHead(404).end('not here')
    send(bytes, request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const state: Hub = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    requests: [],
    intercept: undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return state
}

/** `upTo`: hangs up there, in the middle of what it promised. */
export function send(bytes: Uint8Array, request: IncomingMessage, response: ServerResponse, upTo = bytes.length): void {
  const range = request.headers.range?.match(/^bytes=(\d+)-(\d*)$/)
  const from = Number(range?.[1] ?? 0)
  const end = range?.[2] ? Math.min(Number(range[2]) + 1, bytes.length) : bytes.length
  const partial = range && (from > 0 || end < bytes.length)
  response.writeHead(partial ? 206 : 200, {
    'content-length': end - from,
    ...(partial && { 'content-range': `bytes ${from}-${end - 1}/${bytes.length}` }),
  })
  if (upTo >= end) return void response.end(bytes.subarray(from, end))
  response.write(bytes.subarray(from, upTo), () => response.destroy())
}
