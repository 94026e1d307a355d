import { deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { V1Error } from '../../contract/errors.js'
import { Bodies, BodyRoom } from './bodies.js'
import { readJson, readRequest, readSent } from './body.js'
import { parsedInSlices } from './json-in-slices.js'
import type { Exchange, Service } from './service.js'

const never = new AbortController().signal
const utf8 = new TextEncoder()
const JSON_TYPE = { 'content-type': 'application/json' }

/** A body of these pieces, of which nobody knows how many come; `left` once nobody wants more of it. */
function bodyOf(pieces: Iterable<Uint8Array | string>) {
  const iterator = pieces[Symbol.iterator]()
  const seen = { pulled: 0, left: undefined as unknown }
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        seen.pulled++
        const { done, value } = iterator.next()
        if (done) controller.close()
        else controller.enqueue(typeof value === 'string' ? utf8.encode(value) : value)
      },
      cancel: (reason) => {
        seen.left = reason ?? 'left'
      },
    },
    { highWaterMark: 0 },
  )
  return { body, seen }
}

interface Setup {
  readonly limit?: number
  readonly turn?: () => Promise<void> | undefined
  readonly headers?: Record<string, string>
  /** Hears each time how much is held. */
  readonly held?: (bytes: readonly number[]) => void
}

/** A request with such a body, and what is seen while it is read. */
function setUp(body: RequestInit['body'], { limit = 1000, turn = () => undefined, headers = {}, held }: Setup = {}) {
  const room = { held: [] as number[], done: 0, stop: (_: unknown) => {}, caller: '' }
  const service = {
    bodyLimit: limit,
    bodies: {
      inLine: <T>(_: string, read: () => Promise<T>) => read(),
      begin(caller: string) {
        const body = new BodyRoom(new Bodies(Number.POSITIVE_INFINITY), caller)
        Object.assign(room, { caller, stop: (reason: unknown) => body.giveUp(reason) })
        const hold = (bytes: number) => {
          room.held.push(bytes)
          held?.(room.held)
        }
        return Object.assign(body, { turn, hold, done: () => room.done++ })
      },
    },
    engine: { models: [{ id: 'a/b' }] },
    aliases: new Map([['alias', 'a/b']]),
  } as unknown as Service
  const all = new Headers(JSON_TYPE)
  for (const [name, value] of Object.entries(headers)) all.set(name, value)
  if (all.get('content-type') === '') all.delete('content-type')
  const request = new Request('http://x', { method: 'POST', body, headers: all, duplex: 'half' } as RequestInit)
  // A text would bring a type of its own.
  if (headers['content-type'] === '') request.headers.delete('content-type')
  const exchange = { request, caller: { id: 'me' } } as unknown as Exchange
  return { service, exchange, room, request }
}

const read = (body: RequestInit['body'], part?: Setup) => {
  const { service, exchange } = setUp(body, part)
  return readSent(service, exchange, never)
}
const bytesIn = (text: string) => Array.from(utf8.encode(text), (byte) => Uint8Array.of(byte))

