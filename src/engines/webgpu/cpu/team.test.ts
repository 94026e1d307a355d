import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, it } from 'vitest'
import { CONTROL, MAY_SLEEP, SPINS } from './abi.js'
import { random } from './kernels.test-helper.js'
import { DeviceMemory } from './memory.js'
import { OPERATION_BYTES, PassProgram } from './program.js'
import { type Thread, WAYS } from './start-thread.js'
import { CONTROL_BYTES, gatherTeam, type Team } from './team.js'
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
      if (kind === 0) program.add('copy', 0, { x: 0, xStride: 0, rows: 0, out: 0, outStride: 0, bytes: 0 })
      else {
        const list = lists[below(lists.length)]!
        const [from, to] = moves++ % 2 === 0 ? rooms : [rooms[1], rooms[0]]
        const args = { x: from, xStride: ROW, rows: list.at, out: to, outStride: ROW, bytes: ROW }
        program.add('copy', ROWS, args, { by: kind === 1 ? 'one' : 'all', unit: 1 + below(3), least: 1 + below(40) })
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
    for (let i = 0; i < shared; i++) program.add('copy', ROWS, args)
    program.add('copy', ROWS, args, { by: 'one' })
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
