import { deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { countTurns } from '../../../test/support/count-turns.js'
import { BEGIN_PER_TURN } from '../../platform/turns.js'
import { chatRequest, errorOf, KEY, MODEL, pause, serviceOf, until } from '../v1.test-helper.js'

const json = JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'ä€🌍' }] })

/** A body whose length nobody knows. */
function pieces(
  parts: Iterable<Uint8Array | string>,
  seen = { pulled: 0, cancelled: false },
): ReadableStream<Uint8Array> {
  const iterator = parts[Symbol.iterator]()
  return new ReadableStream(
    {
      pull(controller) {
        seen.pulled++
        const { done, value } = iterator.next()
        if (done) controller.close()
        else controller.enqueue(typeof value === 'string' ? new TextEncoder().encode(value) : value)
      },
      cancel() {
        seen.cancelled = true
      },
    },
    { highWaterMark: 0 },
  )
}

const stream = (body: ReadableStream<Uint8Array>) => ({ body, duplex: 'half' }) as RequestInit

/** As Firefox has it. */
const withoutBody = (request: Request) => Object.defineProperty(request, 'body', { value: undefined })

describe('a body', () => {
  it('may be cut anywhere, in the middle of a character too', async () => {
    const bytes = [...new TextEncoder().encode(json)].map((byte) => Uint8Array.of(byte))
    expect((await serviceOf().chat({}, stream(pieces(bytes)))).status).toBe(200)
  })

  it('may begin with a byte order mark', async () => {
    expect((await serviceOf().chat({}, { body: `\ufeff${json}` })).status).toBe(200)
  })

  it.each<[string, string | Uint8Array<ArrayBuffer>]>([
    ['blank', ' '],
    ['not JSON', '{"model":'],
    ['more than JSON', `${json}x`],
    ['not UTF-8', Uint8Array.of(0x22, 0xff, 0x22)],
    ['UTF-8 cut off', new TextEncoder().encode('"ä').slice(0, 2)],
    ['a number too deep', `${'['.repeat(257)}1${']'.repeat(257)}`],
    ['too deep and never closed', '{"a":'.repeat(100_000)],
  ])('that is %s is 400', async (_, body) => {
    expect(errorOf(await serviceOf().chat({}, { body }))).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      param: null,
    })
  })

  it('may hold brackets in its strings', async () => {
    const content = '[{"\\"['.repeat(1000)
    expect((await serviceOf().chat({ messages: [{ role: 'user', content }] })).status).toBe(200)
  })

  it.each<[string, string | Uint8Array<ArrayBuffer>, string, RegExp]>([
    ['no JSON', '{"model":', 'invalid_json', /it is not valid JSON: \w/],
    ['no UTF-8', Uint8Array.of(0x22, 0xff, 0x22), 'invalid_json', /it is not valid UTF-8\.$/],
    ['too many', `[${'[],'.repeat(99_999)}[]]`, 'json_too_many', /more than 100000 lists and objects: send less/],
    ['as many as may be', `[${'[],'.repeat(99_998)}[]]`, 'invalid_type', /JSON object/],
    ['too deep', '['.repeat(257), 'json_too_deep', /more than 256 levels deep\.$/],
  ])('that is %s is told so', async (_, body, code, message) => {
    const error = errorOf(await serviceOf().chat({}, { body }))
    expect(error).toMatchObject({ status: 400, code })
    expect(error.message).toMatch(message)
  })

  it('is as deep as its lists and objects are, whatever its strings hold', async () => {
    const { chat } = serviceOf()
    const written = fc.string({ unit: fc.constantFrom('\\', '"', '[', ']', '{', '}', 'a'), maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(written, written, fc.constantFrom(1, 255, 256, 257), async (one, other, depth) => {
        const [open, close] = ['[{"a":', '}]'].map((mark) => mark.repeat(depth >> 1))
        const within = depth % 2 === 0 ? ['', ''] : ['[', ']']
        const [before, after] = [JSON.stringify(one), JSON.stringify({ [one]: other })]
        // Beside each other, so that what is closed is counted as such.
        const body = `${open}${within[0]}${depth < 256 ? `[${before},${after},[],{}]` : before}${within[1]}${close}`
        const deepest = depth < 256 ? depth + 2 : depth
        const code = deepest > 256 ? 'json_too_deep' : 'invalid_type'
        expect(errorOf(await chat({}, { body }))).toMatchObject({ status: 400, code })
      }),
      { numRuns: 60 },
    )
  })

  it.each([
    ['a type', { 'content-type': `text/${'x'.repeat(200)}` }, `text/${'x'.repeat(95)}'`, 'unsupported_media_type'],
    [
      'an encoding',
      { 'content-encoding': 'b'.repeat(200) },
      `'${'b'.repeat(100)}': send the body as it is, or one of identity, gzip`,
      'unsupported_content_encoding',
    ],
  ])('of %s that is not known is told its name, as far as that is short', async (_, headers, shown, code) => {
    const error = errorOf(await serviceOf().chat({}, { headers }))
    expect(error).toMatchObject({ status: 415, code })
    expect(error.message).toContain(shown)
  })

  it('that is too large is told how large it may be', async () => {
    const error = errorOf(await serviceOf('Hi', { bodyLimit: 100 }).chat({}, { body: ' '.repeat(101) }))
    expect(error.message).toContain('larger than 100 bytes')
  })

  it.each([
    ['text/plain', 415],
    ['', 415],
    ['application/jsonp', 415],
    ['application/json, application/json', 415],
    ['application/json; charset=utf-16', 415],
    ['multipart/form-data; boundary=application/json', 415],
    ['application/json', 200],
    ['Application/JSON; Charset="UTF-8"', 200],
    ['application/json;charset=utf-8', 200],
  ])('of type %j is %i', async (type, status) => {
    const answer = await serviceOf().chat({}, { headers: { 'content-type': type } })
    expect(answer.status).toBe(status)
    if (status === 415) expect(errorOf(answer)).toMatchObject({ code: 'unsupported_media_type', param: null })
  })

  it('that is not there is empty, whether or not its type is; one that is there and has none is refused', async () => {
    const { ask, chat } = serviceOf()
    const post = (init: RequestInit) => ask('/conversations', { method: 'POST', ...init })
    const headers = { 'content-type': 'application/json' }
    for (const none of [{}, { headers }, { headers, body: '' }, stream(pieces([]))]) {
      expect((await post(none)).status).toBe(200)
    }
    expect(errorOf(await chat({}, { body: '' }))).toMatchObject({ status: 400, param: 'model' })
    for (const some of [{ body: '' }, stream(pieces(['{}']))]) {
      expect(errorOf(await post(some))).toMatchObject({ status: 415, code: 'unsupported_media_type' })
    }
  })

  it.each(['gzip', 'x-gzip', 'GZIP', 'deflate'])('that is compressed with %s is read', async (encoding) => {
    const packed = encoding === 'deflate' ? deflateSync(json) : gzipSync(json)
    const init = { body: packed, headers: { 'content-encoding': encoding } }
    expect((await serviceOf().chat({}, init)).status).toBe(200)
  })

  it('that is compressed has the same limit as others, however small it arrives', async () => {
    const { chat } = serviceOf('Hi', { bodyLimit: 10_000 })
    const bomb = gzipSync(json + ' '.repeat(5_000_000))
    expect(bomb.length).toBeLessThan(10_000)
    const answer = await chat({}, { body: bomb, headers: { 'content-encoding': 'gzip' } })
    expect(errorOf(answer)).toMatchObject({ status: 413, code: 'request_too_large' })
  })

  it('that is not compressed as it says, or in an unknown way, is refused', async () => {
    const { chat } = serviceOf()
    for (const body of [json, gzipSync(json).subarray(0, -9)]) {
      const answer = await chat({}, { body, headers: { 'content-encoding': 'gzip' } })
      expect(errorOf(answer)).toMatchObject({ status: 400, code: 'invalid_encoding' })
    }
    const answer = await chat({}, { headers: { 'content-encoding': 'br' } })
    expect(errorOf(answer)).toMatchObject({ status: 415, code: 'unsupported_content_encoding' })
  })

  it('over the limit is refused while it is read, and not read to its end', async () => {
    function* endless() {
      for (;;) yield ' '.repeat(1000)
    }
    const seen = { pulled: 0, cancelled: false }
    const answer = await serviceOf('Hi', { bodyLimit: 10_000 }).chat({}, stream(pieces(endless(), seen)))
    expect(errorOf(answer)).toMatchObject({ status: 413, code: 'request_too_large' })
    expect(seen.cancelled).toBe(true)
    expect(seen.pulled).toBeLessThan(15)
  })

  it.each([
    ['SvelteKit', { status: 413 }],
    ['h3', { statusCode: 413 }],
  ])('that %s breaks off for a limit of its own is too large, and no other fault is ours', async (_, told) => {
    const body = new ReadableStream<Uint8Array>({ pull: (it) => it.error(Object.assign(new Error('limit'), told)) })
    const service = serviceOf()
    expect(errorOf(await service.chat({}, stream(body)))).toMatchObject({ status: 413, code: 'request_too_large' })
    for (const error of [new Error('unexpected EOF while reading HTTP/1 body'), undefined]) {
      const broken = new ReadableStream<Uint8Array>({ pull: (it) => it.error(error) })
      expect(errorOf(await service.chat({}, stream(broken)))).toMatchObject({ status: 400, code: 'incomplete_body' })
    }
  })

  it('just as large as the limit is read', async () => {
    const { chat } = serviceOf('Hi', { bodyLimit: json.length + 100 })
    const size = new TextEncoder().encode(json).length
    const padded = json + ' '.repeat(json.length + 100 - size)
    expect((await chat({}, { body: padded })).status).toBe(200)
    expect((await chat({}, { body: `${padded} ` })).status).toBe(413)
  })

  it('that says it is too large is not read at all', async () => {
    const seen = { pulled: 0, cancelled: false }
    const request = chatRequest({}, { ...stream(pieces([json], seen)), headers: { 'content-length': '99999999' } })
    const { v1 } = serviceOf()
    expect((await v1.fetch(request)).status).toBe(413)
    expect(seen.pulled).toBe(0)
  })

  it('that never ends is left at the time limit', async () => {
    const body = new ReadableStream<Uint8Array>({ pull: () => pause(60_000) })
    const { chat } = serviceOf('Hi', { timeoutMs: 10 })
    expect(errorOf(await chat({}, stream(body)))).toMatchObject({ status: 504 })
  })

  it('that ends at the time limit is left in Firefox, too', async () => {
    const { v1 } = serviceOf('Hi', { timeoutMs: 10 })
    const request = withoutBody(chatRequest())
    Object.defineProperty(request, 'arrayBuffer', { value: () => new Promise(() => {}) })
    expect((await v1.fetch(request)).status).toBe(504)
  })

  it('is read if a request has no property for it, as in Firefox, under the same limits', async () => {
    const { v1 } = serviceOf('Hi', { bodyLimit: 1000 })
    const ask = async (body: string, headers: HeadersInit = {}) => {
      const response = await v1.fetch(withoutBody(chatRequest({}, { body, headers })))
      return { status: response.status, headers: response.headers, text: await response.text() }
    }
    expect((await ask(json)).status).toBe(200)
    expect(errorOf(await ask(json.slice(1)))).toMatchObject({ status: 400, code: 'invalid_json' })
    expect((await ask(json.padEnd(900))).status).toBe(200)
    expect(errorOf(await ask(json.padEnd(1001)))).toMatchObject({ status: 413, code: 'request_too_large' })
    expect(errorOf(await ask(json, { 'content-length': '1001' }))).toMatchObject({ status: 413 })
  })

  it('that has been read by someone else is a fault of ours', async () => {
    const { v1 } = serviceOf()
    const request = chatRequest()
    await request.text()
    expect((await v1.fetch(request)).status).toBe(500)
    expect(KEY).not.toBe('')
  })
})