describe('a body', () => {
  it('is read whole, however it is cut, and says how long it was', async () => {
    const text = JSON.stringify({ a: 'ä€🌍' })
    for (const body of [
      text,
      `\ufeff${text}`,
      utf8.encode(text),
      bodyOf(bytesIn(text)).body,
      bodyOf(['', text]).body,
    ]) {
      const { service, exchange, room } = setUp(body)
      expect(await readSent(service, exchange, never)).toEqual({ a: 'ä€🌍' })
      expect(exchange.bodyBytes).toBe(utf8.encode(text).length + (body === `\ufeff${text}` ? 3 : 0))
      expect([room.done, room.caller]).toEqual([1, 'me'])
    }
  })

  it.each<[string, RequestInit['body'], string, RegExp]>([
    ['blank', ' ', 'invalid_json', /not valid JSON: \w/],
    ['no JSON', '{"a":', 'invalid_json', /not valid JSON: \w/],
    ['more than JSON', '{}x', 'invalid_json', /not valid JSON/],
    ['no UTF-8', Uint8Array.of(0x22, 0xff, 0x22), 'invalid_json', /it is not valid UTF-8\.$/],
    ['UTF-8 that is cut', utf8.encode('"ä').slice(0, 2), 'invalid_json', /not valid/],
  ])('that is %s is refused', async (_, body, code, message) => {
    const { service, exchange, room } = setUp(body)
    const refused = readSent(service, exchange, never)
    await expect(refused).rejects.toMatchObject({ status: 400, code })
    await expect(refused).rejects.toThrow(message)
    expect(room.done).toBe(1)
  })

  it('is as deep as its lists and objects are, whatever its strings hold', async () => {
    const written = fc.string({ unit: fc.constantFrom('\\', '"', '[', ']', '{', '}', 'a'), maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(written, written, fc.constantFrom(254, 255, 256, 257), async (one, other, depth) => {
        const text = `${'[{"a":'.repeat(depth >> 1)}${depth % 2 ? '[' : ''}`
        const end = `${depth % 2 ? ']' : ''}${'}]'.repeat(depth >> 1)}`
        const inner = `${JSON.stringify(one)}${depth % 2 ? `,${JSON.stringify(other)}` : ''}`
        const reading = read(`${text}${inner}${end}`, { limit: 10_000 })
        if (depth <= 256) expect(await reading).toBeInstanceOf(Array)
        else await expect(reading).rejects.toMatchObject({ status: 400, code: 'json_too_deep' })
      }),
      { numRuns: 60 },
    )
    // What is closed does not count.
    expect(await read(`[${'[{}],'.repeat(300)}1]`, { limit: 10_000 })).toHaveLength(301)
    await expect(read('['.repeat(300))).rejects.toThrow('nested more than 256 levels deep.')
    await expect(read(`"${'['.repeat(300)}`)).rejects.toMatchObject({ code: 'invalid_json' })
  })

  it('may have a hundred thousand lists and objects, and no more', async () => {
    const of = (lists: number) => `[${'[],{},'.repeat((lists - 2) / 2)}[]]`
    expect(await read(of(100_000), { limit: 10 ** 6 })).toHaveLength(99_999)
    const reading = read(of(100_002), { limit: 10 ** 6 })
    await expect(reading).rejects.toMatchObject({ status: 400, code: 'json_too_many' })
    await expect(reading).rejects.toThrow('more than 100000 lists and objects: send less at once.')
  })
})

describe('a string in a body', () => {
  it.each([0, 1, 2, 3, 4])(
    'ends at the first quote that an even number of backslashes stands before: %i',
    async (many) => {
      const before = '\\'.repeat(many)
      const brackets = '['.repeat(300)
      // Behind an odd number it goes on, and what follows is in it.
      const reading = read(`["a${before}",${brackets}${many % 2 ? '"]' : ''}`)
      if (many % 2) expect(await reading).toHaveLength(1)
      else await expect(reading).rejects.toMatchObject({ code: 'json_too_deep' })
    },
  )
})

describe('the type of a body', () => {
  it.each([
    ['text/plain', false],
    ['', false],
    ['application/jsonp', false],
    ['application/json, application/json', false],
    ['application/json; charset=utf-16', false],
    ['application/json; charset=utf-8x', false],
    ['application/json; charset=x charset=utf-8', false],
    ['application/json; charset="utf-8', true],
    ['application/json; charsets=x', false],
    ['application/json; q=1; charset=utf-8', true],
    ['application/json; q=1, application/json', false],
    ['application/json', true],
    [' Application/JSON ; Charset="UTF-8"', true],
    ['application/json;charset=utf-8', true],
  ])('%j is taken: %s', async (type, taken) => {
    const reading = read('{}', { headers: { 'content-type': type } })
    if (taken) expect(await reading).toEqual({})
    else await expect(reading).rejects.toMatchObject({ status: 415, code: 'unsupported_media_type' })
  })

  it('is told where it is refused, as far as it is short', async () => {
    const refused = (headers: Record<string, string>) => read('{}', { headers })
    await expect(refused({ 'content-type': `text/${'x'.repeat(200)}` })).rejects.toThrow(
      `Unsupported Content-Type 'text/${'x'.repeat(95)}': send 'application/json'.`,
    )
    await expect(refused({ 'content-type': '' })).rejects.toThrow("Content-Type ''")
    const odd = refused({ 'content-encoding': 'b'.repeat(200) })
    await expect(odd).rejects.toMatchObject({ status: 415, code: 'unsupported_content_encoding' })
    await expect(odd).rejects.toThrow(`'${'b'.repeat(100)}': send the body as it is, or one of identity, gzip`)
  })

  it('may be any where no page sends it, if the endpoint takes that', async () => {
    const anyType = (headers: Record<string, string>) => {
      const { service, exchange } = setUp('{}', { headers: { 'content-type': 'text/plain', ...headers } })
      return readSent(service, exchange, never, 'of any type')
    }
    expect(await anyType({})).toEqual({})
    const refused = { status: 415, code: 'unsupported_media_type' }
    for (const [name, value] of [
      ['origin', 'https://page.test'],
      ['sec-fetch-site', 'same-origin'],
    ] as const) {
      // A browser alone may set them on a request.
      const { service, exchange, request } = setUp('{}', { headers: { 'content-type': 'text/plain' } })
      const headers = new Headers(request.headers)
      headers.set(name, value)
      Object.defineProperty(request, 'headers', { value: headers })
      await expect(readSent(service, exchange, never, 'of any type')).rejects.toMatchObject(refused)
      headers.set('content-type', 'application/json')
      expect(await readSent(service, exchange, never, 'of any type')).toEqual({})
    }
  })
})

describe('a body that is packed', () => {
  it.each(['gzip', 'x-gzip', 'GZIP', 'deflate'])('as %s is read', async (encoding) => {
    const text = JSON.stringify({ a: 'b'.repeat(500) })
    const packed = encoding === 'deflate' ? deflateSync(text) : gzipSync(text)
    const { service, exchange, room } = setUp(packed, { headers: { 'content-encoding': encoding } })
    expect(await readSent(service, exchange, never)).toEqual({ a: 'b'.repeat(500) })
    expect(exchange.bodyBytes).toBe(text.length)
    // Both are held while it is unpacked.
    expect(room.held[0]).toBe(packed.length)
    expect(Math.max(...room.held)).toBeGreaterThanOrEqual(packed.length + text.length)
  })

  it('is no larger than others may be, and is what it says', async () => {
    const headers = { 'content-encoding': 'gzip' }
    const bomb = gzipSync(' '.repeat(5_000_000))
    await expect(read(bomb, { headers, limit: 10_000 })).rejects.toMatchObject({ status: 413 })
    const odd = read('{}', { headers })
    await expect(odd).rejects.toMatchObject({ status: 400, code: 'invalid_encoding' })
    await expect(odd).rejects.toThrow("The body of your request is not what its Content-Encoding 'gzip' says.")
    expect(await read('{}', { headers: { 'content-encoding': 'identity' } })).toEqual({})
  })

  it('is left in the middle where somebody needs its room', async () => {
    const full = new Error('full')
    const { service, exchange, room } = setUp(gzipSync(JSON.stringify('x'.repeat(200_000))), {
      headers: { 'content-encoding': 'gzip' },
      limit: 300_000,
      held: (bytes) => {
        if (bytes.length === 2) room.stop(full)
      },
    })
    await expect(readSent(service, exchange, never)).rejects.toBe(full)
    expect(room.held).toHaveLength(2)
  })
})

describe('a body that is too large', () => {
  const refused = { status: 413, code: 'request_too_large' }

  it('is left as soon as it is, and not read where it says so itself', async () => {
    const endless = bodyOf(
      (function* () {
        for (;;) yield ' '.repeat(400)
      })(),
    )
    const reading = read(endless.body)
    await expect(reading).rejects.toMatchObject(refused)
    await expect(reading).rejects.toThrow('larger than 1000 bytes')
    expect(endless.seen).toEqual({ pulled: 3, left: 'left' })
    const declared = bodyOf(['{}'])
    await expect(read(declared.body, { headers: { 'content-length': '1001' } })).rejects.toMatchObject(refused)
    expect(declared.seen.pulled).toBe(0)
    expect(await read('{}', { headers: { 'content-length': '1000' } })).toEqual({})
  })

  it('is one byte larger than one that is read', async () => {
    for (const cut of [[], [500], [1, 999]]) {
      const pieces = (length: number) => {
        const text = '{}'.padEnd(length)
        return [...cut, length].map((to, i) => text.slice(i === 0 ? 0 : cut[i - 1], to))
      }
      expect(await read(bodyOf(pieces(1000)).body)).toEqual({})
      await expect(read(bodyOf(pieces(1001)).body)).rejects.toMatchObject(refused)
    }
  })
})

describe('what is held of a body', () => {
  it('is told as it grows: in place, twice as much each time, and never more than may be', async () => {
    const pieces = [100, 100, 100, 100, 500, 100].map((length) => ' '.repeat(length))
    const { service, exchange, room } = setUp(bodyOf([...pieces.slice(0, -1), '{}'.padEnd(100)]).body)
    expect(await readSent(service, exchange, never)).toEqual({})
    expect(room.held).toEqual([100, 200, 400, 400, 900, 1000])
  })

  it('is its only piece, where it has one', async () => {
    const grown = vi.spyOn(ArrayBuffer.prototype, 'resize')
    const { service, exchange, room } = setUp(bodyOf(['', '{}']).body)
    await readSent(service, exchange, never)
    expect(room.held).toEqual([0, 2])
    expect(grown).not.toHaveBeenCalled()
    grown.mockRestore()
  })

  it.each<[string, (size: number) => ArrayBufferLike, boolean]>([
    ['stays where it lies', (size) => new ArrayBuffer(size), true],
    ['is copied where its buffer may grow', (size) => new ArrayBuffer(size, { maxByteLength: 2 * size }), false],
    ['is copied where its buffer is shared', (size) => new SharedArrayBuffer(size), false],
  ])('that is one piece %s: browsers decode what is of one size, and theirs alone', async (_, bufferOf, stays) => {
    const piece = new Uint8Array(bufferOf(2))
    piece.set(utf8.encode('{}'))
    const decode = vi.spyOn(TextDecoder.prototype, 'decode')
    expect(await read(bodyOf([piece]).body)).toEqual({})
    const [decoded] = decode.mock.calls.at(-1) as [Uint8Array]
    decode.mockRestore()
    expect([decoded.byteLength, decoded.buffer === piece.buffer]).toEqual([2, stays])
  })

  it('is given back once it is read, or refused', async () => {
    const long = JSON.stringify('x'.repeat(200_000))
    const headers = { 'content-encoding': 'gzip' }
    for (const reading of [
      () => read(bodyOf(['{', '}']).body),
      () => read(gzipSync(long), { headers, limit: 300_000 }),
      () => expect(read(bodyOf(['{', ' ', ' '.repeat(1000)]).body)).rejects.toMatchObject({ status: 413 }),
      () => expect(read(gzipSync(long), { headers, limit: 150_000 })).rejects.toMatchObject({ status: 413 }),
    ]) {
      const grown = vi.spyOn(ArrayBuffer.prototype, 'resize')
      await reading()
      const sizes = (grown.mock.contexts as ArrayBuffer[]).map((buffer) => buffer.byteLength)
      grown.mockRestore()
      expect(new Set(sizes)).toEqual(new Set([0]))
    }
  })

  it('waits for its turn before each piece', async () => {
    const gates: (() => void)[] = []
    const { body, seen } = bodyOf(['{', '}'])
    const { service, exchange } = setUp(body, { turn: () => new Promise<void>((resolve) => gates.push(resolve)) })
    const reading = readSent(service, exchange, never)
    for (let piece = 0; piece < 3; piece++) {
      await vi.waitFor(() => expect(gates.length).toBe(piece + 1), { interval: 1 })
      await new Promise((resolve) => setImmediate(resolve))
      expect(seen.pulled).toBe(piece)
      gates[piece]!()
    }
    expect(await reading).toEqual({})
  })
})

describe('a body that nobody waits for any more', () => {
  const unfinished = () => {
    const seen = { left: undefined as unknown }
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => controller.enqueue(utf8.encode('{')),
        pull: () => new Promise(() => {}),
        cancel: (reason) => {
          seen.left = reason
        },
      },
      { highWaterMark: 0 },
    )
    return { body, seen }
  }

  it('is left at once: by its client, by the clock, or by who needs its room', async () => {
    for (const by of ['signal', 'room'] as const) {
      const { body, seen } = unfinished()
      const leaving = new AbortController()
      const { service, exchange, room } = setUp(body)
      const reading = readSent(service, exchange, leaving.signal)
      reading.catch(() => {})
      await vi.waitFor(() => expect(room.held.length).toBe(1), { interval: 1 })
      const reason = new Error(by)
      if (by === 'signal') leaving.abort(reason)
      else room.stop(reason)
      // The first reason counts.
      room.stop(new Error('late'))
      await expect(reading).rejects.toBe(reason)
      expect([seen.left, room.done]).toEqual([reason, 1])
    }
  })

  it('is not begun, and lets go of the signal once it is read', async () => {
    const { service, exchange, room } = setUp('{}')
    await expect(readSent(service, exchange, AbortSignal.abort('gone'))).rejects.toBe('gone')
    expect(room.caller).toBe('')
    const { signal } = new AbortController()
    const [added, removed] = [vi.spyOn(signal, 'addEventListener'), vi.spyOn(signal, 'removeEventListener')]
    const again = setUp('{}')
    await readSent(again.service, again.exchange, signal)
    const named = ([name, listener]: readonly unknown[]) => [name, listener]
    expect(removed.mock.calls.map(named)).toEqual(added.mock.calls.map(named))
    expect(added).toHaveBeenCalled()
  })

  it('is left where there is none', async () => {
    const leaving = new AbortController()
    const { service, exchange, room } = setUp(null)
    const reading = readSent(service, exchange, leaving.signal)
    leaving.abort('gone')
    await expect(reading).rejects.toBe('gone')
    expect(room.done).toBe(1)
  })

  it('is given up between two pieces, too', async () => {
    let pass = () => {}
    const turn = () =>
      new Promise<void>((resolve) => {
        pass = resolve
      })
    const { body, seen } = bodyOf(['{}'])
    const { service, exchange, room } = setUp(body, { turn })
    const reading = readSent(service, exchange, never)
    reading.catch(() => {})
    await new Promise((resolve) => setImmediate(resolve))
    room.stop('enough')
    pass()
    await expect(reading).rejects.toBe('enough')
    expect(seen.pulled).toBe(0)
  })
})

