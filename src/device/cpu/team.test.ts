import { execFile } from 'node:child_process'
import os, { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { CONTROL, MAY_SLEEP, SPINS } from './abi.js'
import { random } from './kernels.test-helper.js'
import { DeviceMemory } from './memory.js'
import { OPERATION_BYTES, PassProgram } from './program.js'
import { type Thread, WAYS } from './start-thread.js'
import { CONTROL_BYTES, gatherTeam, sharingRefusal, type Team, usefulThreads } from './team.js'
import { compileKernels, instantiate } from './wasm.js'

/** Rows that are moved, and the bytes of one. */
const ROWS = 96
const ROW = 512

const open: Team[] = []
afterEach(() => {
  for (const team of open.splice(0)) team.close()
})

async function gathered(threads: number, ways?: readonly (() => Thread)[]) {
  const module = await compileKernels('simd', true)
  const memory = new DeviceMemory(CONTROL + CONTROL_BYTES, true)
  const kernels = await instantiate(module, memory.memory)
  const team = await gatherTeam(kernels, module, memory.memory, CONTROL, threads, ways)
  open.push(team)
  return {
    team,
    memory,
    kernels,
    set: (word: number, value: number) => memory.i32.fill(value, (CONTROL + word) / 4, (CONTROL + word) / 4 + 1),
  }
}

/** Until every thread has done something: one that the system gives no core misses work. */
async function allAtWork({ team }: Gathered, shuffle: (operations: number) => void): Promise<void> {
  await expect
    .poll(
      () => {
        shuffle(100)
        return team.work().filter((items) => items === 0)
      },
      { timeout: 20_000, interval: 1 },
    )
    .toEqual([])
}

type Gathered = Awaited<ReturnType<typeof gathered>>

/**
 * Programs that move rows to and fro between two rooms, each operation by a permutation of its own: whoever begins one
 * before the last is whole, does a row twice or leaves one out, leaves rows where they do not belong.
 */
function shuffler({ memory, kernels }: Gathered, threads: number, seed: number) {
  const next = random(seed)
  const below = (n: number) => Math.floor(next() * n)
  const rooms = [memory.allocate(ROWS * ROW), memory.allocate(ROWS * ROW)] as const
  const lists = Array.from({ length: 8 }, () => {
    const order = Int32Array.from({ length: ROWS }, (_, i) => i)
    for (let i = ROWS - 1; i > 0; i--) {
      const j = below(i + 1)
      ;[order[i], order[j]] = [order[j]!, order[i]!]
    }
    const at = memory.allocate(order.byteLength)
    memory.i32.set(order, at / 4)
    return { order, at }
  })
  const place = memory.allocate(512 * OPERATION_BYTES)
  return (operations: number): void => {
    const program = new PassProgram(threads)
    let expected = Int32Array.from({ length: ROWS }, () => below(1 << 30))
    for (let row = 0; row < ROWS; row++)
      memory.i32.fill(expected[row]!, (rooms[0] + row * ROW) / 4, (rooms[0] + (row + 1) * ROW) / 4)
    let moves = 0
    for (let i = 0; i < operations; i++) {
      const kind = below(8)
      // Of no rows at all, now and then, and now and then by one thread.
      if (kind === 0) program.add('gatherRows', 0, { x: 0, xStride: 0, rows: 0, out: 0, outStride: 0, bytes: 0 })
      else {
        const list = lists[below(lists.length)]!
        const [from, to] = moves++ % 2 === 0 ? rooms : [rooms[1], rooms[0]]
        const args = { x: from, xStride: ROW, rows: list.at, out: to, outStride: ROW, bytes: ROW }
        program.add('gatherRows', ROWS, args, {
          by: kind === 1 ? 'one' : 'all',
          unit: 1 + below(3),
          least: 1 + below(40),
        })
        expected = list.order.map((row) => expected[row]!)
      }
    }
    program.write(memory.i32, place)
    // Who does not settle in time is not waited for by the device either, which then runs alone.
    if (kernels.isSettled(CONTROL)) expect(kernels.runTogether(CONTROL, place, operations, threads)).toBe(1)
    else kernels.run(place, operations)
    const last = rooms[moves % 2]! / 4
    for (let row = 0; row < ROWS; row++) {
      const words = memory.i32.subarray(last + (row * ROW) / 4, last + ((row + 1) * ROW) / 4)
      if (words[0] !== expected[row] || words[words.length - 1] !== expected[row])
        throw new Error(`Row ${row} holds ${words[0]}.`)
    }
  }
}

describe('a team', () => {
  const cores = availableParallelism()
  it.each([
    ['two threads', 2, 4000, 1],
    ['three threads that sleep at once', 3, 0, 1],
    ['a caller that may not sleep', 2, 50, 0],
    ['more threads than cores', cores + 2, 200, 1],
    ['many more threads than cores, asleep at once', 4 * cores, 0, 1],
  ])('does every item once and in order: %s', async (_name, threads, looks, maySleep) => {
    const team = await gathered(threads)
    expect(team.team.threads).toBe(threads)
    team.set(SPINS, looks)
    team.set(MAY_SLEEP, maySleep)
    const shuffle = shuffler(team, threads, threads + looks)
    const next = random(threads)
    for (let i = 0; i < 60; i++) {
      shuffle(1 + Math.floor(next() * (i % 10 === 0 ? 512 : 60)))
      // Long enough for everybody to fall asleep, or not.
      if (next() < 0.2) await new Promise((resolve) => setTimeout(resolve, next() * 3))
    }
  })

  it.each([2, 3, 4])('of %i has every thread at work', async (threads) => {
    const team = await gathered(threads)
    expect(team.team.work()).toEqual(Array.from({ length: threads }, () => 0))
    await allAtWork(team, shuffler(team, threads, threads))
    expect(team.team.work().length).toBe(threads)
  })

  it('counts each item for the thread that did it', async () => {
    const team = await gathered(3)
    const shared = 20
    const program = new PassProgram(3)
    const [from, to] = [team.memory.allocate(ROWS * ROW), team.memory.allocate(ROWS * ROW)]
    const args = { x: from, xStride: ROW, rows: 0, out: to, outStride: ROW, bytes: ROW }
    for (let i = 0; i < shared; i++) program.add('gatherRows', ROWS, args)
    program.add('gatherRows', ROWS, args, { by: 'one' })
    const place = team.memory.allocate(program.bytes)
    program.write(team.memory.i32, place)
    expect(team.kernels.runTogether(CONTROL, place, program.count, 3)).toBe(1)
    await expect.poll(() => team.kernels.isSettled(CONTROL)).toBeTruthy()
    expect(team.team.work().reduce((sum, items) => sum + items)).toBe(shared * ROWS)
  })

  const forbidden = () => {
    throw new Error('forbidden')
  }
  const broken = () => new Worker('throw new Error("broken")', { eval: true }) as Thread
  const [works] = WAYS as [() => Thread]

  it('numbers its threads without gaps, whatever ways to start one failed before', async () => {
    const team = await gathered(3, [forbidden, broken, works])
    expect(team.team.reason).toBe('3 threads')
    await allAtWork(team, shuffler(team, 3, 1))
  })

  it('is one thread, and says why, where none may be started, or only some', async () => {
    let started = 0
    for (const way of [broken, () => (started++ ? broken() : works())]) {
      const { team } = await gathered(4, [way])
      expect(team.threads).toBe(1)
      expect(team.reason).toBe('one thread, because broken')
      expect(team.work()).toEqual([0])
    }
  })

  it('that has lost a thread says so instead of waiting for it', async () => {
    const team = await gathered(3)
    const shuffle = shuffler(team, 3, 1)
    shuffle(50)
    // Else the next run would be one alone, which asks no other thread.
    await expect.poll(() => team.kernels.isSettled(CONTROL), { timeout: 30_000 }).toBeTruthy()
    team.kernels.fail(CONTROL)
    expect(() => shuffle(50)).toThrow()
  })
})

describe('starting threads', () => {
  const [works] = WAYS as [() => Thread]
  afterEach(() => {
    vi.useRealTimers()
    vi.unstubAllGlobals()
    vi.restoreAllMocks()
  })

  /** Ways to start a thread, and which of the threads have ended. */
  function followed(way: () => Thread) {
    const threads: { ended: boolean }[] = []
    const start = () => {
      const thread = way()
      const state = { ended: false }
      threads.push(state)
      ;(thread as unknown as Worker).on('exit', () => {
        state.ended = true
      })
      return thread
    }
    return { start, ended: () => threads.map(({ ended }) => ended) }
  }

  it('waits for one that never answers for five seconds, not longer, and leaves none behind', async () => {
    const mute = followed(() => new Worker('setInterval(() => {}, 1000)', { eval: true }) as Thread)
    const good = followed(works)
    let nth = 0
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    let over = false
    const gathering = gathered(3, [() => (nth++ === 0 ? good.start() : mute.start())]).finally(() => {
      over = true
    })
    while (nth < 2) await new Promise((resolve) => setImmediate(resolve))
    vi.advanceTimersByTime(4999)
    await new Promise((resolve) => setImmediate(resolve))
    expect(over).toBe(false)
    vi.advanceTimersByTime(1)
    const { team } = await gathering
    expect([team.threads, team.reason]).toEqual([1, 'one thread, because a worker did not start in time'])
    vi.useRealTimers()
    await expect.poll(() => [...good.ended(), ...mute.ended()], { timeout: 20_000 }).toEqual([true, true])
  })

  it('of one thread starts none', async () => {
    const forbidden = () => expect.fail('a thread was started')
    for (const threads of [1, 0]) {
      const { team } = await gathered(threads, [forbidden])
      expect([team.threads, team.reason, team.work()]).toEqual([1, 'one thread', [0]])
    }
  })

  it('ends them all with the team', async () => {
    const ways = followed(works)
    const { team } = await gathered(4, [ways.start])
    expect(ways.ended()).toEqual([false, false, false])
    team.close()
    await expect.poll(ways.ended, { timeout: 20_000 }).toEqual([true, true, true])
  })

  it('ends those that had a way which did not work, and says the first reason', async () => {
    const dies = followed(() => new Worker('throw new Error("no such file")', { eval: true }) as Thread)
    const { team } = await gathered(2, [dies.start, () => new Worker('throw ""', { eval: true }) as Thread])
    expect(team.reason).toBe('one thread, because no such file')
    await expect.poll(dies.ended, { timeout: 20_000 }).toEqual([true])
  })

  /** A thread as browsers have them: without `on`. */
  function asInBrowsers(thread: Thread): Thread {
    const like = {
      postMessage: (message: unknown) => thread.postMessage(message),
      terminate: () => thread.terminate(),
      onmessage: (_event: unknown): void => {},
      onerror: (_event: unknown): void => {},
    }
    thread.on!('message', (data) => like.onmessage({ data }))
    thread.on!('error', (error) => like.onerror(error))
    return like
  }

  it('works with those of browsers, whose errors may have no words', async () => {
    const team = await gathered(2, [() => asInBrowsers(works())])
    expect(team.team.threads).toBe(2)
    await allAtWork(team, shuffler(team, 2, 2))
    const wordless = () => asInBrowsers(new Worker('throw new Error("")', { eval: true }) as Thread)
    const { team: alone } = await gathered(2, [wordless])
    expect(alone.reason).toBe('one thread, because a worker could not be loaded')
    // Nor is all that is thrown an error.
    const { team: other } = await gathered(2, [() => new Worker('throw undefined', { eval: true }) as Thread])
    expect(other.reason).toBe('one thread, because a worker could not be loaded')
  })

  it('has the caller sleep while it waits, but where that is forbidden', async () => {
    const waitSettings = async () => {
      const { memory } = await gathered(2)
      return [memory.i32[(CONTROL + MAY_SLEEP) / 4], memory.i32[(CONTROL + SPINS) / 4]! > 0]
    }
    expect(await waitSettings()).toEqual([1, true])
    vi.spyOn(Atomics, 'wait').mockImplementation(() => {
      throw new TypeError('Atomics.wait cannot be called in this context')
    })
    expect(await waitSettings()).toEqual([0, true])
  })

  it('does not keep a process that has nothing else to do', async () => {
    const device = fileURLToPath(new URL('index.ts', import.meta.url))
    const script = `
      const { openCpuDevice } = await import(${JSON.stringify(device)})
      const device = await openCpuDevice({ threads: 2 })
      console.log(device.info.name)
    `
    const args = ['--import', 'tsx', '--input-type=module', '-e', script]
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 })
    expect(stdout).toMatch(/2 threads$/m)
  })

  it.each([
    [1, 1],
    [2, 2],
    [4, 4],
    [5, 4],
    [8, 4],
    [10, 5],
    [16, 8],
    [64, 8],
  ])('is worth it by the cores that are reported: of %i, %i', (cores, threads) => {
    vi.spyOn(os, 'availableParallelism').mockReturnValue(cores)
    expect(usefulThreads()).toBe(threads)
  })

  it('is worth it by what a browser reports, where nothing else is known', () => {
    vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never)
    vi.stubGlobal('navigator', { hardwareConcurrency: 3 })
    expect(usefulThreads()).toBe(3)
    // And in a runtime that does not say how many there are.
    vi.spyOn(process, 'getBuiltinModule').mockReturnValue({} as never)
    expect(usefulThreads()).toBe(3)
    vi.stubGlobal('navigator', undefined)
    expect(usefulThreads()).toBe(1)
  })

  it.each<[string, Record<string, unknown>, string | undefined]>([
    ['in Node', {}, undefined],
    ['in a page that is isolated', { crossOriginIsolated: true, document: {}, Worker: class {} }, undefined],
    [
      'in a page that is not',
      { crossOriginIsolated: false, document: {}, Worker: class {} },
      'the page is not cross-origin isolated',
    ],
    ['in a server that says it is none', { crossOriginIsolated: false, Worker: class {} }, undefined],
    [
      'without shared memory',
      { SharedArrayBuffer: undefined, crossOriginIsolated: false },
      'the page is not cross-origin isolated',
    ],
    [
      'without shared memory, though isolated',
      { SharedArrayBuffer: undefined, crossOriginIsolated: true },
      'this browser shares no memory',
    ],
  ])('is refused with the reason, or not at all: %s', (_, globals, refusal) => {
    for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value)
    expect(sharingRefusal()).toBe(refusal)
  })

  it('is refused where there are no workers', () => {
    vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never)
    vi.stubGlobal('Worker', undefined)
    expect(sharingRefusal()).toBe('there are no workers here')
    vi.stubGlobal('Worker', class {})
    expect(sharingRefusal()).toBeUndefined()
  })
})
