import { readFileSync } from 'node:fs'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { NodeRequest, sendNodeResponse } from 'srvx/node'
import { checkOrigin, hostList, urlOf } from '../service/index.js'
import { MODELS_PATH } from './playground-models.js'

interface PageFile {
  readonly type: string
  readonly bytes: Buffer
}

export interface PlaygroundOptions {
  /** As the service has them: what may not ask it gets no page of it either. */
  readonly hosts?: readonly string[]
  /** The `/v1` behind this one, which may hear what is written: the page says so. */
  readonly upstream?: string
  /** What the page may do beside `/v1`. */
  readonly models?: (request: Request) => Promise<Response>
}

const FOLDER = new URL('./playground/', import.meta.url)
const TYPES: readonly (readonly [name: string, type: string])[] = [
  ['index.html', 'text/html; charset=utf-8'],
  ['docs.html', 'text/html; charset=utf-8'],
  ['first-paint.js', 'text/javascript; charset=utf-8'],
  ['app.js', 'text/javascript; charset=utf-8'],
  ['style.css', 'text/css; charset=utf-8'],
  ['icon.svg', 'image/svg+xml'],
]
/** Nothing but what this server has; no frame around it, no address handed on. */
const HEADERS = new Map([
  [
    'content-security-policy',
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  ],
  ['referrer-policy', 'no-referrer'],
  ['x-content-type-options', 'nosniff'],
  ['cross-origin-opener-policy', 'same-origin'],
  ['cross-origin-resource-policy', 'same-origin'],
  ['cache-control', 'no-cache'],
])

/** Answers for the page's own files, and hands everything else to `service`. The page holds no secret. */
export function withPlayground(service: RequestListener, options: PlaygroundOptions): RequestListener {
  const files = new Map<string, PageFile>(
    TYPES.map(([name, type]) => [
      name === 'index.html' ? '/' : `/${name}`,
      { type, bytes: readFileSync(new URL(name, FOLDER)) },
    ]),
  )
  const facts = Buffer.from(JSON.stringify({ upstream: options.upstream }))
  files.set('/playground.json', { type: 'application/json', bytes: facts })
  const hosts = hostList(options.hosts)
  return (request, response) => {
    const file = isRead(request) ? files.get((request.url ?? '').replace(/[?#].*$/s, '')) : undefined
    const managing = options.models !== undefined && (request.url ?? '').startsWith(MODELS_PATH)
    if (!file && !managing) return service(request, response)
    response.setHeaders(HEADERS)
    const refusal = refusalOf(request, hosts)
    if (refusal) return void send(request, response, refusal.status, 'text/plain; charset=utf-8', refusal.text)
    if (file) return send(request, response, 200, file.type, file.bytes)
    const fetchRequest = new NodeRequest({ req: request, res: response })
    void options.models!(fetchRequest)
      .then((answer) => sendNodeResponse(response, answer))
      .catch(() => response.destroy())
  }
}

const isRead = ({ method }: IncomingMessage): boolean => method === 'GET' || method === 'HEAD'

/** The rules of `/v1` against DNS rebinding: a page under a foreign name could show what it is not. */
function refusalOf(
  { headers, url, socket }: IncomingMessage,
  hosts: ReturnType<typeof hostList>,
): { status: number; text: string } | undefined {
  const address = urlOf(`http://${headers.host}${url}`)
  if (!address) return { status: 400, text: 'The Host header is not a valid host name.' }
  const request = new Request(address, { headers: headers.origin === undefined ? {} : { origin: headers.origin } })
  try {
    checkOrigin(request, address, { cors: [], hosts }, { localAddress: socket.localAddress })
    return undefined
  } catch (error) {
    return { status: 403, text: (error as Error).message }
  }
}

function send(
  { method }: IncomingMessage,
  response: ServerResponse,
  status: number,
  type: string,
  body: Buffer | string,
): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) })
  response.end(method === 'HEAD' ? undefined : body)
}
