import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest'
import { bundle } from '../../test/support/bundle.js'
import { type Running, start } from '../../test/support/spawn.js'
import { fileUsage, fileUsageOn } from './file.js'
import type { UsageEvent, UsageLedger } from './ledger.js'
import { nodeSystem, type System } from './system.js'

const event = (over: Partial<UsageEvent> = {}): UsageEvent => ({
  time: 1_000_000,
  requestId: 'req_1',
  caller: 'me',
  project: null,
  model: 'a/b',
  outcome: 'ok',
  promptTokens: 10,
  cachedTokens: 4,
  completionTokens: 3,
  ...over,
})

let folder: string
let program: string
const running: Running[] = []
let files = 0
const newFile = () => {
  const path = join(folder, `usage-${files++}`)
  fs.mkdirSync(path)
  return join(path, 'usage.jsonl')
}
const linesOf = (path: string) => readFileSync(path, 'utf8').trimEnd().split('\n')
const notesOf = (path: string) => readdirSync(join(path, '..')).filter((name) => /\.(busy|open|new)$/.test(name))
async function requestsOf(ledger: UsageLedger): Promise<number> {
  const rows = await ledger.rows(0, Number.POSITIVE_INFINITY)
  return rows.reduce((sum, { requests }) => sum + requests, 0)
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'usage-shared-'))
  program = join(folder, 'keeper.mjs')
  writeFileSync(program, await bundle('src/usage/keeper.test-helper.ts'))
})
afterAll(async () => {
  await Promise.all(running.map((process) => process.stop()))
  rmSync(folder, { recursive: true })
})

/** A process that has the file open. */
async function keeper(path: string, maxLines: number): Promise<Running> {
  const process_ = start(process.execPath, [program, path, String(maxLines)])
  running.push(process_)
  await process_.line(/^open$/)
  return process_
}
const keptBy = (process_: Running) => process_.output().match(/^kept$/gm)?.length ?? 0
/** Kills it once it has kept so many more, or at once. */
async function killAfter(process_: Running, more: number): Promise<void> {
  const goal = keptBy(process_) + more
  while (keptBy(process_) < goal) await new Promise((resolve) => setTimeout(resolve, 1))
  await process_.stop('SIGKILL')
}

