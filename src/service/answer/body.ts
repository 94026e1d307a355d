import { V1Error } from '../../contract/index.js'
import { inTurns, isRecord, myTurn, type Slices } from '../../platform/index.js'
import type { BodyRoom } from './bodies.js'
import { ENCODINGS, inflated, isReadable } from './bodies.js'
import { parsedInSlices } from './json-in-slices.js'
import { lookedAround, modelIdOf } from './loader.js'
import { checkLongNumbers } from './long-numbers.js'
import type { Exchange, Service } from './service.js'

/** Levels of nesting beyond which a body is refused: whatever walks through it later may recurse. */
const MAX_DEPTH = 256
/** Lists and objects of a body: what reads it has each in its hands, and half a million of them are a megabyte. */
const MAX_CONTAINERS = 100_000

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Reads a JSON body, in which a model goes by its id from here on: it may be asked for by another name. */
export async function readJson(service: Service, exchange: Exchange, signal: AbortSignal): Promise<unknown> {
  const body = await readSent(service, exchange, signal)
  if (!isRecord(body) || typeof body.model !== 'string') return body
  await lookedAround(service.engine, signal)
  // It is nobody else's, and a copy of fifty thousand fields takes as long as their parsing.
  return Object.assign(body, { model: modelIdOf(service, body.model) })
}

/** The same, read further in pieces: conversations of tens of thousands of messages hold nobody up. */
export async function readRequest<T>(
  service: Service,
  exchange: Exchange,
  signal: AbortSignal,
  read: (body: unknown) => Slices<T>,
): Promise<T> {
  const body = await readJson(service, exchange, signal)
  return inTurns(read(body), signal, exchange.caller.id)
}

/**
 * Reads a JSON body as it was sent; stops reading once it is over the limit, whatever `Content-Length` has said. One
 * `of any type` may call itself what it likes, as `curl -d` does, where no page of the web sends it: a page may send a form
 * to any address unasked.
 */
export async function readSent(
  service: Service,
  exchange: Exchange,
  signal: AbortSignal,
  typed: 'as JSON' | 'of any type' = 'as JSON',
): Promise<unknown> {
  const { request, caller } = exchange
  const { headers } = request
  const isTyped = typed === 'as JSON' || isOfPage(headers)
  const saysType = headers.has('content-type')
  if (isTyped && saysType) checkType(headers)
  const encoding = checkedEncoding(headers, service.bodyLimit)
  signal.throwIfAborted()
  const room = service.bodies.begin(caller.id)
  const follow = () => room.giveUp(signal.reason)
  signal.addEventListener('abort', follow, { once: true })
  try {
    const sent = await readBytes(request, service.bodyLimit, room)
    room.throwIfGivenUp()
    // No body at all says what {} says: clients leave out what is wholly optional, and its type with it.
    if (sent.length === 0) return {}
    if (isTyped && !saysType) checkType(headers)
    const bytes = encoding === AS_IT_IS ? sent : await unpacked(sent, encoding, service.bodyLimit, room)
    exchange.bodyBytes = bytes.length
    const parse = () => inTurns(parsedInTurn(bytes), signal, caller.id)
    const body = await (bytes.length > LARGE ? service.bodies.inLine(caller.id, parse) : parse())
    // To look at every field of it takes as long again.
    if (bytes.length > LARGE) await myTurn(signal, caller.id)
    return body
  } finally {
    room.done()
    signal.removeEventListener('abort', follow)
  }
}

const AS_IT_IS = 'identity'

/** The limit is that of what was packed: a small body may be a large one. */
async function unpacked(sent: Uint8Array, encoding: string, limit: number, room: BodyRoom): Promise<Uint8Array> {
  const bytes = new GrowingBytes(limit)
  try {
    for await (const piece of inflated(sent, encoding)) {
      room.throwIfGivenUp()
      room.hold(sent.length + bytes.add(piece))
    }
    return bytes.taken()
  } finally {
    bytes.free()
  }
}

/** Of large bodies that are whole at the same time, a piece of one is looked through or parsed in each turn. */
const LARGE = 2 ** 16

function* parsedInTurn(bytes: Uint8Array): Slices<unknown> {
  if (bytes.length > LARGE) yield
  yield* checkDepth(bytes)
  let text: string
  let body: unknown
  try {
    text = utf8.decode(bytes)
    body = bytes.length > LARGE ? yield* parsedInSlices(text) : JSON.parse(text)
  } catch (error) {
    const why = error instanceof SyntaxError ? `not valid JSON: ${error.message}` : 'not valid UTF-8'
    throw new V1Error(400, `We could not parse the JSON body of your request: it is ${why}.`, { code: 'invalid_json' })
  }
  yield* checkLongNumbers(text, body)
  return body
}

/** Browsers say where a POST comes from, whatever a page does. */
const isOfPage = (headers: Headers): boolean => headers.has('origin') || headers.has('sec-fetch-site')

function checkType(headers: Headers): void {
  const type = headers.get('content-type') ?? ''
  if (isJson(type)) return
  const message = `Unsupported Content-Type '${type.slice(0, 100)}': send 'application/json'.`
  throw new V1Error(415, message, { code: 'unsupported_media_type' })
}

/** In which encoding a body comes, whose headers must say that it can be read. */
function checkedEncoding(headers: Headers, limit: number): string {
  const encoding = headers.get('content-encoding')?.toLowerCase() ?? AS_IT_IS
  if (!isReadable(encoding)) {
    const message = `Unsupported Content-Encoding '${encoding.slice(0, 100)}': send the body as it is, or one of ${ENCODINGS.join(', ')}.`
    throw new V1Error(415, message, { code: 'unsupported_content_encoding' })
  }
  if (Number(headers.get('content-length')) > limit) throw tooLarge(`${limit} bytes`)
  return encoding
}

