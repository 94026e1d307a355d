import { isSmall, spelled } from '../../platform/index.js'
import type { SignOfLife } from './paced.js'

/** One event of an event stream. The data is JSON, which holds no line breaks of its own. */
export const sseEvent = (data: string): string => `data: ${data}\n\n`

/** The same under a name, by which listeners choose. */
export const sseEventOf = (name: string, data: string): string => `event: ${name}\n${sseEvent(data)}`

/** The same in pieces, each made when it is asked for: one event may have all of a long answer, with what each token might have been. */
export function* sseEventInPieces(name: string, value: object): Generator<string, void, void> {
  if (isSmall(value)) {
    yield sseEventOf(name, JSON.stringify(value))
    return
  }
  yield `event: ${name}\ndata: `
  yield* spelled(value)
  yield '\n\n'
}

export const SSE_DONE = sseEvent('[DONE]')

/** What readers of events skip. Proxies end a stream that is silent for longer than 30 to 100 seconds, as if it were dead. */
export const SSE_SIGN: SignOfLife = { ms: 15_000, text: ': still at work\n\n' }

/** `x-accel-buffering`: nginx would gather an answer until it is whole. */
export const SSE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

export interface PulledSource {
  /** The next piece; undefined at the end. */
  pull(): Promise<string | undefined>
  /** The reader has left. */
  cancel(reason: unknown): void
}

/**
 * Text as a byte stream that is pulled: nothing is made that nobody asked for, so that a slow reader holds back the
 * source and memory stays flat.
 */
export function readableOf(source: PulledSource): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = await source.pull()
        if (piece === undefined) controller.close()
        else controller.enqueue(encoder.encode(piece))
      },
      cancel: (reason) => source.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}