describe('in a browser that has no property for it, a body', () => {
  function without(body: string, part: Setup = {}, arrayBuffer?: () => Promise<ArrayBuffer>) {
    const made = setUp(body, part)
    Object.defineProperty(made.request, 'body', { value: undefined })
    if (arrayBuffer) Object.defineProperty(made.request, 'arrayBuffer', { value: arrayBuffer })
    return made
  }

  it('is read under the same limits', async () => {
    const { service, exchange, room } = without('{}'.padEnd(1000))
    expect(await readSent(service, exchange, never)).toEqual({})
    expect(room.held).toEqual([1000])
    const large = without('{}'.padEnd(1001))
    await expect(readSent(large.service, large.exchange, never)).rejects.toMatchObject({ status: 413 })
    const broken = without('{}', {}, () => Promise.reject(new Error('gone')))
    await expect(readSent(broken.service, broken.exchange, never)).rejects.toThrow('gone')
  })

  it('is left at once, and where there is no room for it', async () => {
    const leaving = new AbortController()
    const { service, exchange } = without('{}', {}, () => new Promise(() => {}))
    const reading = readSent(service, exchange, leaving.signal)
    leaving.abort('gone')
    await expect(reading).rejects.toBe('gone')
    const full = without('{}')
    const room = new BodyRoom(new Bodies(1), 'me')
    full.service.bodies.begin = () =>
      Object.assign(room, { turn: () => undefined, hold: () => room.giveUp(new V1Error(503, 'full')) })
    await expect(readSent(full.service, full.exchange, never)).rejects.toThrow('full')
  })
})

