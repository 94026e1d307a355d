import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { countTurns } from '../../../test/support/count-turns.js'
import { scripted } from '../../engines/scripted.js'
import { BEGIN_PER_TURN, Entrance } from '../../platform/turns.js'
import { createV1 } from '../v1.js'
import { MODEL } from '../v1.test-helper.js'
import { Admission, type Release } from './queue.js'

const never = new AbortController().signal
const settled = () => new Promise((resolve) => setTimeout(resolve))

/** Lets callers in and notes the order in which they start. */
function door(maxInFlight: number, maxQueue: number, maxWaitingBytes?: number) {
  const admission = new Admission({ maxInFlight, maxQueue, ...(maxWaitingBytes !== undefined && { maxWaitingBytes }) })
  const started: string[] = []
  const releases: Release[] = []
  /** Who has each place that was given. */
  const holders: string[] = []
  const enter = async (caller: string, name = caller, signal = never, { bytes = 0, weight = 1 } = {}) => {
    releases.push(await admission.enter(caller, signal, { bytes, weight }))
    holders.push(caller)
    started.push(name)
  }
  const refused: string[] = []
  /** Enters and notes whether, and in which order, it was refused. */
  const tryEnter = (name: string, bytes = 0) =>
    enter(name[0]!, name, never, { bytes }).catch((error) => {
      expect(error).toMatchObject({ status: 429, code: 'queue_full', retryAfter: expect.any(Number) })
      refused.push(name)
    })
  return { admission, started, releases, holders, enter, refused, tryEnter }
}

