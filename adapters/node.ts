import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import { NodeRequest, sendNodeResponse } from 'srvx/node'
import { V1Error } from '../src/contract/errors.js'
import type { V1 } from '../src/index.js'
import { BEGIN_PER_TURN, Entrance, wholeTexts } from '../src/platform/turns.js'

/** What frameworks on top of `node:http` add to a request. */
export interface NodeIncoming extends IncomingMessage {
  /** The URL as it was sent, where a router has cut its mount point off `url`. */
  originalUrl?: string
  /** What a body parser made of the body. */
  body?: unknown
  /** The body's bytes, where something kept them. */
  rawBody?: unknown
}

export type Next = (error?: unknown) => void

/** Enough that whoever has left is soon known to have: others would wait for what nobody wants any longer. */
const PER_TURN = 4 * BEGIN_PER_TURN

/** Of all that has come in one turn of the event loop, hundreds of requests it may be: the door lets in fewer. */
const arriving = new Entrance(PER_TURN)

/** Answers with `v1`; what it has no path for goes to `next`, or is a 404 where there is none. */
export async function answer(v1: V1, incoming: NodeIncoming, outgoing: ServerResponse, next?: Next): Promise<void> {
  // An answered request has lost its socket by the time we want it.
  const { socket } = incoming
  // What is not for us is not to wait for what is.
  const turn = next ? undefined : arriving.enter(incoming.headers.authorization ?? '')
  if (turn) await turn
  const request = requestFor(v1, incoming, outgoing)
  if (next && !v1.match(request)) return next()
  const client = new Client(outgoing)
  let response: Response
  try {
    Object.defineProperty(request, 'signal', { get: () => client.signal })
    setBody(incoming, request, client)
    response = await v1.fetch(request, { localAddress: socket.localAddress })
  } catch (error) {
    // Nothing a client sends should lead here: `fetch` answers its own errors.
    console.error(error)
    response = Response.json(new V1Error(500, 'The server had an error while processing the request.'), { status: 500 })
  }
  // Another has answered meanwhile: middleware with a time limit of its own.
  if (outgoing.headersSent) return void response.body?.cancel()
  client.answered = true
  if (!incoming.complete) carrierOf(outgoing).once('finish', () => leaveUpload(incoming, socket))
  sendHead(outgoing, response)
  // Whatever else was put in the place of our answer is sent as it is.
  const text = wholeTexts.get(response)
  // Middleware such as `compression` and `express-session` takes whatever `end` is given for a chunk, a callback too.
  if (text !== undefined || response.body === null) outgoing.end(text)
  else await sendNodeResponse(outgoing, response).catch(() => outgoing.destroy())
}

/** Not as a list, which the same middleware read wrong for many years (`on-headers` before 1.1). */
function sendHead(outgoing: ServerResponse, { status, statusText, headers }: Response): void {
  const cookies = headers.getSetCookie()
  if (statusText !== '') outgoing.statusMessage = statusText
  outgoing.writeHead(status, { ...Object.fromEntries(headers), ...(cookies.length > 0 && { 'set-cookie': cookies }) })
}

/** With the URL under which `v1` knows the path: behind a mount point that may be the rest or the whole. */
function requestFor(v1: V1, incoming: NodeIncoming, outgoing: ServerResponse): Request {
  const request = withUrl(incoming, outgoing, incoming.url)
  const { originalUrl } = incoming
  if (originalUrl === undefined || originalUrl === incoming.url || v1.match(request)) return request
  const whole = withUrl(incoming, outgoing, originalUrl)
  return v1.match(whole) ? whole : request
}

function withUrl(incoming: NodeIncoming, outgoing: ServerResponse, target: string | undefined): Request {
  const { url } = incoming
  incoming.url = target
  const request = new NodeRequest({ req: incoming, res: outgoing })
  try {
    // Reads it now: it is taken from `incoming` on the first look.
    void request.url
  } catch {
    // A host that is none is for the service to refuse, and only on its own paths.
    Object.defineProperty(request, 'url', { value: `http://${incoming.headers.host}${target}` })
  }
  incoming.url = url
  return request
}

/** A body parser before us may have emptied the socket; what it parsed is written out again. */
function setBody(incoming: NodeIncoming, request: Request, client: Client): void {
  const { body, method, headers } = incoming
  if (method === 'GET' || method === 'HEAD') return
  // What a body parser shows to `verify` is unpacked already, whatever the headers say of it.
  if (Buffer.isBuffer(incoming.rawBody) && (body === undefined || !headers['content-encoding'])) return
  if (!incoming.readableEnded || body === undefined) {
    // Made when it is asked for: many requests are answered without it, and many others come at once.
    let made: ReadableStream<Uint8Array> | undefined
    Object.defineProperty(request, 'body', { get: () => (made ??= bodyOf(incoming, client)) })
    return
  }
  incoming.rawBody =
    body instanceof Uint8Array ? Buffer.from(body) : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  // They told of the bytes on the wire.
  request.headers.delete('content-encoding')
  request.headers.delete('content-length')
}

/** Over HTTP/2 an answer does not know whether it was left, and says that it was sent only when the upload has ended too. */
function carrierOf(outgoing: ServerResponse & { readonly stream?: Writable }): Writable {
  return outgoing.stream ?? outgoing
}

/** Hundreds of clients may leave in one turn of the event loop, and what each had begun is to be taken back. */
const leaving = new Entrance(PER_TURN)

/** Who waits for an answer, and may leave before it is there. */
class Client {
  /** What it is sent is ours. */
  answered = false
  readonly #outgoing: ServerResponse
  #controller: AbortController | undefined

  constructor(outgoing: ServerResponse) {
    this.#outgoing = outgoing
  }

  /** Aborted soon after it has left; made when it is asked for. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (carrierOf(this.#outgoing).destroyed) this.left()
      else this.#outgoing.once('close', this.#closed)
    }
    return this.#controller.signal
  }

  /** Known for certain: nobody who hears of it by an error is to take it for another. */
  left(reason?: unknown): void {
    this.#controller?.abort(reason)
  }

  readonly #closed = async (): Promise<void> => {
    if (this.answered && this.#outgoing.writableEnded) return
    await leaving.enter('')
    this.left()
  }
}

/** Pulled, and left without destroying what lies under it: the connection may still be good for an answer, and more. */
function bodyOf(incoming: IncomingMessage, client: Client): ReadableStream<Uint8Array> {
  const pieces = incoming.iterator({ destroyOnReturn: false })
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await pieces.next().catch((error) => {
          client.left(error)
          throw error
        })
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: () => void pieces.return?.(),
    },
    { highWaterMark: 0 },
  )
}

const UPLOAD_LIMIT = 16 * 2 ** 20
const UPLOAD_MS = 1000

/**
 * A request that was answered before all of it came. To hang up at once would reset the connection, and the answer
 * with it; to read on for ever would be a gift to whoever sends for ever.
 */
function leaveUpload(incoming: IncomingMessage, socket: Socket): void {
  const hangUp = () => socket.destroy()
  const start = socket.bytesRead
  const timer = setTimeout(hangUp, UPLOAD_MS)
  incoming.on('data', () => {
    if (socket.bytesRead - start > UPLOAD_LIMIT) hangUp()
  })
  // Not the socket's, which may live for thousands of requests.
  for (const over of ['end', 'close']) incoming.once(over, () => clearTimeout(timer))
  incoming.resume()
}