describe('bodies that are not finished', () => {
  /** A body of so many bytes that is never ended; `left` once nobody wants more of it. */
  function unfinished(bytes: number, size = bytes) {
    const seen = { left: false, sent: 0 }
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (seen.sent >= bytes) return new Promise(() => {})
          seen.sent += size
          controller.enqueue(new Uint8Array(size).fill(0x20))
          return undefined
        },
        cancel() {
          seen.left = true
        },
      },
      { highWaterMark: 0 },
    )
    return { seen, init: stream(body) }
  }
  const as = (key: string) => ({ headers: { authorization: `Bearer ${key}` } })
  const LIMITS = { keys: ['one', 'two'], bodyLimit: 1000, bodiesLimit: 5000 }

  it('hold no more bytes than they may together: the oldest body of the caller with the most is dropped', async () => {
    const { chat } = serviceOf('Hi', LIMITS)
    const bodies = Array.from({ length: 7 }, () => unfinished(900))
    const answers = bodies.map(({ init }) => chat({}, { ...init, ...as('one') }))
    await until(() => bodies.filter(({ seen }) => seen.left).length === 2)
    expect(bodies.map(({ seen }) => seen.left)).toEqual([true, true, false, false, false, false, false])
    for (const answer of await Promise.all(answers.slice(0, 2))) {
      expect(errorOf(answer)).toMatchObject({ status: 503, code: 'too_many_bodies' })
      expect(answer.headers.get('retry-after')).toBe('1')
    }
  })

  it('of one caller displace nobody else', async () => {
    const { chat } = serviceOf('Hi', LIMITS)
    const small = unfinished(100)
    void chat({}, { ...small.init, ...as('two') })
    await until(() => small.seen.sent > 0)
    const bodies = Array.from({ length: 20 }, () => unfinished(900))
    for (const { init } of bodies) void chat({}, { ...init, ...as('one') })
    await until(() => bodies.filter(({ seen }) => seen.left).length === 15)
    expect(small.seen.left).toBe(false)
    expect((await chat({}, as('two'))).status).toBe(200)
    expect((await chat({}, as('one'))).status).toBe(200)
  })

  it('give back what they held, however they end', async () => {
    const { chat } = serviceOf('Hi', { ...LIMITS, timeoutMs: 20 })
    for (let round = 0; round < 3; round++) {
      const answers = Array.from({ length: 5 }, () => chat({}, { ...unfinished(900).init, ...as('one') }))
      expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(5).fill(504))
      expect((await chat({}, { ...as('one'), body: 'x'.repeat(900) })).status).toBe(400)
    }
  })

  it('take no more room in small pieces than in large ones', async () => {
    const { chat } = serviceOf('Hi', LIMITS)
    const bodies = Array.from({ length: 5 }, () => unfinished(900, 1))
    for (const { init } of bodies) void chat({}, { ...init, ...as('one') })
    await until(() => bodies.every(({ seen }) => seen.sent >= 900))
    await pause(1)
    expect(bodies.some(({ seen }) => seen.left)).toBe(false)
  })

  it('leave nothing behind that waits for the garbage collector', async () => {
    const grown = vi.spyOn(ArrayBuffer.prototype, 'resize')
    try {
      const { chat } = serviceOf('Hi', LIMITS)
      const bodies = Array.from({ length: 7 }, () => unfinished(900, 450))
      const answers = bodies.map(({ init }) => chat({}, { ...init, ...as('one') }))
      const whole = chat({}, { ...stream(pieces([json.slice(0, 9), json.slice(9)])), ...as('two') })
      await Promise.all([whole, ...answers.slice(0, 2)])
      const held = new Set(grown.mock.contexts as ArrayBuffer[])
      expect([...held].map(({ byteLength }) => byteLength).sort()).toEqual([0, 0, 0, 900, 900, 900, 900, 900])
    } finally {
      grown.mockRestore()
    }
  })

  it('set no growing place apart for a body of one piece, which most are', async () => {
    let growing = 0
    class Counted extends ArrayBuffer {
      constructor(bytes: number, options?: { maxByteLength?: number }) {
        super(bytes, options)
        if (options?.maxByteLength !== undefined) growing++
      }
    }
    vi.stubGlobal('ArrayBuffer', Counted)
    try {
      const service = serviceOf()
      expect((await service.chat({}, stream(pieces(['', json])))).status).toBe(200)
      expect(growing).toBe(0)
      expect((await service.chat({}, stream(pieces([json.slice(0, 9), json.slice(9)])))).status).toBe(200)
      expect(growing).toBe(1)
    } finally {
      vi.unstubAllGlobals()
    }
  })

  it('must be allowed one at least', () => {
    expect(() => serviceOf('Hi', { bodyLimit: 1000, bodiesLimit: 999 })).toThrow(
      "'bodiesLimit' must be a number of at least 1000",
    )
    expect(() => serviceOf('Hi', { bodyLimit: 2 ** 30 })).not.toThrow()
  })
})

