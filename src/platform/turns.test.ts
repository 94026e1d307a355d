import { type AddressInfo, createServer } from 'node:net'
import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { countTurns } from '../../test/support/count-turns.js'
import {
  atOnce,
  BEGIN_MS,
  beginSteps,
  breathe,
  CallerLines,
  FOR_OTHERS,
  FOR_STEPS,
  inTurns,
  mapped,
  myTurn,
  TURNS_BETWEEN,
  whenTurnEnds,
} from './turns.js'

const never = new AbortController().signal
const SLICE_MS = 20
const STEP_MS = 2
/** Of which steps have more turns than are left to others anyway. */
const LONG_MS = (TURNS_BETWEEN * STEP_MS * 3) / FOR_STEPS

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

/** A clock that only work moves. */
function clock(): (ms: number) => void {
  vi.useFakeTimers({ toFake: ['performance'] })
  return (ms) => void vi.advanceTimersByTime(ms)
}

async function* steps(pass: (ms: number) => void, slices: () => number) {
  for (;;) {
    pass(STEP_MS)
    yield slices()
    await breathe()
  }
}

it('work in slices leaves steps twice the time that it takes, however many tasks there are', async () => {
  const pass = clock()
  let slices = 0
  function* work() {
    for (let i = 0; i < 4; i++) {
      yield
      pass(SLICE_MS)
      slices++
    }
  }
  const end = beginSteps()
  const works = Promise.all([inTurns(work(), never), inTurns(work(), never), inTurns(work(), never)])
  /** How many steps were taken when so many slices were over. */
  const taken = new Array<number>(13).fill(0)
  for await (const over of steps(pass, () => slices)) {
    taken[over]!++
    if (over === 12) break
  }
  end()
  await works
  // The turn of a slice may be that of a step too.
  for (const count of taken.slice(1, 12)) expect(count).toBeGreaterThanOrEqual((FOR_STEPS * SLICE_MS) / STEP_MS - 1)
})

it('whoever has left is told at once, and takes no turn from who comes after', async () => {
  function* work() {
    for (let i = 0; i < 3; i++) yield
    return 'done'
  }
  const leaving = new AbortController()
  const left = Array.from({ length: 200 }, () => inTurns(work(), leaving.signal))
  const reasons = Promise.all(left.map((each) => each.catch((reason: unknown) => reason)))
  await breathe()
  leaving.abort('gone')
  const turns = countTurns()
  expect(await inTurns(work(), never)).toBe('done')
  turns.over = true
  expect(turns.now).toBeLessThan(5 * TURNS_BETWEEN)
  expect(await reasons).toEqual(Array(200).fill('gone'))
})

it('work in slices rests for a few turns where nobody takes steps', async () => {
  const pass = clock()
  const turns = countTurns()
  beginSteps()()
  function* work() {
    for (let i = 0; i < 10; i++) {
      yield
      pass(SLICE_MS)
    }
  }
  await inTurns(work(), never)
  turns.over = true
  expect(turns.now).toBeLessThanOrEqual(10 * TURNS_BETWEEN + 2)
})

it('what a refusal took is left to steps as well', async () => {
  const pass = clock()
  const end = beginSteps()
  let refused = 0
  function* work() {
    yield
    pass(SLICE_MS)
    refused++
    throw new Error('too costly')
  }
  const works = Promise.allSettled([inTurns(work(), never), inTurns(work(), never), inTurns(work(), never)])
  const taken = [0, 0, 0, 0]
  for await (const over of steps(pass, () => refused)) {
    taken[over]!++
    if (over === 3) break
  }
  end()
  await works
  for (const count of taken.slice(1, 3)) expect(count).toBeGreaterThanOrEqual(SLICE_MS / STEP_MS - 1)
})

/** Opens connections and says so by `opened`, without the help of the event loop that is to accept them. */
const CONNECTING = `
  const { workerData: { port, count, opened } } = require('node:worker_threads')
  const sockets = Array.from({ length: count }, () => require('node:net').connect(port, '127.0.0.1'))
  Promise.all(sockets.map((each) => new Promise((resolve) => each.once('connect', resolve)))).then(() => {
    Atomics.store(opened, 0, 1)
    Atomics.notify(opened, 0)
  })`

