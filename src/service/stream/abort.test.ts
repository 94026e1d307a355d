import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { Deadlines, inTime, Leavable, LinkedAbort } from './abort.js'

const settled = () => new Promise((resolve) => setImmediate(resolve))

/** All that one `ask` hears. */
function asking<T>(source: Leavable<T>) {
  const received: unknown[] = []
  source.ask(
    (value) => received.push(value),
    (reason) => received.push({ reason }),
  )
  return received
}

/** A source that does nothing by itself: its `next` and `return` settle when they are told. */
function byHand() {
  const next = withResolvers<IteratorResult<number>>()
  const left = withResolvers<IteratorResult<number>>()
  let returned = 0
  const source: AsyncIterable<number> = {
    [Symbol.asyncIterator]: () => ({
      next: () => next.promise,
      return: () => {
        returned++
        return left.promise
      },
    }),
  }
  return { source, next, left, returned: () => returned }
}

function withResolvers<T>() {
  let resolve!: (value: T) => void
  let reject!: (reason: unknown) => void
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** A clock whose hands are moved, and what is set by it. */
function clock() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const set = vi.spyOn(globalThis, 'setTimeout')
  const cleared = vi.spyOn(globalThis, 'clearTimeout')
  const live = () => set.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef())
  return { set, cleared, live }
}

const late = (ms: number) => `longer than ${ms} ms`

describe('what may take equally long', () => {
  it('has no clock where there is no limit', () => {
    const { set } = clock()
    new Deadlines(undefined, late).begin(() => {})
    expect(set).not.toHaveBeenCalled()
  })

  it.each([undefined, 100])('hears that all end now, once, unless it has ended (limit: %s)', (ms) => {
    clock()
    const deadlines = new Deadlines(ms, late)
    const received: unknown[] = []
    const [ended] = [1, 2, 3].map((n) => deadlines.begin((reason) => received.push([n, reason])))
    ended!()
    deadlines.endAll('all')
    deadlines.endAll('again')
    vi.advanceTimersByTime(1000)
    expect(received).toEqual([
      [2, 'all'],
      [3, 'all'],
    ])
  })

  it('hears that it was too long, each at its own time, by one clock', () => {
    const { set } = clock()
    const deadlines = new Deadlines(100, late)
    const received: unknown[] = []
    deadlines.begin((reason) => received.push(['first', reason]))
    vi.advanceTimersByTime(60)
    deadlines.begin((reason) => received.push(['second', reason]))
    expect(set.mock.calls.map(([, ms]) => ms)).toEqual([100])
    vi.advanceTimersByTime(39)
    expect(received).toEqual([])
    vi.advanceTimersByTime(1)
    expect(received).toEqual([['first', 'longer than 100 ms']])
    // What is left of the second's, from the millisecond on by which a clock may be early.
    expect(set.mock.calls.map(([, ms]) => ms)).toEqual([100, 60])
    vi.advanceTimersByTime(60)
    expect(received.slice(1)).toEqual([['second', 'longer than 100 ms']])
    vi.advanceTimersByTime(1000)
    expect(received).toHaveLength(2)
    expect(set).toHaveBeenCalledTimes(2)
  })

  it('is over a millisecond before its time, and not two', () => {
    clock()
    for (const [early, count] of [
      [1, 1],
      [2, 0],
    ] as const) {
      const deadlines = new Deadlines(100, late)
      const received: unknown[] = []
      const now = vi.spyOn(performance, 'now').mockReturnValue(1000)
      deadlines.begin((reason) => received.push(reason))
      now.mockReturnValue(1100 - early)
      vi.advanceTimersByTime(100)
      expect(received).toHaveLength(count)
      now.mockRestore()
    }
  })

  it('that ends in time hears nothing, and nobody is kept waiting for the clock', () => {
    const { set, cleared, live } = clock()
    const deadlines = new Deadlines(100, late)
    const passed = vi.fn()
    const one = deadlines.begin(passed)!
    const other = deadlines.begin(passed)!
    expect(live()).toEqual([true])
    one()
    one()
    expect(live()).toEqual([true])
    other()
    expect(live()).toEqual([false])
    expect(cleared).not.toHaveBeenCalled()
    // The same clock, which is needed again.
    const third = deadlines.begin(passed)!
    expect(set).toHaveBeenCalledTimes(1)
    expect(live()).toEqual([true])
    const fourth = deadlines.begin(passed)!
    third()
    fourth()
    vi.advanceTimersByTime(100)
    expect(passed).not.toHaveBeenCalled()
    // It has gone off with nothing to tell: the next one sets another.
    deadlines.begin(passed)
    expect(set).toHaveBeenCalledTimes(2)
  })

  it('that has ended before stays so when another begins and ends', () => {
    const { live } = clock()
    const deadlines = new Deadlines(100, late)
    const one = deadlines.begin(() => {})!
    one()
    deadlines.begin(() => {})
    one()
    expect(live()).toEqual([true])
  })

  it('clears a clock that cannot stand by, as those of browsers', () => {
    const set = vi.fn(() => 7)
    const cleared = vi.fn()
    vi.stubGlobal('setTimeout', set)
    vi.stubGlobal('clearTimeout', cleared)
    try {
      const deadlines = new Deadlines(100, late)
      const one = deadlines.begin(() => {})!
      const other = deadlines.begin(() => {})!
      one()
      expect(cleared).not.toHaveBeenCalled()
      other()
      expect(cleared.mock.calls).toEqual([[7]])
      deadlines.begin(() => {})
      expect(set).toHaveBeenCalledTimes(2)
    } finally {
      vi.unstubAllGlobals()
    }
  })

  it('may end while its clock goes off', () => {
    clock()
    const deadlines = new Deadlines(100, late)
    const received: string[] = []
    let end: (() => void) | undefined
    deadlines.begin(() => {
      received.push('first')
      end!()
    })
    end = deadlines.begin(() => received.push('second'))
    vi.advanceTimersByTime(200)
    expect(received).toEqual(['first'])
  })
})

