/** One event of an event stream. The data is JSON, which holds no line breaks of its own. */
export const sseEvent = (data: string): string => `data: ${data}\n\n`

/** The same under a name, by which listeners choose. */
export const sseEventOf = (name: string, data: string): string => `event: ${name}\n${sseEvent(data)}`

export const SSE_DONE = sseEvent('[DONE]')

/** `x-accel-buffering`: nginx would gather an answer until it is whole. */
export const SSE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}
