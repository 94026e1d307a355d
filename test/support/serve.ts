import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Listening {
  /** `http://localhost:PORT`: a secure context, so that service workers and WebGPU work. */
  readonly origin: string
  readonly port: number
  close(): Promise<void>
}

/** Serves a Node request listener on a free port of this machine. */
export async function listen(listener: RequestListener): Promise<Listening> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://localhost:${port}`,
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const TYPES: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json',
  wasm: 'application/wasm',
  svg: 'image/svg+xml',
  png: 'image/png',
}

/**
 * Serves texts and bytes by path, `/` being `/index.html`, each with `headers`; what is not there is 404 with the text
 * `missing`.
 */
export function serveFiles(
  files: Readonly<Record<string, string | Uint8Array>>,
  missing = '',
  headers: Readonly<Record<string, string>> = {},
): Promise<Listening> {
  return listen((request, response) => {
    const path = new URL(request.url!, 'http://localhost').pathname
    const name = path === '/' ? '/index.html' : path
    const body = files[name]
    response.setHeaders(new Map(Object.entries({ 'cache-control': 'no-store', ...headers })))
    if (body === undefined) return void response.writeHead(404).end(missing)
    response.setHeader('content-type', TYPES[name.split('.').pop()!] ?? 'application/octet-stream')
    response.end(body)
  })
}