describe('bodies that arrive at once', () => {
  it('are read in turns of the event loop, a limited number of pieces in each, and keep no other caller waiting', async () => {
    const service = serviceOf(undefined, {
      keys: [
        { key: KEY, id: 'many' },
        { key: 'sk-one', id: 'one' },
      ],
    })
    const bytes = new TextEncoder().encode(json)
    const turns = countTurns()
    const reads = new Map<number, number>()
    /** Each piece is there before it is asked for. */
    function* counted() {
      for (let at = 0; at < bytes.length; at += 8) {
        reads.set(turns.now, (reads.get(turns.now) ?? 0) + 1)
        yield bytes.subarray(at, at + 8)
      }
    }
    const over: string[] = []
    const ask = async (key: string) => {
      const request = chatRequest({}, stream(pieces(counted())))
      request.headers.set('authorization', `Bearer ${key}`)
      const { status } = await service.v1.fetch(request)
      over.push(key)
      return status
    }
    const statuses = await Promise.all([...Array.from({ length: 90 }, () => ask(KEY)), ask('sk-one')])
    turns.over = true
    expect(statuses.at(-1)).toBe(200)
    expect(over.indexOf('sk-one')).toBeLessThan(2 * BEGIN_PER_TURN)
    expect(Math.max(...reads.values())).toBeLessThanOrEqual(2 * BEGIN_PER_TURN)
  })

  it('are parsed one in each turn where they are large', async () => {
    const { chat } = serviceOf()
    const large = JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: ' '.repeat(200_000) }] })
    const turns = countTurns()
    const at: number[] = []
    const { parse } = JSON
    const spy = vi.spyOn(JSON, 'parse').mockImplementation((text, revive) => {
      if (String(text).length > 100_000) at.push(turns.now)
      return parse(text, revive)
    })
    await Promise.all(Array.from({ length: 8 }, () => chat({}, { body: large })))
    turns.over = true
    spy.mockRestore()
    expect([at.length, new Set(at).size]).toEqual([8, 8])
  })
})
