/** How the suite talks to a service, whatever lies between: a call, a socket, or a page and its service worker. */
export interface Reach {
  /** Sends a request and reads all of the answer. `path` is everything after the origin. */
  fetch(path: string, init?: Init): Promise<Answer>
  /** Sends a request and leaves the body of the answer to be read, or not. */
  open(path: string, init?: Init): Promise<OpenAnswer>
  /** Gives a request up before its answer has begun, once `when` has come; settles once it is gone from here. */
  abandon(path: string, init: Init, when: () => Promise<unknown>): Promise<void>
  /** Requests may go out in pieces of unknown length, and with headers that a page may not set. */
  readonly raw: boolean
  /** The port on this machine, where there is one. */
  readonly port?: number
  /** The bytes that all buffers between engine and reader may hold together: the kernel's, the browser's, which may be without end. */
  readonly buffers: number
  close(): Promise<void>
}

export interface Init {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Several pieces: sent without a length, one after the other. */
  readonly body?: string | readonly string[]
}

export interface Head {
  readonly status: number
  readonly headers: Headers
}

export interface Answer extends Head {
  readonly text: string
}

export interface OpenAnswer extends Head {
  /** The next piece of the body; undefined at its end. */
  read(): Promise<string | undefined>
  /** Leaves, as a closed tab or a broken loop would. */
  leave(): void
}

/** Over anything that is called like `fetch`. */
export function reachThrough(
  call: (url: string, init: RequestInit) => Promise<Response>,
  origin: string,
  close: () => Promise<void> = async () => {},
): Reach {
  return {
    raw: true,
    port: Number(new URL(origin).port) || undefined,
    buffers: 16 * 2 ** 20,
    close,
    async fetch(path, init) {
      const response = await call(origin + path, requestInit(init))
      return { status: response.status, headers: response.headers, text: await response.text() }
    },
    async open(path, init) {
      const aborter = new AbortController()
      const response = await call(origin + path, { ...requestInit(init), signal: aborter.signal })
      const reader = response.body!.getReader()
      const decoder = new TextDecoder()
      return {
        status: response.status,
        headers: response.headers,
        read: async () => {
          const { done, value } = await reader.read()
          return done ? undefined : decoder.decode(value, { stream: true })
        },
        leave: () => aborter.abort(),
      }
    },
    async abandon(path, init, when) {
      const aborter = new AbortController()
      const answer = call(origin + path, { ...requestInit(init), signal: aborter.signal })
      await Promise.race([when(), answer])
      aborter.abort()
      await answer.catch(() => {})
    },
  }
}

function requestInit({ method, headers, body }: Init = {}): RequestInit {
  if (body === undefined || typeof body === 'string') return { method, headers, body }
  const pieces = body[Symbol.iterator]()
  const encoder = new TextEncoder()
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      // Apart in time too, so that no layer joins them.
      await new Promise((resolve) => setTimeout(resolve))
      const { done, value } = pieces.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
  })
  return { method, headers, body: stream, duplex: 'half' } as RequestInit
}