describe('admission', () => {
  it('lets in so many at once, so many wait, and one more is 429', async () => {
    const { admission, started, releases, enter } = door(2, 1)
    void enter('a')
    void enter('b')
    void enter('c')
    await settled()
    expect(started).toEqual(['a', 'b'])
    const refused = { status: 429, code: 'queue_full', retryAfter: expect.any(Number) }
    await expect(enter('d')).rejects.toMatchObject(refused)
    releases[0]!()
    // Giving a place back twice makes no second one.
    releases[0]!()
    await settled()
    expect(started).toEqual(['a', 'b', 'c'])
    expect([admission.running, admission.waiting]).toEqual([2, 0])
  })

  it('lets callers take turns, and keeps the order of each', async () => {
    const { started, releases, enter } = door(1, 10)
    for (const name of ['a1', 'a2', 'a3', 'b1', 'a4', 'c1', 'b2']) void enter(name[0]!, name)
    for (let i = 0; i < 7; i++) {
      await settled()
      releases[i]!()
    }
    expect(started).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4'])
  })

  it('gives the next place to the caller who holds the fewest', async () => {
    const { started, releases, enter } = door(3, 10)
    for (const name of ['a1', 'a2', 'b1', 'a3', 'a4', 'b2']) void enter(name[0]!, name)
    await settled()
    expect(started).toEqual(['a1', 'a2', 'b1'])
    // The last place is for who has none: two must be free before one of them goes on.
    for (let i = 0; i < 3; i++) {
      releases[i]!()
      await settled()
    }
    // b holds one when a holds none.
    expect(started).toEqual(['a1', 'a2', 'b1', 'a3', 'b2'])
  })

  it('keeps the last place for a caller who has none', async () => {
    const { admission, started, releases, enter } = door(3, 10)
    for (const name of ['a1', 'a2', 'a3', 'a4']) void enter(name[0]!, name)
    await settled()
    expect(started).toEqual(['a1', 'a2'])
    for (const name of ['new1', 'other1']) {
      void enter(name, name)
      await settled()
      expect(started.at(-1)).toBe(name)
      releases.pop()!()
      await settled()
    }
    expect([admission.running, admission.waiting]).toEqual([2, 2])
  })

  it('keeps none where nobody else can come', async () => {
    const admission = new Admission({ maxInFlight: 2, maxQueue: 0, soleCaller: true })
    await admission.enter('a', never)
    await admission.enter('a', never)
    expect(admission.running).toBe(2)
  })

  it('lets a call of more answers than there are places in beside one other of its only caller', async () => {
    const admission = new Admission({ maxInFlight: 3, maxQueue: 1, soleCaller: true })
    await admission.enter('a', never)
    await admission.enter('a', never, { weight: 100 })
    expect([admission.running, admission.waiting]).toEqual([2, 0])
    void admission.enter('a', never)
    expect(admission.waiting).toBe(1)
  })

  it('passes over whoever holds more, whoever has the turn', async () => {
    const { started, releases, enter } = door(6, 10)
    for (const name of ['a1', 'a2', 'a3', 'b1', 'a4', 'c1', 'a5', 'b2']) void enter(name[0]!, name)
    await settled()
    expect(started).toEqual(['a1', 'a2', 'a3', 'b1', 'a4', 'c1'])
    // One is free for whoever has none, then one more: a has three of them, and b one.
    releases[5]!()
    releases[0]!()
    await settled()
    expect(started.slice(6)).toEqual(['b2'])
  })

  it('counts a call for many answers as that many, and lets a caller who has none begin with the places that are free', async () => {
    const { started, releases, enter } = door(8, 10)
    const many = (name: string) => enter(name[0]!, name, never, { weight: 8 })
    void enter('a', 'a1')
    for (const name of ['a8', 'a8 too', 'b8']) void many(name)
    void enter('a', 'a2')
    await settled()
    // a8 would take all there is; b has none, and what it takes is all but the last.
    expect(started).toEqual(['a1', 'b8'])
    void enter('b', 'b1')
    await settled()
    expect(started).toEqual(['a1', 'b8'])
    releases[0]!()
    await settled()
    expect(started).toEqual(['a1', 'b8', 'a8'])
    releases[1]!()
    await settled()
    // What a8 has is one place, as it began beside b8; a8 too would be the second of its caller and large.
    expect(started).toEqual(['a1', 'b8', 'a8', 'b1'])
    releases[2]!()
    await settled()
    expect(started).toEqual(['a1', 'b8', 'a8', 'b1', 'a8 too'])
    releases[4]!()
    await settled()
    expect(started.at(-1)).toBe('a2')
  })

  it.each([2, 8, 1024])('has a place for a caller who has none, while others ask for %i answers', async (weight) => {
    const { admission, started, enter } = door(8, 100)
    // Nobody is there: it could have all places.
    void enter('a', 'a', never, { weight })
    for (let i = 0; i < 3; i++) void enter('a', 'more', never, { weight })
    await settled()
    for (const name of ['n1', 'n2', 'n3', 'n4']) {
      void enter(name, name, never, { weight: 1 })
      await settled()
      expect(started.at(-1)).toBe(name)
    }
    expect(admission.running).toBeLessThanOrEqual(8)
  })

  it('lets a newcomer into a full line in place of the last of the longest', async () => {
    const { admission, started, releases, refused, tryEnter } = door(1, 4)
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'a5', 'c2', 'd1']) {
      void tryEnter(name)
      await settled()
    }
    // c1 displaces a4; a5 may displace nobody, nor c2, which would make c's line as long as a's; d1 displaces a3.
    expect(refused).toEqual(['a4', 'a5', 'c2', 'a3'])
    expect(admission.waiting).toBe(4)
    for (let i = 0; i < 5; i++) {
      await settled()
      releases[i]!()
    }
    expect(started).toEqual(['a1', 'a2', 'b1', 'c1', 'd1'])
  })

  it('takes from lines that are equally long the last of the one whose turn comes first', async () => {
    const { refused, tryEnter } = door(1, 4)
    for (const name of ['a1', 'b1', 'b2', 'c1', 'c2', 'd1']) void tryEnter(name)
    await settled()
    expect(refused).toEqual(['b2'])
  })

  it('serves every request of a new caller while another keeps the queue full', async () => {
    const { started, releases, refused, tryEnter } = door(8, 100)
    let flood = 0
    let released = 0
    for (; flood < 160; flood++) void tryEnter(`f${flood}`)
    await settled()
    expect(refused).toHaveLength(53)
    for (let i = 0; i < 100; i++) {
      // It waits for nobody.
      void tryEnter(`n${i}`)
      await settled()
      expect(started.at(-1)).toBe(`n${i}`)
      releases.pop()!()
      void tryEnter(`f${flood++}`)
      releases[released++]!()
      await settled()
      expect(started.at(-1)).toContain('f')
    }
    expect(refused.every((name) => name.startsWith('f'))).toBe(true)
  })

  it('bounds the bytes that wait, and takes them from who holds the most', async () => {
    const { admission, refused, tryEnter } = door(1, 10, 100)
    for (const name of ['a0', 'a1', 'a2', 'a3', 'a4']) void tryEnter(name, 25)
    for (const [name, bytes] of Object.entries({ b1: 1, c1: 101, b2: 60 })) {
      await settled()
      void tryEnter(name, bytes)
    }
    await settled()
    // b1 displaces one of a's. c1 could never wait. b2 would leave b with more than a: nobody goes for nothing.
    expect(refused).toEqual(['a4', 'c1', 'b2'])
    expect(admission.waiting).toBe(4)
  })

  it('looks at bytes where as many wait as may, and at their number where they are more', async () => {
    const { admission, refused, tryEnter } = door(1, 3, 100)
    for (const [name, bytes] of Object.entries({ a0: 0, a1: 5, b1: 90, c1: 10 })) {
      void tryEnter(name, bytes)
      await settled()
    }
    // Three wait, which are as many as may: of these b holds the most bytes.
    expect(refused).toEqual(['b1'])
    void tryEnter('d1', 86)
    await settled()
    // Nobody holds more than it would.
    expect([refused, admission.waiting]).toEqual([['b1', 'd1'], 2])
  })

  it('forgets who leaves the line', async () => {
    const { admission, started, releases, enter } = door(1, 2)
    void enter('a')
    const aborter = new AbortController()
    const left = enter('b', 'b', aborter.signal)
    void enter('c')
    const reason = new Error('gone')
    aborter.abort(reason)
    await expect(left).rejects.toBe(reason)
    expect(admission.waiting).toBe(1)
    releases[0]!()
    await settled()
    expect(started).toEqual(['a', 'c'])
    await expect(enter('d', 'd', aborter.signal)).rejects.toBe(reason)
  })

  it('takes no notice of who aborts once it is in, or was refused', async () => {
    const { admission, releases, enter, refused, tryEnter } = door(1, 2)
    const [inside, waiting, sent] = [new AbortController(), new AbortController(), new AbortController()]
    void enter('a', 'a1', inside.signal)
    void enter('a', 'a2', waiting.signal)
    const gone = enter('a', 'a3', sent.signal).catch((error: unknown) => error)
    void tryEnter('b1')
    expect(await gone).toMatchObject({ status: 429 })
    inside.abort()
    sent.abort()
    expect([admission.running, admission.waiting, refused]).toEqual([1, 2, []])
    releases[0]!()
    await settled()
    waiting.abort()
    expect([admission.running, admission.waiting]).toEqual([1, 1])
    for (const release of [1, 2]) {
      releases[release]!()
      await settled()
    }
    expect([admission.running, admission.waiting]).toEqual([0, 0])
  })

  it('counts the bytes of those alone who wait', async () => {
    const { admission, releases, refused, tryEnter, enter } = door(1, 10, 100)
    void tryEnter('a0', 1000)
    const leaving = new AbortController()
    const left = enter('a', 'a1', leaving.signal, { bytes: 100 }).catch(() => 'left')
    await settled()
    // Just as many as may be held; one more is too many.
    expect(admission.waiting).toBe(1)
    void tryEnter('a2', 1)
    await settled()
    expect(refused).toEqual(['a2'])
    leaving.abort()
    expect(await left).toBe('left')
    void tryEnter('a3', 60)
    void tryEnter('a4', 40)
    await settled()
    expect(admission.waiting).toBe(2)
    releases[0]!()
    await settled()
    void tryEnter('a5', 60)
    await settled()
    expect([refused, admission.waiting]).toEqual([['a2'], 2])
  })

  describe('tells who is refused when to come again', () => {
    afterEach(() => void vi.useRealTimers())

    /** What is told when all places and the whole line are taken, once calls have taken so long for some time. */
    async function toldAfter(seconds: number, maxInFlight: number, maxQueue: number) {
      vi.useFakeTimers({ toFake: ['performance'] })
      const admission = new Admission({ maxInFlight, maxQueue })
      for (let i = 0; i < 200; i++) {
        const release = await admission.enter('a', never)
        vi.advanceTimersByTime(seconds * 1000)
        release()
      }
      for (let i = 0; i < maxInFlight + maxQueue; i++) void admission.enter(`caller ${i}`, never)
      const late = async () => admission.enter('late', never)
      return (await late().catch((error: unknown) => error)) as { retryAfter: number; message: string }
    }

    it('by how long calls take, how many are at once, and how many come before', async () => {
      // Each of those who wait before it, and one that runs, takes its time.
      for (const [seconds, inFlight, queue] of [
        [4, 1, 3],
        [4, 2, 3],
        [2, 1, 7],
        [5, 3, 20],
      ] as const) {
        const { retryAfter } = await toldAfter(seconds, inFlight, queue)
        expect([retryAfter]).toEqual([Math.ceil((seconds * (queue + 1)) / inFlight)])
      }
    })

    it('within a minute, and not at once', async () => {
      expect((await toldAfter(3600, 1, 1)).retryAfter).toBe(60)
      expect((await toldAfter(0.001, 1, 0)).retryAfter).toBe(1)
    })

    it('and how many there are', async () => {
      const { message } = await toldAfter(4, 2, 3)
      expect(message).toContain('2 requests are running and 3 of at most 3 are waiting')
      expect(message).toContain('Try again in 8 s.')
    })
  })

  it('closes at once where nobody is in', async () => {
    const { admission, releases, enter } = door(1, 2)
    expect(admission.closed).toBe(false)
    await enter('a')
    releases[0]!()
    await admission.close()
    expect(admission.closed).toBe(true)
    const message = 'The service is closing and takes no new requests.'
    await expect(enter('b')).rejects.toMatchObject({ status: 503, code: 'closing', message })
  })

  it('closes: nobody new, and settles when all have left', async () => {
    const { admission, releases, enter } = door(1, 2)
    void enter('a')
    void enter('b')
    let closed = false
    const closing = admission.close().then(() => {
      closed = true
    })
    await expect(enter('c')).rejects.toMatchObject({ status: 503 })
    releases[0]!()
    await settled()
    expect(closed).toBe(false)
    releases[1]!()
    await closing
  })

  it('closes only when all have left, also those who stood in line', async () => {
    const { admission, releases, enter } = door(1, 3)
    for (const name of ['a', 'b', 'c']) void enter(name)
    let closed = false
    const closing = admission.close().then(() => {
      closed = true
    })
    for (let i = 0; i < 3; i++) {
      await settled()
      expect(closed).toBe(false)
      releases[i]!()
    }
    await closing
  })

  it('never lets in too many, never loses a place, never leaves a waiter behind', async () => {
    const action = fc.oneof(
      fc.record({ type: fc.constant('enter' as const), caller: fc.constantFrom('a', 'b', 'c') }),
      fc.record({ type: fc.constant('release' as const) }),
      fc.record({ type: fc.constant('abort' as const), which: fc.nat(20) }),
    )
    const limits = fc.record({ inFlight: fc.integer({ min: 1, max: 3 }), queue: fc.nat(4) })
    await fc.assert(
      fc.asyncProperty(limits, fc.array(action, { maxLength: 40 }), async ({ inFlight, queue }, actions) => {
        const { admission, releases, holders, enter } = door(inFlight, queue)
        const aborters: AbortController[] = []
        /** In line, as far as they have not left it. */
        const requests: { caller: string; signal: AbortSignal; over: boolean }[] = []
        /** The last place is kept where all who wait hold some. */
        const lastIsKept = () => {
          const waiting = requests.filter(({ signal, over }) => !over && !signal.aborted)
          return inFlight > 1 && waiting.every(({ caller }) => holders.includes(caller))
        }
        for (const each of actions) {
          if (each.type === 'enter') {
            const aborter = new AbortController()
            aborters.push(aborter)
            const one = { caller: each.caller, signal: aborter.signal, over: false }
            requests.push(one)
            void enter(each.caller, each.caller, aborter.signal)
              .catch(() => {})
              .finally(() => {
                one.over = true
              })
          } else if (each.type === 'release') {
            releases.shift()?.()
            holders.shift()
          } else aborters[each.which]?.abort()
          for (let i = 0; i < 8; i++) await Promise.resolve()
          expect(admission.running).toBeLessThanOrEqual(inFlight)
          expect(admission.waiting).toBeLessThanOrEqual(queue)
          const least = lastIsKept() ? inFlight - 1 : inFlight
          expect(admission.waiting === 0 || admission.running >= least).toBe(true)
        }
        for (let i = 0; i < 100 && admission.running > 0; i++) {
          releases.shift()?.()
          await Promise.resolve()
          await Promise.resolve()
          await Promise.resolve()
        }
        expect([admission.running, admission.waiting]).toEqual([0, 0])
      }),
      { numRuns: 200 },
    )
  })
})

