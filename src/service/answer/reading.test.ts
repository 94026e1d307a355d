/** Lists as long as a body holds are read in pieces, so that nobody else waits for all of one. */
import { describe, expect, it } from 'vitest'
import { mapped, type Slices } from '../../platform/turns.js'
import { readChatRequest } from '../endpoints/chat/route.js'
import { readMessageRequest } from '../endpoints/messages/request.js'
import { readChat } from '../endpoints/ollama/request.js'
import { readResponseRequest } from '../endpoints/responses/wire/request.js'

const COUNT = 20_000
/** A millisecond or so. */
const MOST = 1000

interface Read {
  readonly result: unknown
  /** Items that were looked at between two pauses, at most. */
  readonly most: number
}

function readOf(read: (items: readonly object[]) => Slices<unknown>): Read {
  let looked = 0
  let most = 0
  const items = Array.from({ length: COUNT }, (_, i) => ({
    get role() {
      looked++
      return i % 2 ? 'assistant' : 'user'
    },
    content: `${i}`,
  }))
  // The last one is the user's.
  const reading = read(items.slice(0, -1))
  for (;;) {
    const { done, value } = reading.next()
    most = Math.max(most, looked)
    looked = 0
    if (done) return { result: value, most }
  }
}

const json = ({ result }: Read) => JSON.stringify(result)

describe('a conversation of 20,000 messages', () => {
  it.each<[string, (messages: readonly object[]) => Slices<unknown>]>([
    ['chat', (messages) => readChatRequest({ model: 'a/b', messages })],
    ['responses', (input) => readResponseRequest({ model: 'a/b', input })],
    ["Ollama's", (messages) => readChat({ model: 'a/b', messages } as never, 'a/b', () => undefined)],
    ["Anthropic's", (messages) => readMessageRequest({ model: 'a/b', max_tokens: 1, messages })],
  ])('is read in pieces, and whole: %s', (_, read) => {
    const seen = readOf(read)
    expect(seen.most).toBeGreaterThan(0)
    // A reader may look at the role of an item more than once.
    expect(seen.most).toBeLessThanOrEqual(4 * MOST)
    expect(json(seen)).toContain(`"${COUNT - 2}"`)
    expect(json(seen).match(/"role"/g)).toHaveLength(COUNT - 1)
  })
})

describe('a list that is walked in pieces', () => {
  it('keeps order and places', () => {
    const walk = mapped(
      Array.from({ length: 2 * MOST }, (_, i) => i),
      (item, place) => [item, place],
    )
    let pauses = 0
    for (;;) {
      const { done, value } = walk.next()
      if (done) {
        expect(value).toEqual(Array.from({ length: 2 * MOST }, (_, i) => [i, i]))
        break
      }
      pauses++
    }
    expect(pauses).toBeGreaterThan(1)
  })
})
