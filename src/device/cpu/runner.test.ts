import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { V1Error } from '../../contract/errors.js'
import { showPulse } from '../../platform/pulse.js'
import { OPERATION_WORDS, PRIVATE } from './abi.js'
import type { DeviceMemory } from './memory.js'
import { OPERATION_BYTES } from './program.js'
import { Runner, TOGETHER_BYTES } from './runner.js'
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
      const told = { status: 503, code: 'device_lost', retryAfter: 1, message, ...(cause && { cause }) }
      expect(() => device.run(4, 1)).toThrow(expect.objectContaining(told))
      expect([device.failed, device.lost]).toEqual([[CONTROL], [expect.objectContaining(told)]])
      expect(device.ranges).toHaveLength(1)
    }
  })
})
