import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { V1Error } from '../../contract/errors.js'
import { showPulse } from '../../platform/pulse.js'
import { OPERATION_WORDS, PRIVATE } from './abi.js'
import type { DeviceMemory } from './memory.js'
import { OPERATION_BYTES } from './program.js'
import { Runner, TeamTrial, TOGETHER_BYTES } from './runner.js'
import type { Team } from './team.js'
import type { Kernels } from './wasm.js'

const CONTROL = 7
/** Behind the room. */
const PROGRAM = TOGETHER_BYTES + OPERATION_BYTES
const MOST = 4000

interface Setup {
  readonly threads?: number
  readonly settled?: () => boolean
  readonly together?: () => number
  readonly alone?: () => void
}

/** A device whose kernels write down which operations they were given, each by its place in the program. */
function setUp({ threads = 4, settled = () => true, together = () => 1, alone = () => {} }: Setup = {}) {
  const buffer = new ArrayBuffer(PROGRAM + MOST * OPERATION_BYTES)
  const memory = { i32: new Int32Array(buffer), u8: new Uint8Array(buffer) }
  for (let i = 0; i < MOST; i++) memory.i32[PROGRAM / 4 + i * OPERATION_WORDS] = i
  const ranges: string[] = []
  const failed: number[] = []
  const lost: V1Error[] = []
  const noted = (how: string, at: number, count: number) => {
    const of = (i: number) => memory.i32[at / 4 + i * OPERATION_WORDS]!
    for (let i = 1; i < count; i++) expect(of(i)).toBe(of(0) + i)
    ranges.push(`${how} ${of(0)}-${of(0) + count - 1}`)
  }
  const kernels = {
    run(at: number, count: number) {
      noted('alone', at, count)
      alone()
    },
    runTogether(control: number, at: number, count: number, of: number) {
      expect([control, at, of]).toEqual([CONTROL, 0, threads])
      noted('together', at, count)
      return together()
    },
    isSettled(control: number) {
      expect(control).toBe(CONTROL)
      return settled() ? 1 : 0
    },
    fail: (control: number) => failed.push(control),
  } as unknown as Kernels
  const runner = new Runner({
    ...{ kernels, control: CONTROL, room: 0 },
    memory: memory as unknown as DeviceMemory,
    team: { threads } as Team,
    onLost: (error) => lost.push(error),
  })
  const run = (operations: number, size: number, from = 0) => {
    ranges.length = 0
    runner.run(PROGRAM + from * OPERATION_BYTES, operations, size)
    return [...ranges]
  }
  const belongsToNext = (i: number) => {
    memory.i32[PROGRAM / 4 + i * OPERATION_WORDS + 1] = PRIVATE
  }
  return { runner, run, ranges, failed, lost, belongsToNext }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

describe('a program', () => {
  it('is run by one thread where there is one, in pieces that are not long', () => {
    const { run } = setUp({ threads: 1 })
    expect(run(3, 8)).toEqual(['alone 0-2'])
    // 1,024 rows times operations at a time, and four operations at least.
    expect(run(300, 8)).toEqual(['alone 0-127', 'alone 128-255', 'alone 256-299'])
    expect(run(6, 4096, 5)).toEqual(['alone 5-8', 'alone 9-10'])
  })

  it('of one operation is run by one thread: it is looked at', () => {
    expect(setUp().run(1, 8)).toEqual(['alone 0-0'])
  })

  it('is run by all in pieces, what each does for itself with what follows it', () => {
    const { run, belongsToNext } = setUp()
    expect(run(600, 1)).toEqual(['together 0-511', 'together 512-599'])
    expect(run(10, 256, 2)).toEqual(['together 2-5', 'together 6-9', 'together 10-11'])
    belongsToNext(3)
    belongsToNext(6)
    expect(run(10, 256)).toEqual(['together 0-2', 'together 3-5', 'together 6-9'])
  })

  it('is run by one for as long as another thread still looks at what it was to do last', () => {
    let looks = 0
    const { run } = setUp({ settled: () => ++looks > 2 })
    expect(run(10, 256)).toEqual(['alone 0-3', 'alone 4-7', 'together 8-9'])
  })

  it('shows at each piece that this thread lives', () => {
    const pulse = new SharedArrayBuffer(256)
    showPulse(pulse)
    const beats = () => new Int32Array(pulse)[0]!
    const before = beats()
    setUp({ threads: 1 }).run(6, 4096)
    expect(beats() - before).toBe(2)
    setUp().run(10, 256)
    expect(beats() - before).toBe(5)
  })
})

describe('one thread or all', () => {
  /** How it is run once both ways were tried, where these take so long. */
  function settledOn(alone: number, together: number, sizes: readonly number[]) {
    const took = (ms: number) => void vi.advanceTimersByTime(ms)
    const { run } = setUp({
      alone: () => took(alone),
      together: () => {
        took(together)
        return 1
      },
    })
    for (let i = 0; i < 8; i++) run(2, sizes[0]!)
    return sizes.map((size) => run(2, size)[0]!.split(' ')[0])
  }

  it('is whichever was faster', () => {
    expect(settledOn(10, 4, [1])).toEqual(['together'])
    expect(settledOn(4, 10, [1])).toEqual(['alone'])
  })

  it('is tried for itself for passes of each size, of which those within a factor of two are alike', () => {
    // Others are tried yet, first by all.
    expect(settledOn(4, 10, [5, 4, 7, 8, 3])).toEqual(['alone', 'alone', 'alone', 'together', 'together'])
  })

  it('is found anew with other kernels, which run all from then on', () => {
    const { runner, run, ranges } = setUp({
      together() {
        vi.advanceTimersByTime(10)
        return 1
      },
    })
    for (let i = 0; i < 8; i++) run(2, 1)
    expect(run(2, 1)).toEqual(['alone 0-1'])
    const told: string[] = []
    const others = {
      run: (_: number, count: number) => told.push(`alone ${count}`),
      isSettled: (control: number) => control === 9,
      runTogether: (control: number, at: number, count: number, of: number) =>
        told.push(`together ${count} by ${control} at ${at} of ${of}`),
    } as unknown as Kernels
    runner.take({ kernels: others, team: { threads: 2 } as Team, control: 9, room: OPERATION_BYTES })
    ranges.length = 0
    expect(run(2, 1)).toEqual([])
    expect(told).toEqual([`together 2 by 9 at ${OPERATION_BYTES} of 2`])
  })

  it('is all for what is known to be worth it', () => {
    const { runner, ranges } = setUp()
    runner.share(PROGRAM + 3 * OPERATION_BYTES)
    expect(ranges).toEqual(['together 3-3'])
    const one = setUp({ threads: 1 })
    one.runner.share(PROGRAM + 3 * OPERATION_BYTES)
    expect(one.ranges).toEqual(['alone 3-3'])
  })
})

describe('a thread that fails', () => {
  it('takes the device with it, and says why where it says so', () => {
    const broken = new Error('unreachable')
    const breaks = () => {
      throw broken
    }
    for (const [device, message, cause] of [
      [setUp({ together: () => 0 }), 'The CPU device has failed.', undefined],
      [setUp({ together: breaks }), 'The CPU device has failed: unreachable.', broken],
      [setUp({ threads: 1, alone: breaks }), 'The CPU device has failed: unreachable.', broken],
    ] as const) {
      const failure = { status: 503, code: 'device_lost', retryAfter: 1, message, ...(cause && { cause }) }
      expect(() => device.run(4, 1)).toThrow(expect.objectContaining(failure))
      expect([device.failed, device.lost]).toEqual([[CONTROL], [expect.objectContaining(failure)]])
      expect(device.ranges).toHaveLength(1)
    }
  })
})

/** How many of `runs` are done together, where a run takes what `alone` and `together` say. */
function chosen(choice: TeamTrial, runs: number, alone: () => number, together: () => number): number {
  let count = 0
  for (let i = 0; i < runs; i++) {
    const shared = choice.next()
    if (shared) count++
    choice.took(shared ? together() : alone())
  }
  return count
}

describe('the choice of threads', () => {
  it('is what takes less time, but for a few trials', () => {
    const faster = chosen(
      new TeamTrial(),
      1000,
      () => 4,
      () => 2,
    )
    const slower = chosen(
      new TeamTrial(),
      1000,
      () => 4,
      () => 5,
    )
    expect(faster).toBeGreaterThan(900)
    expect(slower).toBeLessThan(100)
  })

  it('does not hang on a single run that was held up', () => {
    let trial = 0
    expect(
      chosen(
        new TeamTrial(),
        60,
        () => 4,
        () => (trial++ === 2 ? 50 : 2),
      ),
    ).toBeGreaterThan(50)
  })

  it('of long runs tries none alone', () => {
    expect(
      chosen(
        new TeamTrial(),
        1000,
        () => 1000,
        () => 300,
      ),
    ).toBe(1000)
  })

  it('is taken back where runs are held up often', () => {
    let run = 0
    expect(
      chosen(
        new TeamTrial(),
        1000,
        () => 4,
        () => (run++ % 5 === 4 ? 50 : 2),
      ),
    ).toBeLessThan(300)
  })

  it('is made anew when things have changed', () => {
    const choice = new TeamTrial()
    chosen(
      choice,
      500,
      () => 4,
      () => 9,
    )
    chosen(
      choice,
      1000,
      () => 4,
      () => 2,
    )
    expect(
      chosen(
        choice,
        100,
        () => 4,
        () => 2,
      ),
    ).toBeGreaterThan(80)
  })

  /** Which runs are done together, where the nth run together takes `together(n)`, and alone `alone(n)`. */
  function ways(runs: number, alone: (nth: number) => number, together: (nth: number) => number): boolean[] {
    const choice = new TeamTrial()
    const counts = { alone: 0, together: 0 }
    return Array.from({ length: runs }, () => {
      const shared = choice.next()
      choice.took(shared ? together(counts.together++) : alone(counts.alone++))
      return shared
    })
  }
  const shareOf = (done: readonly boolean[]) => done.filter(Boolean).length / done.length

  it('tries both ways as often, again and again, after terms that double until they are long enough', () => {
    const done = ways(
      8192,
      () => 4,
      () => 3,
    )
    const trials = done.indexOf(false)
    const starts = done.flatMap((shared, run) => (!shared && done[run - 1] ? [run] : []))
    for (const start of starts) {
      expect(done.slice(start, start + trials)).toEqual(Array(trials).fill(false))
      expect(done[start + trials]).toBe(true)
    }
    const terms = starts.slice(1).map((start, i) => start - starts[i]!)
    const longest = Math.max(...terms)
    terms.slice(1).forEach((term, i) => {
      expect(term).toBe(Math.min(longest, 2 * terms[i]!))
    })
    expect(terms.at(-1)).toBe(terms.at(-2))
    // Things change within minutes: what was found out a thousand passes ago is old.
    expect(longest).toBeLessThan(2000)
  })

  it('where threads gain much tries alone again after the longest term only, but for those that were left', () => {
    const alone = (done: readonly boolean[]) => done.filter((shared) => !shared).length
    const much = ways(
      900,
      () => 4,
      () => 2,
    )
    const trials = 4
    expect(alone(much)).toBe(trials)
    const more = ways(
      2100,
      () => 4,
      () => 2,
    )
    expect(alone(more)).toBe(2 * trials)
    // Held up for a while, from the first run after the trials on: all are tried again when the first term is over.
    const left = ways(
      900,
      () => 4,
      (nth) => (nth >= 4 && nth < 20 ? 50 : 2),
    )
    expect(left.slice(24, 32)).toEqual(Array(8).fill(false))
    expect(left.slice(32, 36)).toEqual(Array(4).fill(true))
    expect(shareOf(left.slice(40))).toBe(1)
  })

  it('does not count the first of each way, which wakes the threads', () => {
    const first = (usual: number) => (nth: number) => (nth < 2 ? 50 : usual)
    expect(shareOf(ways(32, () => 4, first(2)))).toBeGreaterThan(0.5)
    expect(shareOf(ways(32, first(4), () => 5))).toBeLessThan(0.5)
  })

  it('goes by the run in the middle, by its number', () => {
    const spread = [9, 9, 10, 11]
    expect(
      shareOf(
        ways(
          32,
          () => 10.8,
          (nth) => spread[nth % 4]!,
        ),
      ),
    ).toBeGreaterThan(0.5)
  })

  it('tries alone all the same where a single run was long, or both are', () => {
    const held = (nth: number) => (nth === 1 ? 500 : 5)
    expect(shareOf(ways(32, () => 4, held))).toBeLessThan(0.5)
    const close = ways(
      32,
      () => 101,
      () => 99,
    )
    expect(shareOf(close)).toBeLessThan(0.5)
  })

  it('tries none alone from a tenth of a second on', () => {
    const done = ways(
      32,
      () => 4,
      () => 100,
    )
    expect(shareOf(done)).toBe(1)
  })

  it('stays alone where runs are over before a clock has moved', () => {
    const done = ways(
      32,
      () => 0,
      () => 0,
    )
    expect(shareOf(done)).toBeLessThan(0.5)
  })

  it('counts the first run after the trials as any other', () => {
    const slowOnce = (slow: number) =>
      ways(
        32,
        () => 4,
        (nth) => (nth < 4 ? 2 : nth === slow ? 5000 : 4),
      )
    expect(slowOnce(4)).toEqual(slowOnce(5))
    // One alone is enough here, as the others gain nothing.
    expect(slowOnce(4).at(-1)).toBe(false)
  })

  it('tries alone again once runs that were long have become short', () => {
    const done = ways(
      3100,
      () => 4,
      (nth) => (nth < 2000 ? 1000 : 5),
    )
    expect(shareOf(done.slice(0, 2000))).toBe(1)
    expect(shareOf(done.slice(-50))).toBe(0)
  })

  it('takes a gain of a few percent for chance', () => {
    const with40 = (together: number) =>
      ways(
        32,
        () => 40,
        () => together,
      )
    expect(shareOf(with40(39))).toBeLessThan(0.5)
    expect(shareOf(with40(36))).toBeGreaterThan(0.5)
  })

  it('keeps threads that are held up once in a while, however long, and leaves those that have become slow', () => {
    const later = (together: (nth: number) => number) => {
      const choice = new TeamTrial()
      let shared = 0
      // The longest term by far is the last of these.
      for (let run = 0; run < 900; run++) {
        const isShared = choice.next()
        if (run >= 600 && isShared) shared++
        choice.took(isShared ? (run < 520 ? 2 : together(run)) : 4)
      }
      return shared
    }
    expect(later((run) => (run % 16 === 0 ? 5000 : 2))).toBe(300)
    // A quarter slower than alone is pardoned until the next trial, half as long again is not.
    expect(later(() => 5)).toBe(300)
    expect(later(() => 6)).toBe(0)
  })
})