/** JSON is UTF-8; a client that says it sent something else may be right. Two headers arrive as one, with a comma. */
function isJson(type: string): boolean {
  const [essence, ...parameters] = type.toLowerCase().split(';')
  if (essence!.trim() !== 'application/json') return false
  return parameters.every(
    (each) => !each.includes(',') && (!each.trim().startsWith('charset') || /^charset="?utf-8"?$/.test(each.trim())),
  )
}

function tooLarge(limit: string, cause?: unknown): V1Error {
  const message = `The body of your request is larger than ${limit}: shorten the messages.`
  return new V1Error(413, message, { code: 'request_too_large', cause })
}

/** By a client that hung up, which Deno tells so alone, or for a smaller limit before us: SvelteKit and h3 say that by a status. */
function brokenOff(cause: { readonly status?: unknown; readonly statusCode?: unknown } | undefined): never {
  if ((cause?.status ?? cause?.statusCode) === 413) throw tooLarge('this server takes', cause)
  const message = 'The body of your request broke off before its end: send it again.'
  throw new V1Error(400, message, { code: 'incomplete_body', cause })
}

async function readBytes(request: Request, limit: number, room: BodyRoom): Promise<Uint8Array> {
  // Firefox has no such property, which says nothing of the body; elsewhere null says that there is none.
  const body = request.body as ReadableStream<Uint8Array> | null | undefined
  if (body === undefined) return readWhole(request, limit, room)
  if (body === null) return new Uint8Array()
  const reader = body.getReader()
  // Cancelling ends a pending read: a client may stop sending without hanging up.
  room.onGivenUp = (reason) => void reader.cancel(reason).catch(() => {})
  const bytes = new GrowingBytes(limit)
  try {
    for (;;) {
      await room.turn()
      room.throwIfGivenUp()
      const { done, value } = await reader.read().catch(brokenOff)
      room.throwIfGivenUp()
      if (done) return bytes.taken()
      room.hold(bytes.add(value))
      room.throwIfGivenUp()
    }
  } catch (error) {
    void reader.cancel().catch(() => {})
    throw error
  } finally {
    bytes.free()
  }
}

async function readWhole(request: Request, limit: number, room: BodyRoom): Promise<Uint8Array> {
  const buffer = await new Promise<ArrayBuffer>((resolve, reject) => {
    room.onGivenUp = reject
    request.arrayBuffer().then(resolve, reject)
  })
  if (buffer.byteLength > limit) throw tooLarge(`${limit} bytes`)
  room.hold(buffer.byteLength)
  room.throwIfGivenUp()
  return new Uint8Array(buffer)
}

/**
 * Bytes that come in pieces, in one place that grows where it stands: a body of a million pieces takes no more room than
 * it has bytes, and gives them back to the system at once. Buffers that are left to be collected stay with the C library,
 * which may keep them for good. Most bodies are one piece, and the system takes long to set such a place apart.
 */
class GrowingBytes {
  readonly #limit: number
  #first: Uint8Array | undefined
  #buffer: ArrayBuffer | undefined
  #size = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** How many are held then; throws where there is no room for them. */
  add(piece: Uint8Array): number {
    const size = this.#size + piece.byteLength
    if (size > this.#limit) throw tooLarge(`${this.#limit} bytes`)
    if (this.#size === 0) this.#first = piece
    else this.#append(piece, size)
    this.#size = size
    return this.#buffer?.byteLength ?? size
  }

  #append(piece: Uint8Array, size: number): void {
    this.#buffer ??= new ArrayBuffer(0, { maxByteLength: this.#limit })
    const buffer = this.#buffer
    if (size > buffer.byteLength) buffer.resize(Math.min(this.#limit, Math.max(size, 2 * buffer.byteLength)))
    const bytes = new Uint8Array(buffer)
    if (this.#first) bytes.set(this.#first)
    this.#first = undefined
    bytes.set(piece, this.#size)
  }

  /** In a buffer whose size does not change: browsers decode no other. */
  taken(): Uint8Array {
    if (this.#first) {
      const { buffer } = this.#first
      const isFixed = buffer instanceof ArrayBuffer && !(buffer as { resizable?: boolean }).resizable
      return isFixed ? this.#first : this.#first.slice()
    }
    return this.#buffer ? new Uint8Array(this.#buffer, 0, this.#size).slice() : new Uint8Array()
  }

  free(): void {
    this.#buffer?.resize(0)
  }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** On the bytes, before anything is made of them. */
function* checkDepth(bytes: Uint8Array): Slices<void> {
  let depth = 0
  let containers = 0
  let pause = LARGE
  for (let i = 0; i < bytes.length; i++) {
    if (i > pause) {
      yield
      pause = i + LARGE
    }
    const byte = bytes[i]
    if (byte === QUOTE) i = endOfString(bytes, i)
    else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
      if (++containers > MAX_CONTAINERS) {
        const message = `The body of your request has more than ${MAX_CONTAINERS} lists and objects: send less at once.`
        throw new V1Error(400, message, { code: 'json_too_many' })
      }
      if (++depth > MAX_DEPTH) {
        const message = `The body of your request is nested more than ${MAX_DEPTH} levels deep.`
        throw new V1Error(400, message, { code: 'json_too_deep' })
      }
    } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) depth--
  }
}

/** The place of the quote that ends it: the first that an even number of backslashes stands before. */
function endOfString(bytes: Uint8Array, start: number): number {
  for (let quote = bytes.indexOf(QUOTE, start + 1); quote !== -1; quote = bytes.indexOf(QUOTE, quote + 1)) {
    let before = quote
    while (bytes[before - 1] === BACKSLASH) before--
    if ((quote - before) % 2 === 0) return quote
  }
  return bytes.length
}