const keys = [
  { key: 'sk-many', id: 'many' },
  { key: 'sk-one', id: 'one' },
]

/** Sends requests, all at once, and keeps in which turn of the event loop and as which of them each was answered. */
async function answersOf(requests: readonly (readonly [key: string, path: string])[]) {
  const v1 = createV1({ engine: scripted({ models: { [MODEL]: 'Hello' } }), keys, log: () => {} })
  const turns = countTurns()
  let answered = 0
  const answers = await Promise.all(
    requests.map(async ([key, path]) => {
      const headers = { authorization: `Bearer ${key}` }
      const { status } = await v1.fetch(new Request(`http://device.test/v1${path}`, { headers }))
      return { status, turn: turns.now, place: answered++ }
    }),
  )
  turns.over = true
  return answers
}

const flood = (path: string, key = 'sk-many') => Array.from({ length: 320 }, () => [key, path] as const)

describe('requests that come all at once', () => {
  it.each([
    ['served', '/models', 'sk-many', 200],
    ['refused by name', '/models/nothing', 'sk-many', 404],
    ['unknown', '/nothing', 'sk-many', 404],
    ['without a key that we know', '/models', 'sk-wrong', 401],
  ])('begin in several turns of the event loop: %s', async (_, path, key, status) => {
    const answers = await answersOf(flood(path, key))
    const perTurn = new Map<number, number>()
    for (const { turn } of answers) perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1)
    expect(answers.map((each) => each.status)).toEqual(answers.map(() => status))
    expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(2 * BEGIN_PER_TURN)
  })

  it('do not keep another caller waiting for all of them', async () => {
    const answers = await answersOf([...flood('/models'), ['sk-one', '/models']])
    const newcomer = answers.at(-1)!
    expect(newcomer.status).toBe(200)
    expect(newcomer.place).toBeLessThanOrEqual(2 * BEGIN_PER_TURN)
  })
})

