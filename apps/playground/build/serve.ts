import { createReadStream, statSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join, normalize } from 'node:path'
import { HUGGING_FACE, headersFor } from './headers.js'

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json',
  svg: 'image/svg+xml',
  png: 'image/png',
}

/** Serves a built playground on this machine alone. */
export async function servePlayground(
  folder: string,
  { port = 0, hub = HUGGING_FACE } = {},
): Promise<{ server: Server; url: string }> {
  const headers = new Map(Object.entries({ ...headersFor(hub), 'cache-control': 'no-cache' }))
  const server = createServer((request, response) => {
    response.setHeaders(headers)
    const file = fileAt(folder, request.url ?? '/')
    const reads = request.method === 'GET' || request.method === 'HEAD'
    if (!reads || !file) return void response.writeHead(404).end('Not here.')
    response.setHeader('content-type', TYPES[file.path.split('.').pop()!] ?? 'application/octet-stream')
    response.setHeader('content-length', file.bytes)
    createReadStream(file.path).pipe(response)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  const address = server.address()
  const bound = typeof address === 'object' && address ? address.port : port
  // By its name, which browsers trust for service workers as they trust https.
  return { server, url: `http://localhost:${bound}/` }
}

function fileAt(folder: string, url: string): { path: string; bytes: number } | undefined {
  if (!URL.canParse(url, 'http://localhost')) return
  const { pathname } = new URL(url, 'http://localhost')
  // No file of ours has a name that needs escaping.
  const name = normalize(pathname).replace(/^([/\\]|\.\.)+/, '')
  const path = join(folder, name === '' ? 'index.html' : name)
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat?.isFile() ? { path, bytes: stat.size } : undefined
}