describe('a large body', () => {
  const large = JSON.stringify(Array.from({ length: 20_000 }, (_, i) => [i]))

  let callers = 0
  const parsing = (text: string) => Array.from(parsedInSlices(text)).length

  /** How often it waits for a turn of its own. */
  const pausesOf = async (text: string) => {
    const { service, exchange } = setUp(text, { limit: 10 ** 6 })
    // Who has begun much of late, as on a slow machine, would wait once more.
    Object.assign(exchange, { caller: { id: `${++callers}` } })
    const { signal } = new AbortController()
    const added = vi.spyOn(signal, 'addEventListener')
    expect(await readSent(service, exchange, signal)).toEqual(JSON.parse(text))
    // One of them is there as long as it is read.
    return added.mock.calls.length - 1
  }

  it('is looked through and parsed in turns of its own', async () => {
    expect(parsing(large)).toBeGreaterThan(2)
    // Before it is looked through, at each further 64 KB, once more for long numbers, and before it is gone on with.
    expect(await pausesOf(large)).toBe(2 + 2 * Math.floor(large.length / 2 ** 16) + parsing(large))
  })

  it('is one byte larger than one that needs none', async () => {
    const list = JSON.stringify(Array.from({ length: 7000 }, (_, i) => [i]))
    expect(await pausesOf(list.padEnd(2 ** 16))).toBe(0)
    const more = list.padEnd(2 ** 16 + 1)
    expect(await pausesOf(more)).toBe(3 + parsing(more))
  })

  it('is read once those of its caller that came before are', async () => {
    const lined = async (text: string) => {
      const { service, exchange } = setUp(text, { limit: 10 ** 6 })
      const line = vi.spyOn(service.bodies, 'inLine')
      await readSent(service, exchange, never)
      return line.mock.calls.map(([caller]) => caller === exchange.caller.id)
    }
    expect(await lined('[1]'.padEnd(2 ** 16))).toEqual([])
    expect(await lined('[1]'.padEnd(2 ** 16 + 1))).toEqual([true])
  })

  it('that is left meanwhile is not parsed', async () => {
    const leaving = new AbortController()
    const { service, exchange } = setUp(large, { limit: 10 ** 6 })
    const parse = vi.spyOn(JSON, 'parse')
    // It has come by then.
    Object.defineProperty(exchange, 'bodyBytes', { set: () => leaving.abort('gone') })
    await expect(readSent(service, exchange, leaving.signal)).rejects.toBe('gone')
    expect(parse).not.toHaveBeenCalled()
    parse.mockRestore()
  })
})

