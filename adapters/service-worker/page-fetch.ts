import { V1Error } from '../../src/contract/errors.js'

/**
 * A page's plain `fetch` of `/v1` goes through the service worker, which browsers end when they like. What had not begun
 * is then asked by messages instead; what had ends in an error of ours, where it would end in a browser's own.
 *
 * @param device asks without the service worker
 * @returns undoes it
 */
export function guardFetch(basePath: string, device: typeof fetch): () => void {
  const own = globalThis.fetch
  let open = true
  const guarded: typeof fetch = async (input, init) => {
    const isThrough = open && navigator.serviceWorker.controller !== null && isBelow(basePath, addressOf(input))
    if (!isThrough) return own(input, init)
    const request = new Request(input, init)
    const again = request.clone()
    const { signal } = request
    try {
      return ended(await own(request), signal)
    } catch (error) {
      if (signal.aborted || !(error instanceof TypeError)) throw error
      return device(again)
    }
  }
  globalThis.fetch = guarded
  return () => {
    open = false
    // Somebody else may have put theirs around it since.
    if (globalThis.fetch === guarded) globalThis.fetch = own
  }
}

const addressOf = (input: RequestInfo | URL): string => (input instanceof Request ? input.url : String(input))

function isBelow(basePath: string, address: string): boolean {
  if (!URL.canParse(address, document.baseURI)) return false
  const { origin, pathname } = new URL(address, document.baseURI)
  return origin === location.origin && pathname.startsWith(`${basePath}/`)
}

/** The response, whose body ends well or in an error of ours; unless its reader left, who gets what readers get who leave. */
function ended(response: Response, signal: AbortSignal): Response {
  if (!response.body) return response
  const { status, statusText, headers, url } = response
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const parts = /^text\/event-stream/.test(headers.get('content-type') ?? '') ? new WholeEvents() : new Untouched()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          for (;;) {
            const { done, value } = await reader.read()
            const whole = done ? parts.rest : parts.take(value)
            if (whole.length > 0) controller.enqueue(whole)
            if (done) return controller.close()
            if (whole.length > 0) return
          }
        } catch (error) {
          const frame = signal.aborted ? undefined : parts.frameFor(stopped())
          if (!frame) return controller.error(signal.aborted ? error : stopped())
          controller.enqueue(frame)
          controller.close()
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  const guarded = new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>, { status, statusText, headers })
  return Object.defineProperty(guarded, 'url', { value: url })
}

const NOTHING = new Uint8Array(0)
const LINE_FEED = 10

/** Events as far as they are whole: half of one, with an error behind it, would be read as one that is broken. */
class WholeEvents {
  rest: Uint8Array = NOTHING

  take(bytes: Uint8Array): Uint8Array {
    const all = new Uint8Array(this.rest.length + bytes.length)
    all.set(this.rest)
    all.set(bytes, this.rest.length)
    let end = all.length
    while (end > 0 && !(all[end - 1] === LINE_FEED && all[end - 2] === LINE_FEED)) end--
    this.rest = all.subarray(end)
    return all.subarray(0, end)
  }

  frameFor(error: V1Error): Uint8Array {
    return new TextEncoder().encode(`data: ${JSON.stringify(error)}\n\n`)
  }
}

/** What is one document comes whole, or fails as a whole. */
class Untouched {
  readonly rest = NOTHING

  take(bytes: Uint8Array): Uint8Array {
    return bytes
  }

  frameFor(): undefined {
    return undefined
  }
}

function stopped(): V1Error {
  const message =
    'The browser ended the service worker through which this answer came. Ask again: device.fetch and device.client ' +
    'outlive it, and a response that is made in the background continues and can be read from where it stopped.'
  return new V1Error(503, message, { code: 'service_worker_stopped' })
}
