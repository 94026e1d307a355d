import { V1Error } from '../../src/contract/errors.js'
import type { V1 } from '../../src/index.js'
import { whenGone } from './locks.js'
import { type FromHost, linkLock, type PassedRequest, type ToHost } from './messages.js'

interface OpenReply {
  readonly aborter: AbortController
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined
}

/** The host's end of a link: answers what a service worker asks, until that service worker is gone. */
export class HostPort {
  readonly #port: MessagePort
  readonly #name: string
  readonly #services: readonly V1[]
  readonly #answering = new Map<number, OpenReply>()
  readonly #open = new AbortController()

  constructor(port: MessagePort, name: string, services: readonly V1[]) {
    this.#port = port
    this.#name = name
    this.#services = services
    port.onmessage = ({ data, ports }: MessageEvent<ToHost>) => {
      if (data.type === 'hello') whenGone(linkLock(name, data.link), this.#open.signal, () => this.#close())
      else if (data.type === 'ping') this.#tell({ type: 'pong' })
      else if (data.type === 'guest' && ports[0]) this.#welcome(data.id, ports[0])
      else if (data.type === 'request') void this.#answer(data.id, data)
      else if (data.type === 'pull') void this.#next(data.id)
      else if (data.type === 'abort') this.#leave(data.id)
    }
    // Where browsers tell; the lock tells everywhere.
    port.addEventListener('close', () => this.#close())
  }

  async #answer(id: number, passed: PassedRequest): Promise<void> {
    const answering: OpenReply = { aborter: new AbortController(), reader: undefined }
    this.#answering.set(id, answering)
    const request = requestOf(passed, answering.aborter.signal)
    const v1 = this.#services.find((service) => service.match(request))
    try {
      const response = v1 ? await v1.fetch(request) : notServed(request)
      const { status, headers } = response
      if (isStream(response)) answering.reader = response.body!.getReader()
      // What is not a stream is said in one word: it is either here or can be moved.
      const { done, value } = (await firstOf(answering.reader)) ?? { done: true, value: await bytesOf(response) }
      if (done) this.#answering.delete(id)
      this.#tell({ type: 'head', id, status, headers: [...headers], first: value, done })
    } catch {
      this.#break(id)
    }
  }

  async #next(id: number): Promise<void> {
    try {
      const read = await this.#answering.get(id)?.reader?.read()
      if (!read) return
      if (!read.done) return this.#tell({ type: 'piece', id, bytes: read.value })
      this.#answering.delete(id)
      this.#tell({ type: 'end', id })
    } catch {
      this.#break(id)
    }
  }

  #break(id: number): void {
    this.#answering.delete(id)
    this.#tell({ type: 'broken', id })
  }

  #leave(id: number): void {
    const answering = this.#answering.get(id)
    this.#answering.delete(id)
    answering?.aborter.abort()
    answering?.reader?.cancel().catch(() => {})
  }

  #welcome(id: number, port: MessagePort): void {
    new HostPort(port, this.#name, this.#services)
    this.#tell({ type: 'head', id, status: 204, headers: [], first: undefined, done: true })
  }

  #tell(message: FromHost): void {
    this.#port.postMessage(message)
  }

  #close(): void {
    if (this.#open.signal.aborted) return
    this.#open.abort()
    for (const id of [...this.#answering.keys()]) this.#leave(id)
    this.#port.close()
  }
}

/** The first piece that says something: signs of life are none, and whoever waits here is given them elsewhere. */
async function firstOf(reader: ReadableStreamDefaultReader<Uint8Array> | undefined) {
  let read = await reader?.read()
  while (read?.value?.[0] === COMMENT) read = await reader!.read()
  return read
}

const COMMENT = ':'.charCodeAt(0)

async function bytesOf(response: Response): Promise<Uint8Array | undefined> {
  return response.body ? new Uint8Array(await response.arrayBuffer()) : undefined
}

function isStream({ headers, body }: Response): boolean {
  return body !== null && /^text\/event-stream\b/.test(headers.get('content-type') ?? '')
}

/** A service worker asks only for what is served here; a page may ask for anything. */
function notServed({ url }: Request): Response {
  const message = `'${new URL(url).pathname}' is not a path of this device.`
  return Response.json(new V1Error(404, message, { code: 'unknown_url' }), { status: 404 })
}

export function requestOf({ url, method, headers, body }: PassedRequest, signal: AbortSignal): Request {
  return new Request(url, { method, headers: headers as [string, string][], body, signal })
}
