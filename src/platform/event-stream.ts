/**
 * The data of each event of an event stream. Leaving the loop hangs up. A RangeError where an event has more characters
 * than `most`.
 */
export async function* eventData(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  most = Number.POSITIVE_INFINITY,
): AsyncGenerator<string> {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  /** Of the line that has not ended, and of the event. */
  let rest = ''
  let data: string[] = []
  /** Characters of its lines that have ended. */
  let held = 0
  let afterReturn = false
  try {
    for (;;) {
      const { done, value: read = '' } = await reader.read()
      // A `\r` has ended its line, whatever comes: a `\n` behind it belongs to it.
      const piece = afterReturn && read.startsWith('\n') ? read.slice(1) : read
      if (read !== '') afterReturn = read.endsWith('\r')
      rest += piece
      const events: string[] = []
      // Of a line of megabytes most pieces end none: all of it would be looked through for each.
      if (done || /[\r\n]/.test(piece)) {
        // Lines end with `\n`, `\r\n` or, by the book, `\r`.
        const lines = (done ? `${rest}\n\n` : rest).split(/\r\n|\n|\r/)
        rest = lines.pop()!
        for (const line of lines) {
          held += line.length + 1
          if (line === '') {
            if (data.length > 0) events.push(data.join('\n'))
            data = []
            held = 0
          } else if (line === 'data' || line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5))
        }
      }
      if (held + rest.length > most) throw new RangeError('An event is too long.')
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
