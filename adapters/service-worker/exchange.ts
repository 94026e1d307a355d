import { V1Error } from '../../src/contract/errors.js'
import type { FromHost } from './messages.js'

export interface ExchangeWays {
  pull(): void
  abort(): void
  /** Nothing more is to come. */
  over(): void
}

type Head = Extract<FromHost, { type: 'head' }>

/** One request that a host answers. Its end comes once, whatever happens to either side. */
export class HostExchange {
  /** Undefined when the host was lost before it had said a word: another one can begin anew. */
  readonly response: Promise<Response | undefined>
  readonly #ways: ExchangeWays
  #respond: (response: Response | undefined) => void = () => {}
  #body: ReadableStreamDefaultController<Uint8Array> | undefined
  #pulled: () => void = () => {}
  #over = false

  constructor(ways: ExchangeWays) {
    this.#ways = ways
    this.response = new Promise((resolve) => {
      this.#respond = resolve
    })
  }

  take(message: Exclude<FromHost, { type: 'pong' }>): void {
    if (this.#over) return
    if (message.type === 'head') this.#respond(this.#begin(message))
    else if (message.type === 'piece') {
      this.#body?.enqueue(message.bytes)
      this.#pulled()
    } else if (message.type === 'end') {
      this.#end()
      this.#body?.close()
    } else this.#fail(new V1Error(500, 'The answer was cut off.', { code: 'answer_broken' }))
  }

  /** The client has left. */
  leave(): void {
    if (this.#over) return
    this.#ways.abort()
    this.#end()
    this.#respond(new Response(null, { status: 499 }))
  }

  /** The host is gone. */
  lose(): void {
    if (!this.#over) this.#fail(workerLost())
  }

  #begin({ status, headers, first, done }: Head): Response {
    const init = { status, headers: headers as [string, string][] }
    if (done || !first) {
      this.#end()
      return new Response((first as Uint8Array<ArrayBuffer> | undefined) ?? null, init)
    }
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#body = controller
          controller.enqueue(first)
        },
        pull: () =>
          new Promise((resolve) => {
            this.#pulled = resolve
            this.#ways.pull()
          }),
        cancel: () => this.leave(),
      },
      { highWaterMark: 0 },
    )
    return new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>, init)
  }

  #fail(error: V1Error): void {
    this.#end()
    this.#respond(undefined)
    // Only event streams come in pieces.
    this.#body?.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(error)}\n\n`))
    this.#body?.close()
  }

  #end(): void {
    this.#over = true
    this.#ways.over()
    this.#pulled()
  }
}

/** What a client hears whose answer was computed in a worker that is no more. */
function workerLost(): V1Error {
  const message =
    'The worker that computed this answer is gone: its tab was closed, or its memory ran out. Send the request again.'
  return new V1Error(503, message, { code: 'host_lost' })
}
