/**
 * The data of each event of an event stream. Leaving the loop hangs up. A RangeError where an event has more characters
 * than `most`.
 */
export async function* eventData(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  most = Number.POSITIVE_INFINITY,
): AsyncGenerator<string> {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  let afterReturn = false
  try {
    for (;;) {
      const { done, value: read = '' } = await reader.read()
      // A `\r` has ended its line, whatever comes: a `\n` behind it belongs to it.
      const piece = afterReturn && read.startsWith('\n') ? read.slice(1) : read
      if (read !== '') afterReturn = read.endsWith('\r')
      rest += piece
      // Of an event of megabytes most pieces end no line: all of it would be looked through for each.
      const ends = done || /[\r\n]/.test(piece)
      const { events, left } = ends ? split(done ? `${rest}\n\n` : rest) : { events: [], left: rest }
      rest = left
      if (rest.length > most) throw new RangeError('An event is too long.')
      // Some servers leave off the last blank line; where a connection was cut, half an event stands there.
      yield* done ? events.filter(isWhole) : events
      if (done) return
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

function isWhole(data: string): boolean {
  try {
    return data.trim() === '[DONE]' || JSON.parse(data) !== undefined
  } catch {
    return false
  }
}

/** Whole events, and what has come of the next one. Lines end with `\n`, `\r\n` or, by the book, `\r`. */
function split(text: string): { events: string[]; left: string } {
  const events: string[] = []
  const lines = text.split(/\r\n|\n|\r/)
  const last = lines.pop()!
  let data: string[] = []
  let pending: string[] = []
  for (const line of lines) {
    pending.push(line)
    if (line === '') {
      if (data.length > 0) events.push(data.join('\n'))
      data = []
      pending = []
    } else if (line === 'data' || line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5))
  }
  pending.push(last)
  return { events, left: pending.join('\n') }
}
