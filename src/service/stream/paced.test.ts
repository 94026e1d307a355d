import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Broken, MOST_GATHERED, PAUSE_MS, type PacedSource, paced } from './paced.js'

/** Answers when the test says so. */
class HeldSource implements PacedSource {
  requests = 0
  left: unknown[] = []
  #hear: Parameters<PacedSource['ask']>[0] | undefined

  ask(hear: Parameters<PacedSource['ask']>[0]): void {
    expect(this.waits, 'one question at a time').toBe(false)
    this.requests++
    this.#hear = hear
  }

  cancel(reason: unknown): void {
    this.left.push(reason)
  }

  get waits(): boolean {
    return this.#hear !== undefined
  }

  async says(text: string, last = false, broken?: Broken): Promise<void> {
    const hear = this.#hear!
    this.#hear = undefined
    hear(text, last, broken)
    await settled()
  }
}

/** Everything that has happened is also heard of; no time goes by. */
const settled = () => vi.advanceTimersByTimeAsync(0)

/** A stream over a source, and a reader that always wants more and keeps what it is given. */
function read() {
  const source = new HeldSource()
  const reader = paced(source).getReader()
  const decoder = new TextDecoder()
  const pieces: string[] = []
  const seen = { ended: false }
  const readOn = async () => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) pieces.push(decoder.decode(next.value))
    seen.ended = true
  }
  const done = readOn()
  return { source, reader, pieces, seen, done }
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('a paced stream', () => {
  it('passes the first text on at once', async () => {
    const { source, pieces } = read()
    await settled()
    await source.says('one')
    expect(pieces).toEqual(['one'])
  })

  it('passes each text of a slow source on at once, and waits for no timer', async () => {
    const { source, pieces } = read()
    await settled()
    const texts = ['one', 'two', 'three', 'four']
    for (const text of texts) {
      await source.says(text)
      expect(pieces.at(-1)).toBe(text)
      await vi.advanceTimersByTimeAsync(PAUSE_MS)
    }
    expect(pieces).toEqual(texts)
  })

  it('gathers what comes sooner, and keeps it no longer than the pause', async () => {
    const { source, pieces } = read()
    await settled()
    for (const text of ['one', 'two', 'three']) await source.says(text)
    expect(pieces).toEqual(['one'])
    await vi.advanceTimersByTimeAsync(PAUSE_MS - 1)
    await source.says('four')
    expect(pieces).toEqual(['one'])
    // The source says nothing more.
    await vi.advanceTimersByTimeAsync(1)
    expect(pieces).toEqual(['one', 'twothreefour'])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('sends what it has gathered with the text that comes after the pause', async () => {
    const { source, pieces } = read()
    await settled()
    await source.says('one')
    await source.says('two')
    // A model on this thread keeps timers waiting: time has gone by, and none has fired.
    const now = performance.now()
    vi.spyOn(performance, 'now').mockReturnValue(now + PAUSE_MS)
    await source.says('three')
    expect(pieces).toEqual(['one', 'twothree'])
    vi.restoreAllMocks()
  })

  it('gathers no more than so much', async () => {
    const { source, pieces } = read()
    await settled()
    await source.says('one')
    await source.says('x'.repeat(MOST_GATHERED))
    expect(pieces.map(({ length }) => length)).toEqual([3, MOST_GATHERED])
  })

  it('ends at once, with what it had gathered', async () => {
    const { source, pieces, seen, done } = read()
    await settled()
    for (const text of ['one', 'two', '']) await source.says(text)
    await source.says('end', true)
    await done
    expect(pieces).toEqual(['one', 'twoend'])
    expect(seen.ended).toBe(true)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('ends without a piece when there is nothing to say', async () => {
    const { source, pieces, done } = read()
    await settled()
    await source.says('', true)
    await done
    expect(pieces).toEqual([])
  })

  it('sends what is far more than it gathers, however soon it comes', async () => {
    const { source, pieces } = read()
    await settled()
    await source.says('one')
    await source.says('x'.repeat(MOST_GATHERED - 1))
    expect(pieces).toEqual(['one'])
    await source.says('y'.repeat(3))
    expect(pieces.map(({ length }) => length)).toEqual([3, MOST_GATHERED + 2])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('counts the pause from the piece before, not from what was heard before', async () => {
    const { source, pieces } = read()
    await settled()
    await source.says('one')
    await vi.advanceTimersByTimeAsync(PAUSE_MS - 1)
    await source.says('')
    await source.says('two')
    expect(pieces).toEqual(['one'])
    await vi.advanceTimersByTimeAsync(PAUSE_MS)
    expect(pieces).toEqual(['one', 'two'])
    await source.says('three')
    expect(pieces).toEqual(['one', 'two'])
    expect(vi.getTimerCount()).toBe(1)
  })

  it('writes characters as UTF-8, whole', async () => {
    const { source, pieces } = read()
    await settled()
    await source.says('wörld 🌍')
    expect(pieces).toEqual(['wörld 🌍'])
  })
})

describe('a reader of a paced stream', () => {
  it('that does not read is asked nothing for', async () => {
    const source = new HeldSource()
    const reader = paced(source).getReader()
    await vi.advanceTimersByTimeAsync(10 * PAUSE_MS)
    expect(source.requests).toBe(0)
    const first = reader.read()
    await settled()
    await source.says('one')
    await first
    await vi.advanceTimersByTimeAsync(10 * PAUSE_MS)
    expect(source.requests).toBe(1)
  })

  it('that stops reading holds the source back, with at most one answer kept for it', async () => {
    const source = new HeldSource()
    const reader = paced(source).getReader()
    const reads = [reader.read(), reader.read()]
    await settled()
    await source.says('one')
    await source.says('two')
    await vi.advanceTimersByTimeAsync(PAUSE_MS)
    await Promise.all(reads)
    // This one was asked for before the pause ended.
    await source.says('three')
    await vi.advanceTimersByTimeAsync(10 * PAUSE_MS)
    expect(source.requests).toBe(3)
    expect(source.waits).toBe(false)
    expect(vi.getTimerCount()).toBe(0)
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('three')
  })

  it('that reads ahead hears of the end once, whether or not a last text comes with it', async () => {
    for (const text of ['', 'the end']) {
      const source = new HeldSource()
      const reader = paced(source).getReader()
      const [first, second, third] = [reader.read(), reader.read(), reader.read()]
      await settled()
      await source.says('one')
      await source.says(text, true)
      expect(new TextDecoder().decode((await first).value)).toBe('one')
      if (text === '') expect((await second).done).toBe(true)
      else expect(new TextDecoder().decode((await second).value)).toBe(text)
      expect((await third).done).toBe(true)
    }
  })

  it('that reads ahead is given each piece once, in order', async () => {
    const source = new HeldSource()
    const reader = paced(source).getReader()
    const reads = [reader.read(), reader.read(), reader.read()]
    await settled()
    for (const text of ['one', 'two']) {
      await source.says(text)
      await vi.advanceTimersByTimeAsync(PAUSE_MS)
    }
    await source.says('three', true)
    const pieces = (await Promise.all(reads)).map(({ value }) => new TextDecoder().decode(value))
    expect(pieces).toEqual(['one', 'two', 'three'])
    expect((await reader.read()).done).toBe(true)
  })

  it.each([0, 1, 2])('that leaves is told to the source, and nothing stays behind (after %d texts)', async (texts) => {
    const { source, reader, pieces } = read()
    await settled()
    for (let i = 0; i < texts; i++) await source.says(`${i}`)
    await reader.cancel('enough')
    expect(source.left).toEqual(['enough'])
    expect(vi.getTimerCount()).toBe(0)
    // An answer that was on its way.
    await source.says('late')
    await vi.advanceTimersByTimeAsync(10 * PAUSE_MS)
    expect(pieces).toEqual(texts === 0 ? [] : ['0'])
    expect(source.waits).toBe(false)
  })
})

describe('a stream that breaks', () => {
  const lost = new Error('lost')

  it.each([0, 1, 2])('ends with the reason, and nothing stays behind (after %d texts)', async (texts) => {
    const source = new HeldSource()
    const reader = paced(source, { ms: 1000, gaveUp: () => expect.fail('nobody has left') }).getReader()
    for (let i = 0; i < texts; i++) {
      const read = reader.read()
      await settled()
      await source.says(`${i}`)
      await vi.advanceTimersByTimeAsync(PAUSE_MS)
      expect(new TextDecoder().decode((await read).value)).toBe(`${i}`)
    }
    const read = reader.read()
    const rejected = expect(read).rejects.toBe(lost)
    await settled()
    await source.says('', true, { reason: lost })
    await rejected
    await vi.advanceTimersByTimeAsync(5000)
    expect([source.waits, source.left, vi.getTimerCount()]).toEqual([false, [], 0])
    await expect(reader.read()).rejects.toBe(lost)
  })

  it('says nothing of what it had gathered', async () => {
    const { source, pieces, done } = read()
    const rejected = expect(done).rejects.toBe(lost)
    await settled()
    for (const text of ['one', 'two']) await source.says(text)
    await source.says('three', false, { reason: lost })
    await rejected
    expect(pieces).toEqual(['one'])
    await vi.advanceTimersByTimeAsync(10 * PAUSE_MS)
    expect([pieces, vi.getTimerCount()]).toEqual([['one'], 0])
  })

  it('after its reader has left says nothing to anybody', async () => {
    const { source, reader, done } = read()
    await settled()
    await reader.cancel('enough')
    await done
    await source.says('', true, { reason: lost })
    expect(source.left).toEqual(['enough'])
  })
})

describe('a reader that waits', () => {
  const SIGN = { ms: 1000, text: ': here\n\n' }
  const waiting = () => {
    const source = new HeldSource()
    const reader = paced(source, undefined, SIGN).getReader()
    const next = async () => {
      const { value, done } = await reader.read()
      return done ? undefined : new TextDecoder().decode(value)
    }
    return { source, reader, next }
  }

  it('is given a sign of life as often as nothing came for so long, and the source is asked once', async () => {
    const { source, next } = waiting()
    const pieces: (string | undefined)[] = []
    void (async () => {
      for (;;) pieces.push(await next())
    })()
    await vi.advanceTimersByTimeAsync(2 * SIGN.ms)
    expect(pieces).toEqual([SIGN.text, SIGN.text])
    await vi.advanceTimersByTimeAsync(SIGN.ms / 2)
    await source.says('one')
    await vi.advanceTimersByTimeAsync(SIGN.ms - 1)
    expect([pieces, source.requests]).toEqual([[SIGN.text, SIGN.text, 'one'], 2])
    await vi.advanceTimersByTimeAsync(1)
    expect(pieces.at(-1)).toBe(SIGN.text)
  })

  it('may be given one to begin with, before the source is asked for anything', async () => {
    const source = new HeldSource()
    const reader = paced(source, undefined, SIGN, SIGN.text).getReader()
    const { value } = await reader.read()
    expect([new TextDecoder().decode(value), source.requests]).toEqual([SIGN.text, 0])
  })

  it('is one that has asked: what was left alone keeps no timer', async () => {
    const { source, next } = waiting()
    const first = next()
    await settled()
    await source.says('one')
    expect(await first).toBe('one')
    await vi.advanceTimersByTimeAsync(10 * SIGN.ms)
    expect(vi.getTimerCount()).toBe(0)
    // It comes back, and waits from then on.
    const second = next()
    await vi.advanceTimersByTimeAsync(SIGN.ms - 1)
    const seen = vi.fn()
    void second.then(seen)
    await settled()
    expect(seen).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(await second).toBe(SIGN.text)
  })

  it('leaves no timer behind, whether it is given the end, an error, or leaves', async () => {
    for (const end of ['end', 'error', 'left']) {
      const { source, reader, next } = waiting()
      const last = next().catch((error: unknown) => error)
      await settled()
      if (end === 'left') await reader.cancel('enough')
      else await source.says('', true, end === 'error' ? { reason: 'lost' } : undefined)
      expect(await last).toBe(end === 'error' ? 'lost' : undefined)
      expect(vi.getTimerCount(), end).toBe(0)
    }
  })
})

describe('a reader that asks for nothing', () => {
  const gone = new Error('gone')
  const PATIENCE = 1000
  const unread = () => {
    const source = new HeldSource()
    const gaveUp = vi.fn(() => gone)
    return { source, gaveUp, reader: paced(source, { ms: PATIENCE, gaveUp }).getReader() }
  }

  it('has left after a while, from the start or from what it was given last, and what it comes back to says why', async () => {
    const { source, reader } = unread()
    await vi.advanceTimersByTimeAsync(PATIENCE - 1)
    expect(source.left).toEqual([])
    const read = reader.read()
    await settled()
    await source.says('one')
    await read
    await vi.advanceTimersByTimeAsync(PATIENCE - 1)
    expect(source.left).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(source.left).toEqual([gone])
    await expect(reader.read()).rejects.toBe(gone)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('has left, too, where it never asked for anything', async () => {
    const { source, reader } = unread()
    await vi.advanceTimersByTimeAsync(PATIENCE)
    expect([source.requests, source.left, vi.getTimerCount()]).toEqual([0, [gone], 0])
    await expect(reader.read()).rejects.toBe(gone)
  })

  it('is not one that waits for a slow source', async () => {
    const { source, reader, gaveUp } = unread()
    const read = reader.read()
    await vi.advanceTimersByTimeAsync(10 * PATIENCE)
    await source.says('late', true)
    expect(new TextDecoder().decode((await read).value)).toBe('late')
    expect((await reader.read()).done).toBe(true)
    expect(gaveUp).not.toHaveBeenCalled()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('is looked at again no later than its patience lasts after it was given something', async () => {
    const { source, reader } = unread()
    // It waits when it is looked at first, and leaves soon after.
    await vi.advanceTimersByTimeAsync(PATIENCE / 2)
    const read = reader.read()
    await vi.advanceTimersByTimeAsync(PATIENCE)
    await source.says('one')
    await read
    await vi.advanceTimersByTimeAsync(PATIENCE - 1)
    expect(source.left).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(source.left).toEqual([gone])
    await expect(reader.read()).rejects.toBe(gone)
  })

  it('is waited for without an end where nobody loses patience', async () => {
    const source = new HeldSource()
    const reader = paced(source).getReader()
    expect(vi.getTimerCount()).toBe(0)
    await vi.advanceTimersByTimeAsync(10 ** 9)
    const read = reader.read()
    await settled()
    await source.says('late', true)
    expect(new TextDecoder().decode((await read).value)).toBe('late')
  })

  it('leaves no timer behind when it cancels', async () => {
    const { source, reader } = unread()
    await reader.cancel('bye')
    expect(source.left).toEqual(['bye'])
    expect(vi.getTimerCount()).toBe(0)
  })
})
