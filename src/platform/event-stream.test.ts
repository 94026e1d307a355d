import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { eventData } from './event-stream.js'

function streamOf(pieces: readonly string[], canceled?: () => void) {
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(encoder.encode(piece))
      if (!canceled) controller.close()
    },
    cancel: () => canceled?.(),
  })
}

async function dataOf(pieces: readonly string[], most?: number): Promise<string[]> {
  const all: string[] = []
  for await (const data of eventData(streamOf(pieces), most)) all.push(data)
  return all
}

it('is the same however lines end and wherever the stream is cut', async () => {
  const line = fc.constantFrom('a', ' a', '', '{"b":1}', 'é', ':', 'data: x')
  const events = fc.array(fc.array(line, { minLength: 1, maxLength: 3 }), { maxLength: 5 })
  const aCase = fc.record({
    events,
    ends: fc.array(fc.constantFrom('\n', '\r\n', '\r'), { minLength: 1, maxLength: 5 }),
    prefix: fc.constantFrom('data:', 'data: '),
    cuts: fc.array(fc.nat(200)),
  })
  await fc.assert(
    fc.asyncProperty(aCase, async ({ events, ends, prefix, cuts }) => {
      // One blank behind the colon is none of the data, so a text that begins with one needs it.
      const lines = (each: string[]) => each.map((text) => `${text.startsWith(' ') ? 'data: ' : prefix}${text}`)
      const told = events.flatMap((each, i) => [': a comment', `event: e${i}`, ...lines(each), 'id: 7', ''])
      const text = told.reduce((before, line, i) => {
        const end = ends[i % ends.length]!
        // A `\n` by itself right behind a `\r` would be no line of its own.
        return `${before}${line}${line === '' && end === '\n' && before.endsWith('\r') ? '\r\n' : end}`
      }, '')
      const places = [...new Set([0, ...cuts, text.length])].filter((at) => at <= text.length).sort((a, b) => a - b)
      const pieces = places.slice(1).map((at, i) => text.slice(places[i], at))
      expect(await dataOf(pieces)).toEqual(events.map((each) => each.join('\n')))
    }),
  )
})

it.each(['data: [DONE]\r\r', 'data: [DONE]\r\n\r', 'data: [DONE]\n\n'])('does not wait behind %j', async (text) => {
  const events = eventData(streamOf([text], () => {}))
  expect(await events.next()).toEqual({ done: false, value: '[DONE]' })
  await events.return(undefined)
})

it('takes no notice of a mark of the byte order', async () => {
  expect(await dataOf(['\ufeffdata: 1\n\n'])).toEqual(['1'])
})

it('takes a field without a colon for one that is empty', async () => {
  expect(await dataOf(['data: a\ndata\ndata: b\n\n', 'data\n\n', 'datum\n\n'])).toEqual(['a\n\nb', ''])
})

it('has no data of an event without, nor of comments', async () => {
  expect(await dataOf([': wait\n\n', 'event: ping\n\n', 'data: a\n\n\n\n'])).toEqual(['a'])
})

describe('of an event that no blank line ends', () => {
  it.each([
    ['data: {"a":1}', ['{"a":1}']],
    ['data: {"a":1}\n', ['{"a":1}']],
    ['data: [DONE]', ['[DONE]']],
    ['data:  [DONE] ', [' [DONE] ']],
    ['data: {"a":', []],
    ['data: hal', []],
    ['event: x', []],
  ])('%j', async (last, found) => {
    expect(await dataOf(['data: first\n\n', last])).toEqual(['first', ...found])
  })
})

it('of events that are too long says so, and takes those of that length', async () => {
  expect(await dataOf(['data: 12', '34', '\n\n', 'data: 1234\n\n'], 10)).toEqual(['1234', '1234'])
  await expect(dataOf(['data: 12', '345', '6'], 10)).rejects.toThrow(RangeError)
})

it('hangs up where the loop is left', async () => {
  const canceled = vi.fn()
  for await (const data of eventData(streamOf(['data: a\n\n', 'data: b\n\n'], canceled))) {
    expect(data).toBe('a')
    break
  }
  expect(canceled).toHaveBeenCalledOnce()
})

it('hands on what the connection broke off with', async () => {
  const broken = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull: (controller) => controller.error(new TypeError('terminated')),
  })
  await expect(eventData(broken).next()).rejects.toThrow('terminated')
})

it('tells an event as soon as it is known to be over', async () => {
  const events = eventData(streamOf(['data: 1\r', '\n\r', '\ndata: 2\r\r', 'data: 3\n\n'], () => {}))
  for (const value of ['1', '2', '3']) expect(await events.next()).toEqual({ done: false, value })
  await events.return(undefined)
})

it.each(['a', 'a\ndata: '])('does not look through an event of many pieces for each of them: %j', async (end) => {
  const split = vi.spyOn(String.prototype, 'split')
  try {
    const sent = ['data: ', ...Array.from({ length: 500 }, () => 'a'.repeat(100) + end), '\n\n']
    expect(await dataOf(sent)).toEqual([sent.slice(1, -1).join('').replaceAll('data: ', '')])
    const looked = split.mock.contexts.reduce<number>((sum, text) => sum + String(text).length, 0)
    expect(looked).toBeLessThan(4 * sent.join('').length)
  } finally {
    split.mockRestore()
  }
})