it.each([0, SLICE_MS / 5])(
  'who connects does not wait for a slice for each connection before, of %s ms',
  async (each) => {
    const count = 64
    let accepted = 0
    const pass = clock()
    const server = createServer(() => {
      accepted++
      pass(each)
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const opened = new Int32Array(new SharedArrayBuffer(4))
    const { port } = server.address() as AddressInfo
    const worker = new Worker(CONNECTING, { eval: true, workerData: { port, count, opened } })
    await new Promise((resolve) => worker.once('online', resolve))
    Atomics.wait(opened, 0, 0)
    let slices = 0
    function* work() {
      for (; accepted < count; slices++) {
        yield
        pass(SLICE_MS)
      }
    }
    await inTurns(work(), never)
    await worker.terminate()
    server.close()
    expect(slices).toBeLessThanOrEqual(count / Math.min(TURNS_BETWEEN, (SLICE_MS * FOR_OTHERS) / each) + 2)
  },
)

it('a computer that slept in a slice does not rest as long', async () => {
  const pass = clock()
  const end = beginSteps()
  function* work() {
    pass(24 * 60 * 60 * 1000)
    yield
  }
  let over = false
  const works = inTurns(work(), never).then(() => {
    over = true
  })
  let taken = 0
  for await (const _ of steps(pass, () => 0)) {
    if (over) break
    taken++
  }
  end()
  await works
  expect(taken).toBeLessThanOrEqual(1000 / STEP_MS + 2)
})

it('callers take turns: one who comes late is not behind all that another waits for', async () => {
  const done: string[] = []
  function* work(caller: string) {
    yield
    done.push(caller)
  }
  const works = ['a', 'a', 'a', 'a', 'a', 'b'].map((caller) => inTurns(work(caller), never, caller))
  await Promise.all(works)
  expect(done).toEqual(['a', 'b', 'a', 'a', 'a', 'a'])
})

describe('a turn of the event loop', () => {
  it('is one for all who ask before it comes, and another for who asks then', async () => {
    const first = breathe()
    expect(breathe()).toBe(first)
    let come = false
    setImmediate(() => {
      come = true
    })
    await first
    const second = breathe()
    expect(second).not.toBe(first)
    await second
    expect(come).toBe(true)
  })

  it.each([
    ['in Node, to the end', {}, 9],
    ['where nothing tells when it ends', { process: undefined }, 1],
  ])('ends once promises that are settled have been followed: %s', async (_, globals, many) => {
    for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value)
    const order: string[] = []
    const ended = new Promise<void>((resolve) => {
      whenTurnEnds(() => {
        order.push('end')
        resolve()
      })
    })
    vi.unstubAllGlobals()
    let followed: Promise<unknown> = Promise.resolve()
    for (let i = 1; i < many; i++) followed = followed.then(() => {})
    void followed.then(() => order.push('promise'))
    setImmediate(() => order.push('next'))
    expect(order).toEqual([])
    await ended
    expect(order).toEqual(['promise', 'end'])
    await breathe()
    expect(order).toEqual(['promise', 'end', 'next'])
  })

  it('is waited for before a piece of work, and by nobody who has left', async () => {
    const order: string[] = []
    setImmediate(() => order.push('other'))
    const mine = myTurn(never, 'me').then(() => order.push('mine'))
    await mine
    expect(order).toEqual(['other', 'mine'])
    await expect(myTurn(AbortSignal.abort('gone'), 'me')).rejects.toBe('gone')
  })
})

describe('work in slices', () => {
  it('is not begun for whoever has left, and goes on for whom nothing tells of leaving', async () => {
    let begun = 0
    function* work() {
      begun++
      yield
      return begun
    }
    await expect(inTurns(work(), AbortSignal.abort('gone'))).rejects.toBe('gone')
    expect(begun).toBe(0)
    expect(await inTurns(work(), undefined)).toBe(1)
  })

  it('is not begun while others of its caller wait, nor ever for who has left before its turn', async () => {
    const begun: string[] = []
    function* work(name: string) {
      begun.push(name)
      yield
    }
    const leaver = new AbortController()
    const first = inTurns(work('first'), never, 'crowd')
    const left = inTurns(work('left'), leaver.signal, 'crowd')
    const last = inTurns(work('last'), never, 'crowd')
    expect(begun).toEqual(['first'])
    // Who is new has nobody before it.
    const guest = inTurns(work('guest'), never, 'guest')
    expect(begun).toEqual(['first', 'guest'])
    leaver.abort('left')
    await expect(left).rejects.toBe('left')
    await Promise.all([first, last, guest])
    expect(begun).toEqual(['first', 'guest', 'last'])
    // Nobody waits any more.
    const alone = inTurns(work('alone'), never, 'crowd')
    expect(begun.at(-1)).toBe('alone')
    await alone
  })

  it('is in line once its caller has begun much of late, also where nobody of it waits any more', async () => {
    const pass = clock()
    const begun: string[] = []
    function* work(name: string, ms: number) {
      begun.push(name)
      pass(ms)
      yield
    }
    const crowd = (name: string, ms: number) => {
      const leaver = new AbortController()
      const done = inTurns(work(name, ms), leaver.signal, 'crowd')
      leaver.abort('left')
      return expect(done).rejects.toBe('left')
    }
    // What is short goes on beginning.
    await Promise.all([crowd('short', BEGIN_MS - 1), crowd('second', 1)])
    expect(begun).toEqual(['short', 'second'])
    // Each of these has left before the next comes.
    for (let i = 0; i < 100; i++) await crowd('more', BEGIN_MS)
    expect(begun).toEqual(['short', 'second'])
    const guest = inTurns(work('guest', 0), never, 'guest')
    expect(begun.at(-1)).toBe('guest')
    const last = inTurns(work('last', 0), never, 'crowd')
    expect(begun.at(-1)).toBe('guest')
    await Promise.all([guest, last])
    expect(begun.at(-1)).toBe('last')
    // Others have had as much time, so that it begins at once again.
    const again = inTurns(work('again', 0), never, 'crowd')
    expect(begun.at(-1)).toBe('again')
    await again
  })

  it('that had a turn counts for nothing that was begun', async () => {
    const pass = clock()
    function* work() {
      yield
      pass(BEGIN_MS)
    }
    await inTurns(work(), never, 'me')
    let begun = false
    function* next() {
      begun = true
      yield
    }
    const again = inTurns(next(), never, 'me')
    expect(begun).toBe(true)
    await again
  })

  it('that begins adds up however short it is, until others have had as much time, also where nobody waits', async () => {
    const pass = clock()
    let begun = 0
    const work = (ms: number) =>
      mapped([ms], (each) => {
        begun++
        pass(each)
      })
    const others = async () => {
      for (let i = 0; i < 2 * TURNS_BETWEEN; i++) await breathe()
    }
    // Nothing is owed yet.
    await myTurn(never, 'other')
    await inTurns(work(BEGIN_MS - 1), never, 'me')
    await others()
    await inTurns(work(1), never, 'me')
    const third = inTurns(work(0), never, 'me')
    expect(begun).toBe(2)
    await third
    await myTurn(never, 'other')
    await inTurns(work(BEGIN_MS), never, 'me')
    await others()
    const last = inTurns(work(0), never, 'me')
    expect(begun).toBe(5)
    await last
  })

  it('begins for a crowd that comes and leaves again in each turn as much as others have time for', async () => {
    const pass = clock()
    let [begun, turns] = [0, 0]
    function* work() {
      begun++
      pass(SLICE_MS)
      yield
    }
    for (; turns < 10 * TURNS_BETWEEN; turns++) {
      const leaver = new AbortController()
      const done = inTurns(work(), leaver.signal, 'crowd')
      leaver.abort('left')
      await expect(done).rejects.toBe('left')
      await breathe()
    }
    expect(begun).toBeGreaterThan(1)
    expect(begun).toBeLessThanOrEqual(turns / TURNS_BETWEEN + 1)
  })

  it('lets go of the signal at each turn', async () => {
    const { signal } = new AbortController()
    const [added, removed] = [vi.spyOn(signal, 'addEventListener'), vi.spyOn(signal, 'removeEventListener')]
    function* work() {
      for (let i = 0; i < 3; i++) yield
    }
    await inTurns(work(), signal)
    expect(added).toHaveBeenCalledTimes(3)
    expect(removed.mock.calls).toEqual(added.mock.calls.map(([name, listener]) => [name, listener]))
  })

  it('goes on after a while in which nobody worked', async () => {
    function* work() {
      yield
      return 'done'
    }
    for (let i = 0; i < 3; i++) {
      expect(await inTurns(work(), never)).toBe('done')
      for (let turn = 0; turn < 5; turn++) await breathe()
    }
  })

  it('goes on for whoever comes after the only one has left', async () => {
    function* work() {
      yield
      return 'done'
    }
    const leaving = new AbortController()
    const left = inTurns(work(), leaving.signal)
    leaving.abort('gone')
    await expect(left).rejects.toBe('gone')
    for (let turn = 0; turn < 2 * TURNS_BETWEEN; turn++) await breathe()
    expect(await inTurns(work(), never)).toBe('done')
  })

  it('leaves to others, where their turns are long, four times what it has taken and no more', async () => {
    const pass = clock()
    let slices = 0
    function* work() {
      for (let i = 0; i < 3; i++) {
        yield
        pass(SLICE_MS)
        slices++
      }
    }
    const works = inTurns(work(), never)
    const spent = [0, 0, 0, 0]
    while (slices < 3) {
      pass(SLICE_MS)
      spent[slices]! += SLICE_MS
      await breathe()
    }
    await works
    // The turn in which a slice begins is one of others too.
    for (const ms of spent.slice(1, 3)) expect(Math.abs(ms - FOR_OTHERS * SLICE_MS)).toBeLessThanOrEqual(SLICE_MS)
  })

  it('rests for nobody whose steps are over, however often that is said', async () => {
    const pass = clock()
    beginSteps()()
    const end = beginSteps()
    const twice = beginSteps()
    twice()
    twice()
    let slices = 0
    function* work() {
      for (let i = 0; i < 3; i++) {
        yield
        pass(LONG_MS)
        slices++
      }
    }
    // One who takes steps is left.
    const works = inTurns(work(), never)
    const taken = [0, 0, 0, 0]
    for await (const over of steps(pass, () => slices)) {
      taken[over]!++
      if (over === 3) break
    }
    end()
    await works
    for (const count of taken.slice(1, 3)) expect(count).toBeGreaterThanOrEqual((FOR_STEPS * LONG_MS) / STEP_MS - 1)
  })

  it('leaves to steps no more than twice the time of the slice before', async () => {
    const pass = clock()
    const end = beginSteps()
    let slices = 0
    function* work() {
      for (let i = 0; i < 4; i++) {
        yield
        pass(SLICE_MS)
        slices++
      }
    }
    const works = inTurns(work(), never)
    const taken = [0, 0, 0, 0, 0]
    for await (const over of steps(pass, () => slices)) {
      taken[over]!++
      if (over === 4) break
    }
    end()
    await works
    const most = Math.max((FOR_STEPS * SLICE_MS) / STEP_MS, TURNS_BETWEEN)
    for (const count of taken.slice(1, 4)) expect(count).toBeLessThanOrEqual(most + 2)
  })
})

describe('lines of callers', () => {
  function served(...waiting: string[]): string[] {
    const lines = new CallerLines()
    const begun: string[] = []
    for (const [i, caller] of waiting.entries()) lines.add(caller, () => begun.push(`${caller}${i}`))
    for (let begin = lines.take(); begin; begin = lines.take()) begin()
    expect(lines.empty).toBe(true)
    return begun
  }

  it('serve one of each in turn, each in the order in which it came', () => {
    expect(served('a', 'a', 'a', 'b', 'b', 'c')).toEqual(['a0', 'b3', 'c5', 'a1', 'b4', 'a2'])
  })

  it('serve whoever comes late after one of those before', () => {
    const lines = new CallerLines()
    const begun: string[] = []
    for (const name of ['a0', 'a1', 'a2']) lines.add('a', () => begun.push(name))
    lines.take()!()
    lines.add('b', () => begun.push('b'))
    for (let begin = lines.take(); begin; begin = lines.take()) begin()
    expect(begun).toEqual(['a0', 'a1', 'b', 'a2'])
  })

  it('lose whoever is taken out, once, and nobody else', () => {
    const lines = new CallerLines()
    const begun: string[] = []
    const [first, , , fourth] = ['a', 'a', 'b', 'c'].map((caller, i) => lines.add(caller, () => begun.push(caller + i)))
    first!()
    first!()
    fourth!()
    while (!lines.empty) lines.take()!()
    expect(begun).toEqual(['a1', 'b2'])
    // It has begun, and another of the same caller waits.
    lines.add('b', () => begun.push('b4'))
    first!()
    fourth!()
    lines.take()!()
    expect(begun).toEqual(['a1', 'b2', 'b4'])
    expect(lines.empty).toBe(true)
  })

  it('are empty before and after, and not between', () => {
    const lines = new CallerLines()
    expect([lines.empty, lines.take()]).toEqual([true, undefined])
    lines.add('a', () => {})
    expect(lines.empty).toBe(false)
    expect(lines.take()).toBeTypeOf('function')
    expect([lines.empty, lines.take()]).toEqual([true, undefined])
  })
})

it('a list is mapped with a pause after every few hundred, to what it would be mapped to at once', () => {
  const list = Array.from({ length: 1200 }, (_, i) => i)
  const work = mapped(list, (item, place) => [item, place] as const)
  let pauses = 0
  for (let step = work.next(); !step.done; step = work.next()) pauses++
  expect(pauses).toBe(2)
  expect(atOnce(mapped(list, (item, place) => [item, place]))).toEqual(list.map((item) => [item, item]))
  expect(atOnce(mapped([], String))).toEqual([])
})