describe('a ledger that several processes keep', () => {
  it('has everything, and each of them reports what all have counted', async () => {
    const path = newFile()
    const [one, other] = [await keeper(path, 1), await keeper(path, 1)]
    for (let i = 1; i <= 3; i++) {
      for (const process_ of [one, other]) process_.write('record')
      while (keptBy(one) + keptBy(other) < 2 * i) await new Promise((resolve) => setTimeout(resolve, 1))
      for (const process_ of [one, other]) {
        process_.write('count')
        expect(await process_.line(new RegExp(`^counted ${2 * i}$`))).toBeTruthy()
      }
    }
    await Promise.all([one.stop(), other.stop()])
  })

  it('loses nothing when some are killed at any point and started again, over and over', async () => {
    const path = newFile()
    const all: Running[] = []
    const begin = async () => {
      const process_ = await keeper(path, 3)
      all.push(process_)
      process_.write('run')
      return process_
    }
    let shortened = 0
    // Where they are killed: drawn once, so that a failure can be had again.
    const points = fc.sample(fc.integer({ min: 0, max: 30 }), { numRuns: 24, seed: 13 })
    let steady = await begin()
    for (const [round, point] of points.entries()) {
      await killAfter(await begin(), point)
      // Now and then the other one as well: whoever comes next is alone, and sums up.
      if (round % 6 !== 5) continue
      const before = linesOf(path).length
      await killAfter(steady, point)
      steady = await begin()
      if (linesOf(path).length < before) shortened++
    }
    await killAfter(steady, 5)
    const confirmed = all.reduce((sum, process_) => sum + keptBy(process_), 0)
    const last = fileUsage(path, { maxLines: 3 })
    const kept = await requestsOf(last)
    await last.close?.()
    expect(kept).toBeGreaterThanOrEqual(confirmed)
    // Each may have written one more than it could say.
    expect(kept).toBeLessThanOrEqual(confirmed + all.length)
    expect(shortened).toBeGreaterThan(0)
    expect(linesOf(path)).toHaveLength(1)
    // Nor do those that were killed leave anything behind.
    expect(notesOf(path)).toEqual([])
  })

  it('is summed up once its last keeper has left, and not beside one', async () => {
    const path = newFile()
    const one = fileUsage(path)
    for (let i = 0; i < 4; i++) await one.record(event())
    const other = fileUsage(path, { maxLines: 1 })
    expect(await requestsOf(other)).toBe(4)
    expect(linesOf(path)).toHaveLength(4)
    for (const ledger of [one, other]) await ledger.close?.()
    const alone = fileUsage(path, { maxLines: 1 })
    expect(await requestsOf(alone)).toBe(4)
    expect(linesOf(path)).toHaveLength(1)
    await alone.close?.()
    expect(notesOf(path)).toEqual([])
  })

  it('is not summed up where one who leaves no note has added to it meanwhile', async () => {
    const path = newFile()
    const before = fileUsage(path)
    for (let i = 0; i < 4; i++) await before.record(event())
    await before.close?.()
    const system = await nodeSystem()
    /** Between the sums and their taking the file's place. */
    const fsyncSync = (file: number) => {
      appendFileSync(path, `${JSON.stringify(event())}\n`)
      fs.fsyncSync(file)
    }
    const ledger = fileUsageOn(async () => ({ ...system, fs: { ...system.fs, fsyncSync } }), path, { maxLines: 1 })
    expect(await requestsOf(ledger)).toBe(5)
    await ledger.close?.()
    expect(linesOf(path)).toHaveLength(5)
    expect(readdirSync(join(path, '..')).filter((name) => name.endsWith('.new'))).toEqual([])
  })

  it('waits for one who sums up, and is not waited for by one who was killed', async () => {
    const path = newFile()
    const system = await nodeSystem()
    const gone = spawnSync(process.execPath, ['-e', '']).pid
    const busy = `${path}.${process.pid}-abc.busy`
    writeFileSync(`${path}.${gone}-abc.busy`, system.host)
    writeFileSync(busy, system.host)
    let open = false
    const ledger = fileUsage(path)
    const opening = Promise.resolve(ledger.open?.()).then(() => {
      open = true
    })
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(open).toBe(false)
    rmSync(busy)
    await opening
    await ledger.close?.()
    expect(notesOf(path)).toEqual([])
  })

  it.each([
    ['is believed while it is fresh', 0, 4],
    ['is not believed for ever', 3600, 1],
  ])('a note of another machine %s', async (_, age, lines) => {
    const path = newFile()
    const first = fileUsage(path)
    for (let i = 0; i < 4; i++) await first.record(event())
    await first.close?.()
    const note = `${path}.1-abc.open`
    writeFileSync(note, 'another machine')
    const then = Date.now() / 1000 - age
    fs.utimesSync(note, then, then)
    const second = fileUsage(path, { maxLines: 1 })
    expect(await requestsOf(second)).toBe(4)
    await second.close?.()
    expect(linesOf(path)).toHaveLength(lines)
  })

  it('goes on in the file that somebody has put in its place', async () => {
    const path = newFile()
    const ledger = fileUsage(path)
    for (let i = 0; i < 3; i++) await ledger.record(event())
    renameSync(path, `${path}.old`)
    await ledger.record(event())
    expect(await requestsOf(ledger)).toBe(1)
    expect(linesOf(path)).toHaveLength(1)
    writeFileSync(path, '')
    await ledger.record(event())
    expect(await requestsOf(ledger)).toBe(1)
    await ledger.close?.()
  })

  it('takes a line that follows one whose end was never written', async () => {
    const path = newFile()
    const ledger = fileUsage(path)
    await ledger.record(event())
    const line = JSON.stringify(event())
    // What two others wrote: one was cut off by a full disk, or by its end alone.
    appendFileSync(path, `${line.slice(0, 40)}${line}\n${line}`)
    expect(await requestsOf(ledger)).toBe(3)
    appendFileSync(path, `${line}\n`)
    await ledger.record(event())
    expect(await requestsOf(ledger)).toBe(5)
    await ledger.close?.()
    expect(await requestsOf(fileUsage(path))).toBe(5)
  })
})