describe('an entrance', () => {
  const atOnce = (entrance: Entrance, count: number) => Array.from({ length: count }, () => entrance.enter('many'))
  const begun = (waits: readonly unknown[]) => waits.filter((wait) => wait === undefined).length

  it('lets just so many begin at once', () => {
    expect(begun(atOnce(new Entrance(), 3 * BEGIN_PER_TURN))).toBe(BEGIN_PER_TURN)
  })

  it('has whoever comes while those who waited begin wait for a turn as well', async () => {
    const entrance = new Entrance()
    const waits = atOnce(entrance, 3 * BEGIN_PER_TURN)
    await waits[BEGIN_PER_TURN]
    // Still in the turn in which as many as may have begun.
    expect(begun(atOnce(entrance, 2 * BEGIN_PER_TURN))).toBe(0)
  })

  it('is as it was once all have begun', async () => {
    const entrance = new Entrance()
    await Promise.all(atOnce(entrance, 2 * BEGIN_PER_TURN + 1))
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(begun(atOnce(entrance, 2 * BEGIN_PER_TURN))).toBe(BEGIN_PER_TURN)
  })

  it('that nobody uses any longer lets the process end', async () => {
    const script = `
      const { Entrance } = await import(${JSON.stringify(fileURLToPath(new URL('../../platform/turns.ts', import.meta.url)))})
      const entrance = new Entrance()
      await Promise.all(Array.from({ length: 40 }, () => entrance.enter('one')))
    `
    const args = ['--import', 'tsx', '--input-type=module', '-e', script]
    await expect(promisify(execFile)(process.execPath, args, { timeout: 60_000 })).resolves.toBeDefined()
  })
})
