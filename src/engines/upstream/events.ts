import { V1Error } from '../../contract/index.js'
import { unreached } from './refusal.js'

/** An event of more characters than this is no chunk of an answer. */
const MAX_EVENT = 8 * 2 ** 20

/** The data of each event of an event stream. Leaving the loop hangs up. */
export async function* eventsOf(response: Response, signal: AbortSignal): AsyncGenerator<string> {
  if (!response.body) return
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  let lastBefore = ''
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error) => unreached(error, signal))
      const piece = done ? decoder.decode() : decoder.decode(value, { stream: true })
      rest += piece
      // Of an event of megabytes most pieces end no line: all of it would be looked through for each.
      const ends = done || /[\r\n]/.test(lastBefore + piece)
      lastBefore = piece.slice(-1) || lastBefore
      const { events, left } = ends ? split(done ? `${rest}\n\n` : rest) : { events: [], left: rest }
      rest = left
      if (rest.length > MAX_EVENT) throw new V1Error(500, 'The upstream service did not send an event stream.')
      yield* events
      if (done) return
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** Whole events, and what has come of the next one. Lines end with `\n`, `\r\n` or, by the book, `\r`. */
function split(text: string): { events: string[]; left: string } {
  const events: string[] = []
  const lines = text.split(/\r\n|\n|\r(?!$)/)
  const last = lines.pop()!
  let data: string[] = []
  let pending: string[] = []
  for (const line of lines) {
    pending.push(line)
    if (line === '') {
      if (data.length > 0) events.push(data.join('\n'))
      data = []
      pending = []
    } else if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5))
  }
  pending.push(last)
  return { events, left: pending.join('\n') }
}