describe('a signal for all that may end an answer', () => {
  const set = (ms?: number) => {
    const { live } = clock()
    const client = new AbortController()
    const reasons: unknown[] = []
    const linked = new LinkedAbort(client.signal, new Deadlines(ms, late), (reason) => reasons.push(reason))
    return { client, reasons, linked, live }
  }

  it('follows the client, who is told of', () => {
    const { client, reasons, linked } = set(100)
    expect(linked.signal.aborted).toBe(false)
    client.abort('gone')
    expect(linked.signal.reason).toBe('gone')
    expect(reasons).toEqual(['gone'])
  })

  it('and the clock', () => {
    const { reasons, linked } = set(100)
    vi.advanceTimersByTime(100)
    expect(linked.signal.reason).toBe('longer than 100 ms')
    expect(reasons).toEqual(['longer than 100 ms'])
  })

  it('and whoever aborts it, of whom nobody is told', () => {
    const { reasons, linked } = set()
    linked.abort('enough')
    expect(linked.signal.reason).toBe('enough')
    expect(reasons).toEqual([])
  })

  it('needs nobody to tell', () => {
    const client = new AbortController()
    const { signal } = new LinkedAbort(client.signal, new Deadlines(undefined, late))
    client.abort('gone')
    expect(signal.reason).toBe('gone')
    clock()
    const slow = new LinkedAbort(new AbortController().signal, new Deadlines(100, late))
    vi.advanceTimersByTime(100)
    expect(slow.signal.reason).toBe('longer than 100 ms')
  })

  it('is aborted where the client has left before, which is no news', () => {
    const aborted = vi.fn()
    const { signal } = new LinkedAbort(AbortSignal.abort('gone'), new Deadlines(undefined, late), aborted)
    expect(signal.reason).toBe('gone')
    expect(aborted).not.toHaveBeenCalled()
  })

  it('listens to the client once, and lets go of both', () => {
    clock()
    const client = new AbortController()
    const added = vi.spyOn(client.signal, 'addEventListener')
    const removed = vi.spyOn(client.signal, 'removeEventListener')
    const aborted = vi.fn()
    const linked = new LinkedAbort(client.signal, new Deadlines(100, late), aborted)
    expect(added.mock.calls).toEqual([['abort', expect.any(Function), { once: true }]])
    linked.dispose()
    expect(removed.mock.calls).toEqual([added.mock.calls[0]!.slice(0, 2)])
    client.abort('gone')
    vi.advanceTimersByTime(1000)
    expect(linked.signal.aborted).toBe(false)
    expect(aborted).not.toHaveBeenCalled()
  })

  it('has no clock to let go of where there is no limit', () => {
    const { client, linked } = set()
    linked.dispose()
    client.abort('gone')
    expect(linked.signal.aborted).toBe(false)
  })
})

