/** Browsers give an event of a service worker about five minutes; the service itself says after one that a model loads. */
export const FIRST_WORD_MS = 100_000
/** A comment now and then shows that somebody is still there. */
export const COMMENT_MS = 15_000

const COMMENT = new TextEncoder().encode(': waiting for the first word\n\n')

/**
 * The response, or, where it takes longer than a service worker may take to respond, one that waits for it: comments,
 * which clients skip, until it is there. Its status is then 200, and an error comes as a frame.
 */
export async function patiently(
  response: Promise<Response>,
  leave: () => void,
  firstWordMs = FIRST_WORD_MS,
  commentMs = COMMENT_MS,
): Promise<Response> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, firstWordMs, undefined)
  })
  const early = await Promise.race([response, late]).finally(() => clearTimeout(timer))
  return early ?? waiting(response, leave, commentMs)
}

function waiting(response: Promise<Response>, leave: () => void, commentMs: number): Response {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  let left = false
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        reader ??= await readerOf(response, controller, commentMs, () => left)
        if (left) return
        const { done, value } = await reader.read()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel(reason) {
        left = true
        leave()
        return reader?.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
  const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache, no-transform' }
  return new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>, { headers })
}

async function readerOf(
  response: Promise<Response>,
  controller: ReadableStreamDefaultController<Uint8Array>,
  commentMs: number,
  left: () => boolean,
): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const comment = () => {
    if (!left()) controller.enqueue(COMMENT)
  }
  comment()
  const timer = setInterval(comment, commentMs)
  try {
    const answer = await response
    if (answer.ok && answer.body) return answer.body.getReader()
    const error = (await answer.text()).replace(/[\r\n]+/g, ' ')
    return new Response(`data: ${error}\n\n`).body!.getReader()
  } finally {
    clearInterval(timer)
  }
}

/** Whether a client has asked for a stream, and so skips comments. */
export function asksForStream(body: ArrayBuffer | undefined): boolean {
  if (!body) return false
  try {
    return (JSON.parse(new TextDecoder().decode(body)) as { stream?: unknown } | null)?.stream === true
  } catch {
    return false
  }
}
