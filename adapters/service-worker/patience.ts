/**
 * Chromium gives a service worker five minutes to respond, and the service itself says after one that a model loads.
 * An answer that is read as a whole keeps the chance of an honest status for longer.
 */
const FIRST_WORD_MS = { events: 100_000, whole: 240_000 }
const SIGN_MS = 15_000

/** What clients skip: a comment between events, a space before a JSON document. */
const SIGN = { events: ': waiting for the first word\n\n', whole: ' ' }
const TYPE = { events: 'text/event-stream; charset=utf-8', whole: 'application/json' }

export interface HostPatience {
  /** How the client reads. */
  readonly reads: 'events' | 'whole'
  /** The client has left before the answer began. */
  leave(): void
  /** @default what browsers allow */
  readonly firstWordMs?: number
  /** How often a sign of life is given. @default 15000 */
  readonly signMs?: number
}

/**
 * The response, or, where it takes longer than a service worker may take, one that waits for it: signs of life, which
 * clients skip, until it is there. Its status is then 200; an error comes as a frame, and where events are not read,
 * as a connection that breaks.
 */
export async function patiently(response: Promise<Response>, patience: HostPatience): Promise<Response> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, patience.firstWordMs ?? FIRST_WORD_MS[patience.reads], undefined)
  })
  const early = await Promise.race([response, late]).finally(() => clearTimeout(timer))
  return early ?? waiting(response, patience)
}

function waiting(response: Promise<Response>, patience: HostPatience): Response {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  let left = false
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        reader ??= await readerOf(response, patience, (sign) => !left && controller.enqueue(sign))
        if (left) return
        const { done, value } = await reader.read()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel(reason) {
        left = true
        if (!reader) return patience.leave()
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
  const headers = { 'content-type': TYPE[patience.reads], 'cache-control': 'no-cache, no-transform' }
  return new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>, { headers })
}

async function readerOf(
  response: Promise<Response>,
  { reads, signMs = SIGN_MS }: HostPatience,
  give: (sign: Uint8Array) => void,
): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const sign = new TextEncoder().encode(SIGN[reads])
  give(sign)
  const timer = setInterval(give, signMs, sign)
  try {
    const answer = await response
    if (answer.ok && answer.body) return answer.body.getReader()
    const error = await answer.text()
    if (reads === 'whole') throw new Error(`The answer came late, and is an error: ${error}`)
    return new Response(`data: ${error.replace(/[\r\n]/g, ' ')}\n\n`).body!.getReader()
  } finally {
    clearInterval(timer)
  }
}

/** Whether a client has asked for a stream, and so reads events. */
export function wantsStream(body: ArrayBuffer | undefined): boolean {
  try {
    return (JSON.parse(new TextDecoder().decode(body)) as { stream?: unknown }).stream === true
  } catch {
    return false
  }
}