describe('a source that can be left', () => {
  it('is read to its end', async () => {
    async function* source() {
      yield 1
      yield 2
    }
    const leavable = new Leavable(source())
    const received: unknown[] = []
    for (let i = 0; i < 3; i++) {
      const one = asking(leavable)
      await settled()
      received.push(...one)
    }
    expect(received).toEqual([1, 2, undefined])
    expect(await leavable.leave()).toBe('ended')
  })

  it('has each value taken in before whoever asks has it, who hears of what that throws', async () => {
    const taken: unknown[] = []
    const later = withResolvers<void>()
    const takes: (() => void | Promise<void>)[] = [
      () => {},
      () => later.promise,
      () => Promise.reject('refused later'),
      () => {
        throw 'refused'
      },
    ]
    async function* source() {
      yield* [1, 2, 3, 4]
    }
    const leavable = new Leavable(source(), (value) => {
      taken.push(value)
      const taking = takes.shift()?.()
      return taking ? taking.then(() => value && value * 10) : value
    })
    const received: unknown[] = []
    for (let i = 0; i < 5; i++) {
      const one = asking(leavable)
      await settled()
      if (i === 1) {
        expect([taken, one]).toEqual([[1, 2], []])
        later.resolve()
        await settled()
      }
      received.push(...one)
    }
    expect(taken).toEqual([1, 2, 3, 4, undefined])
    expect(received).toEqual([1, 20, { reason: 'refused later' }, { reason: 'refused' }, undefined])
  })

  it('is not asked to return once it has ended', async () => {
    const back = vi.fn(async () => ({ done: true as const, value: undefined }))
    const values = [
      { done: false, value: 1 },
      { done: true, value: 'its own last word' },
    ] as IteratorResult<number>[]
    const next = async () => values.shift()!
    const leavable = new Leavable<number>({ [Symbol.asyncIterator]: () => ({ next, return: back }) })
    const first = asking(leavable)
    await settled()
    const last = asking(leavable)
    await settled()
    expect([first, last]).toEqual([[1], [undefined]])
    expect(await leavable.leave()).toBe('ended')
    expect(back).not.toHaveBeenCalled()
  })

  it('is asked to return while there is more, whatever it has given before', async () => {
    const back = vi.fn(async () => ({ done: true as const, value: undefined }))
    const next = async () => ({ done: false as const, value: 1 })
    const leavable = new Leavable<number>({ [Symbol.asyncIterator]: () => ({ next, return: back }) })
    const received = asking(leavable)
    await settled()
    expect([received, await leavable.leave('gone')]).toEqual([[1], 'ended'])
    expect(back).toHaveBeenCalledOnce()
  })

  it('tells what went wrong, however it is told, and is over then', async () => {
    const thrown = new Error('broken')
    for (const next of [
      () => Promise.reject(thrown),
      () => {
        throw thrown
      },
    ]) {
      const back = vi.fn()
      const leavable = new Leavable<number>({ [Symbol.asyncIterator]: () => ({ next, return: back }) })
      const received = asking(leavable)
      await settled()
      expect(received).toEqual([{ reason: thrown }])
      expect(await leavable.leave()).toBe('ended')
      expect(back).not.toHaveBeenCalled()
    }
  })

  it('gives up whoever waits, once, and hears nothing of what comes later', async () => {
    const { source, next, left, returned } = byHand()
    const leavable = new Leavable(source)
    const received = asking(leavable)
    const leaving = leavable.leave('gone')
    expect(received).toEqual([{ reason: 'gone' }])
    next.resolve({ done: false, value: 1 })
    left.resolve({ done: true, value: undefined })
    expect(await leaving).toBe('ended')
    await settled()
    expect(received).toEqual([{ reason: 'gone' }])
    expect(returned()).toBe(1)
  })

  it('hears nothing of an error that comes later either', async () => {
    const { source, next, left } = byHand()
    const leavable = new Leavable(source)
    const received = asking(leavable)
    const unheard = vi.fn()
    process.on('unhandledRejection', unheard)
    onTestFinished(() => void process.off('unhandledRejection', unheard))
    const leaving = leavable.leave('gone')
    next.reject(new Error('late'))
    left.reject(new Error('later'))
    expect(await leaving).toBe('ended')
    await settled()
    await settled()
    expect(received).toEqual([{ reason: 'gone' }])
    expect(unheard).not.toHaveBeenCalled()
  })

  it('is left once: the source is asked to return only then', async () => {
    const { source, left, returned } = byHand()
    const leavable = new Leavable(source)
    left.resolve({ done: true, value: undefined })
    await leavable.leave()
    expect(await leavable.leave()).toBe('ended')
    expect(returned()).toBe(1)
  })

  it('is left at once also while a value is taken in, which may never be', async () => {
    const never = () => new Promise<number>(() => {})
    for (const taken of [never, async () => 2, () => Promise.reject(new Error('late'))]) {
      const { source, next, left } = byHand()
      let isTaken = () => {}
      const taking = new Promise<void>((resolve) => {
        isTaken = resolve
      })
      const leavable = new Leavable(source, () => taking.then(taken))
      const received = asking(leavable)
      next.resolve({ done: false, value: 1 })
      left.resolve({ done: true, value: undefined })
      await settled()
      expect(await leavable.leave('gone')).toBe('ended')
      isTaken()
      await settled()
      expect(received).toEqual([{ reason: 'gone' }])
    }
  })

  it('needs no way to return', async () => {
    const never = () => new Promise<IteratorResult<number>>(() => {})
    const leavable = new Leavable<number>({ [Symbol.asyncIterator]: () => ({ next: never }) })
    expect(await leavable.leave()).toBe('ended')
  })

  it('may throw where it is asked to return: whoever leaves is told nothing of it', async () => {
    const back = () => {
      throw new Error('broken')
    }
    const never = () => new Promise<IteratorResult<number>>(() => {})
    const leavable = new Leavable<number>({ [Symbol.asyncIterator]: () => ({ next: never, return: back }) })
    const received = asking(leavable)
    expect(await leavable.leave('gone')).toBe('ended')
    expect(received).toEqual([{ reason: 'gone' }])
  })

  it('that never returns is stuck after five seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { source } = byHand()
    let result: string | undefined
    void new Leavable(source).leave().then((word) => {
      result = word
    })
    vi.advanceTimersByTime(4999)
    await settled()
    expect(result).toBeUndefined()
    vi.advanceTimersByTime(1)
    await settled()
    expect(result).toBe('stuck')
  })
})