describe('the model in a body', () => {
  const model = async (body: unknown) => {
    const { service, exchange } = setUp(JSON.stringify(body))
    return readJson(service, exchange, never)
  }

  it('goes by its id from here on, whatever it was called', async () => {
    expect(await model({ model: 'alias', a: 1 })).toEqual({ model: 'a/b', a: 1 })
    expect(await model({ model: 'b' })).toEqual({ model: 'a/b' })
    for (const same of [{ model: 'a/b' }, { model: 'no/such' }, { model: 5 }, [1], 'x', null])
      expect(await model(same)).toEqual(same)
  })

  it('is known once the engine has looked around', async () => {
    const { service, exchange } = setUp(JSON.stringify({ model: 'late' }))
    const models: { id: string }[] = []
    const ready = new Promise<void>((resolve) => setImmediate(resolve)).then(() => void models.push({ id: 'x/late' }))
    const engine = { models, ready } as unknown as Service['engine']
    expect(await readJson({ ...service, engine }, exchange, never)).toEqual({ model: 'x/late' })
  })

  it('is read further in pieces, by whoever reads what is asked', async () => {
    const { service, exchange } = setUp(JSON.stringify({ model: 'alias' }))
    const result = await readRequest(service, exchange, never, function* (body) {
      yield
      return [body]
    })
    expect(result).toEqual([{ model: 'a/b' }])
  })
})