describe('a disk that is full', () => {
  let warning: MockInstance
  beforeEach(() => {
    warning = vi.spyOn(console, 'warn').mockImplementation(() => {})
  })
  afterEach(() => warning.mockRestore())
  const said = () => warning.mock.calls.map(([text]) => String(text))

  /** A file system whose disk takes `room` bytes more. */
  async function smallDisk(): Promise<{ system: () => Promise<System>; room: number }> {
    const system = await nodeSystem()
    const disk = {
      room: Number.POSITIVE_INFINITY,
      system: async () => ({ ...system, fs: { ...system.fs, writeSync } }),
    }
    function writeSync(file: number, bytes: Uint8Array): number {
      const fitting = Math.min(bytes.length, disk.room)
      if (fitting === 0) throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
      disk.room -= fitting
      return fs.writeSync(file, bytes.subarray(0, fitting))
    }
    return disk
  }

  it('is said once; usage is counted in memory, and written as soon as there is room', async () => {
    const path = newFile()
    const disk = await smallDisk()
    const ledger = fileUsageOn(disk.system, path, {})
    await ledger.record(event())
    disk.room = 0
    for (let i = 0; i < 5; i++) await ledger.record(event())
    expect(await requestsOf(ledger)).toBe(6)
    expect(linesOf(path)).toHaveLength(1)
    expect(said()).toEqual([expect.stringMatching(/usage\.jsonl cannot be written, .*in memory.*ENOSPC/)])
    disk.room = Number.POSITIVE_INFINITY
    await ledger.record(event())
    expect(await requestsOf(ledger)).toBe(7)
    expect(said()).toHaveLength(2)
    await ledger.close?.()
    expect(await requestsOf(fileUsage(path))).toBe(7)
  })

  it('counts every request once, wherever it cuts a line', async () => {
    const length = JSON.stringify(event()).length + 1
    const disk = await smallDisk()
    for (let room = 0; room <= 2 * length; room++) {
      const path = newFile()
      disk.room = Number.POSITIVE_INFINITY
      const ledger = fileUsageOn(disk.system, path, {})
      await ledger.open?.()
      disk.room = room
      for (let i = 0; i < 3; i++) await ledger.record(event())
      expect(await requestsOf(ledger), `with room for ${room} bytes`).toBe(3)
      disk.room = Number.POSITIVE_INFINITY
      await ledger.close?.()
      const again = fileUsage(path)
      expect(await requestsOf(again), `with room for ${room} bytes`).toBe(3)
      await again.close?.()
    }
  })

  it('says what is lost where it is still full at the end', async () => {
    const disk = await smallDisk()
    const ledger = fileUsageOn(disk.system, newFile(), {})
    await ledger.record(event())
    disk.room = 0
    for (let i = 0; i < 3; i++) await ledger.record(event())
    await ledger.close?.()
    expect(said().at(-1)).toMatch(/usage of 3 requests is lost/)
  })

  const mounted = process.platform === 'linux' && process.getuid?.() === 0
  it.skipIf(!mounted)('is a real one too', async (context) => {
    const disk = join(folder, 'disk')
    fs.mkdirSync(disk)
    const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk])
    if (mount.status !== 0) return context.skip('no file system may be mounted here')
    try {
      const path = join(disk, 'usage.jsonl')
      const ledger = fileUsage(path)
      await ledger.record(event())
      expect(() => writeFileSync(join(disk, 'ballast'), 'x'.repeat(2 ** 17))).toThrow('ENOSPC')
      const many = 100
      for (let i = 0; i < many; i++) await ledger.record(event())
      expect(await requestsOf(ledger)).toBe(many + 1)
      expect(said()).toHaveLength(1)
      // Another process that would begin now is told so at its start.
      await expect(Promise.resolve(fileUsage(join(disk, 'other.jsonl')).open?.())).rejects.toThrow('ENOSPC')
      rmSync(join(disk, 'ballast'))
      await ledger.record(event())
      await ledger.close?.()
      expect(await requestsOf(fileUsage(path))).toBe(many + 2)
    } finally {
      spawnSync('umount', ['-l', disk])
    }
  })
})

describe('a ledger that cannot be written', () => {
  it.each([
    ['in a folder that is not there', (path: string) => join(path, 'nowhere', 'usage.jsonl'), 'ENOENT'],
    ['that is a folder', (path: string) => join(path, '..'), 'EISDIR'],
  ])('%s is found when it is opened', async (_, at, code) => {
    const path = at(newFile())
    await expect(Promise.resolve(fileUsage(path).open?.())).rejects.toThrow(code)
  })
})