describe('what is waited for in time', () => {
  afterEach(() => void vi.useRealTimers())

  it('lets go of the client and the clock once it has settled, and is given back as it is where it need not be waited for', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const { signal } = new AbortController()
    const added = vi.spyOn(signal, 'addEventListener')
    const removed = vi.spyOn(signal, 'removeEventListener')
    const clock = new Deadlines(100, (ms) => new Error(`${ms} ms`))
    const all = [Promise.resolve(1), Promise.reject(new Error('no')), new Promise(() => {})]
    const ended = Promise.allSettled(all.map((work) => inTime(work, clock, signal)))
    expect(inTime('at once', clock, signal)).toBe('at once')
    expect(inTime(all[2], clock, signal, () => true)).toBe(all[2])
    await settled()
    expect([added.mock.calls.length, removed.mock.calls.length]).toEqual([3, 2])
    await vi.advanceTimersByTimeAsync(101)
    expect(await ended).toMatchObject([{ value: 1 }, { reason: { message: 'no' } }, { reason: { message: '100 ms' } }])
  })

  it('is left at once by a client that has gone', async () => {
    const clock = new Deadlines(undefined, () => undefined)
    await expect(inTime(new Promise(() => {}), clock, AbortSignal.abort('gone'))).rejects.toBe('gone')
  })
})
