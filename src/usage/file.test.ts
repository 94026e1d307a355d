import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest'
import { ownFolder } from '../../test/support/own-folder.js'
import { usageEvent } from './event.test-helper.js'
import { fileUsage, fileUsageOn } from './file.js'
import type { UsageLedger } from './ledger.js'
import { nodeSystem, type System } from './system.js'

const folder = ownFolder()
let files = 0
const newFile = () => {
  const path = join(folder, `usage-${files++}`)
  mkdirSync(path)
  return join(path, 'usage.jsonl')
}
const linesOf = (path: string) => readFileSync(path, 'utf8').trimEnd().split('\n')
const notesOf = (path: string) => readdirSync(join(path, '..')).filter((name) => /\.(busy|new)$/.test(name))
const everything = (ledger: UsageLedger) => ledger.rows(0, Number.POSITIVE_INFINITY)
async function requestsOf(ledger: UsageLedger): Promise<number> {
  return (await everything(ledger)).reduce((sum, { requests }) => sum + requests, 0)
}

describe('a ledger in a file', () => {
  it('is there after a restart', async () => {
    const path = newFile()
    const first = fileUsage(path)
    await first.record(usageEvent())
    await first.close?.()
    const second = fileUsage(path)
    await second.record(usageEvent())
    expect(await everything(second)).toMatchObject([{ requests: 2, promptTokens: 20 }])
    await second.close?.()
  })

  it('that is long is read, and shortened, while others have their turns', async () => {
    const path = newFile()
    const lines = Array.from({ length: 5000 }, (_, i) => JSON.stringify(usageEvent({ requestId: `req_${i}` })))
    const minutes = Array.from({ length: 3000 }, (_, i) => JSON.stringify(usageEvent({ time: 1_000_000 + i * 60 })))
    writeFileSync(path, `${[...lines, ...minutes].join('\n')}\n`)
    const read = readFileSync(path).length
    const ledger = fileUsage(path, { maxLines: 7000 })
    let [turns, open] = [0, true]
    const opened = Promise.resolve(ledger.open!()).then(() => (open = false))
    while (open) {
      await new Promise(setImmediate)
      turns++
    }
    await opened
    // One for each few of its lines.
    expect(turns).toBeGreaterThan(read / 2 ** 14)
    expect(linesOf(path).length).toBe(3000)
    expect(await requestsOf(ledger)).toBe(8000)
    await ledger.close?.()
  })

  it('passes over a torn last line, wherever it was torn, and goes on after it', async () => {
    const path = newFile()
    const ledger = fileUsage(path)
    await ledger.record(usageEvent())
    const whole = readFileSync(path).length
    await ledger.record(usageEvent())
    await ledger.close?.()
    const both = readFileSync(path)
    for (let length = whole; length < both.length; length++) {
      writeFileSync(path, both)
      truncateSync(path, length)
      const again = fileUsage(path)
      // A line that lacks only its end is whole.
      const kept = length === both.length - 1 ? 2 : 1
      expect(await everything(again)).toMatchObject([{ requests: kept }])
      await again.record(usageEvent())
      await again.close?.()
      expect(await everything(fileUsage(path))).toMatchObject([{ requests: kept + 1 }])
    }
  })

  it('passes over lines that are no usage', async () => {
    const path = newFile()
    appendFileSync(path, 'null\n5\n{}\n{"time":"now"}\n\u0000\u0000\n')
    const ledger = fileUsage(path)
    await ledger.record(usageEvent())
    expect(await everything(ledger)).toMatchObject([{ requests: 1 }])
  })

  it('passes over requests and sums that lack something, or have it of another kind', async () => {
    const path = newFile()
    const { requestId: _, outcome: __, time: ___, ...counted } = usageEvent()
    const sum = { start: 999_960, ...counted, requests: 1, errors: 0, aborts: 0 }
    const bad = (whole: object, fields: readonly string[]) =>
      fields.flatMap((name) => [undefined, null, true].map((value) => JSON.stringify({ ...whole, [name]: value })))
    const counts = ['caller', 'model', 'promptTokens', 'cachedTokens', 'completionTokens']
    const lines = [
      ...bad(usageEvent(), ['time', ...counts]),
      ...bad(sum, ['start', 'requests', 'errors', 'aborts', ...counts]),
    ]
    appendFileSync(path, [JSON.stringify(usageEvent()), ...lines, JSON.stringify(sum), ''].join('\n'))
    expect(await everything(fileUsage(path))).toMatchObject([{ requests: 2, promptTokens: 20 }])
  })

  it('sums up a file that has grown long, and loses nothing', async () => {
    const path = newFile()
    const first = fileUsage(path)
    for (let i = 0; i < 40; i++)
      await first.record(usageEvent({ time: 1_000_000 + (i % 2) * 60, project: i < 20 ? null : 'a/ä' }))
    const before = await everything(first)
    await first.close?.()
    const lines = () => readFileSync(path, 'utf8').trimEnd().split('\n')
    const whole = fileUsage(path, { maxLines: 40 })
    expect(await everything(whole)).toEqual(before)
    expect(lines()).toHaveLength(40)
    await whole.close?.()
    const second = fileUsage(path, { maxLines: 39 })
    expect(await everything(second)).toEqual(before)
    expect(lines()).toHaveLength(4)
    await second.record(usageEvent({ project: 'b/c' }))
    await second.close?.()
    const again = await everything(fileUsage(path))
    expect(again).toHaveLength(5)
    expect(again.slice(0, 4)).toEqual(before)
  })

  it('is as good when it cannot be shortened', async () => {
    const warning = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const path = newFile()
    const first = fileUsage(path)
    for (let i = 0; i < 4; i++) await first.record(usageEvent())
    await first.close?.()
    // Where the shorter one would be written.
    mkdirSync(`${path}.new`)
    const second = fileUsage(path, { maxLines: 1 })
    await second.record(usageEvent())
    expect(await everything(second)).toMatchObject([{ requests: 5 }])
    expect(warning.mock.calls).toEqual([[expect.stringContaining(`local-v1: ${path} could not be shortened: EISDIR`)]])
    warning.mockRestore()
  })

  it('is read in pieces, wherever they end', async () => {
    const path = newFile()
    const lines = Array.from({ length: 1500 }, (_, i) =>
      JSON.stringify(usageEvent({ project: `tëam/${'ü'.repeat(i % 50)}` })),
    )
    writeFileSync(path, `${lines.join('\n')}\n`)
    const rows = await everything(fileUsage(path))
    expect(rows).toHaveLength(50)
    expect(rows.reduce((sum, { requests }) => sum + requests, 0)).toBe(1500)
    expect(rows.every(({ project }) => /^tëam\/ü*$/.test(project!))).toBe(true)
  })

  it('says so when it cannot write, and tries again', async () => {
    const directory = newFile()
    const ledger = fileUsage(join(directory, 'usage.jsonl'))
    await expect(ledger.record(usageEvent())).rejects.toThrow('ENOENT')
    await expect(ledger.record(usageEvent())).rejects.toThrow('ENOENT')
    mkdirSync(directory)
    await ledger.record(usageEvent())
    expect(await requestsOf(ledger)).toBe(1)
    await ledger.close?.()
  })

  it.each([true, false])(
    'stays where a link says that it is, and is one with the file itself (there: %s)',
    async (isThere) => {
      const path = newFile()
      const link = newFile()
      if (isThere) writeFileSync(path, '')
      fs.symlinkSync(path, link)
      const [one, other] = [fileUsage(link, { maxLines: 3 }), fileUsage(path, { maxLines: 3 })]
      await Promise.all([one.open?.(), other.open?.()])
      for (let i = 0; i < 10; i++) await one.record(usageEvent())
      expect(await requestsOf(other)).toBe(10)
      for (const ledger of [one, other]) await ledger.close?.()
      const alone = fileUsage(link, { maxLines: 3 })
      expect(await requestsOf(alone)).toBe(10)
      await alone.close?.()
      expect([fs.lstatSync(link).isSymbolicLink(), linesOf(path).length, notesOf(link)]).toEqual([true, 1, []])
    },
  )

  it('whose folder goes while it is summed up can be closed', async () => {
    const path = newFile()
    const ledger = fileUsage(path, { maxLines: 5000 })
    await ledger.record(usageEvent())
    const lines = Array.from({ length: 6000 }, (_, i) => JSON.stringify(usageEvent({ time: 60 * (i % 2500) })))
    appendFileSync(path, `${lines.join('\n')}\n`)
    await ledger.record(usageEvent())
    expect(notesOf(path)).toContainEqual(expect.stringMatching(/\.new$/))
    rmSync(join(path, '..'), { recursive: true })
    await expect(ledger.close?.()).resolves.toBeUndefined()
  })

  it('may be closed before anything was counted, and used again', async () => {
    const path = newFile()
    const ledger = fileUsage(path)
    for (let times = 0; times < 2; times++) {
      await ledger.close?.()
      await ledger.record(usageEvent())
    }
    expect(await requestsOf(ledger)).toBe(2)
    await ledger.close?.()
    expect(notesOf(path)).toEqual([])
  })

  it.each([
    [2, 2],
    [3, 4],
  ])('is summed up where half of its lines at most are left: %i of 4', async (minutes, lines) => {
    const path = newFile()
    const first = fileUsage(path)
    for (let i = 0; i < 4; i++) await first.record(usageEvent({ time: 1_000_000 + (i % minutes) * 60 }))
    await first.close?.()
    const second = fileUsage(path, { maxLines: 3 })
    expect(await requestsOf(second)).toBe(4)
    expect(linesOf(path)).toHaveLength(lines)
    await second.close?.()
  })
})

describe('a ledger that is kept for long', () => {
  it('is summed up while it serves, and every request is counted once at every moment', async () => {
    const path = newFile()
    const ledger = fileUsage(path, { maxLines: 50 })
    for (let i = 1; i <= 600; i++) {
      await ledger.record(usageEvent({ time: 1_000_000 + (i % 3) * 60 }))
      // Whoever asks while it is summed up, too.
      expect(await requestsOf(ledger)).toBe(i)
      if (i % 7 === 0) await new Promise(setImmediate)
      if (i % 60 > 0) continue
      await vi.waitFor(() => expect(notesOf(path)).toEqual([]))
      // Three sums, and what came while they were written.
      expect(linesOf(path).length).toBeLessThan(50 + 60 + 3)
    }
    await ledger.close?.()
    expect(await requestsOf(fileUsage(path))).toBe(600)
  })

  it('goes on where it is closed, or another file is put there, while it is summed up', async () => {
    for (const meanwhile of ['close', 'rotate'] as const) {
      const path = newFile()
      const ledger = fileUsage(path, { maxLines: 3 })
      for (let i = 0; i < 4; i++) await ledger.record(usageEvent())
      // It has begun, and has not had its second turn.
      expect(notesOf(path)).toContainEqual(expect.stringMatching(/\.new$/))
      if (meanwhile === 'rotate') {
        renameSync(path, `${path}.old`)
        await ledger.record(usageEvent())
        expect(await requestsOf(ledger)).toBe(1)
      } else await ledger.close?.()
      await new Promise((resolve) => setTimeout(resolve, 50))
      expect(notesOf(path).filter((name) => name.endsWith('.new'))).toEqual([])
      expect(await requestsOf(ledger)).toBe(meanwhile === 'close' ? 4 : 1)
      await ledger.close?.()
      if (meanwhile === 'rotate') expect(await requestsOf(fileUsage(`${path}.old`))).toBe(4)
    }
  })

  it('is summed up beside another keeper, who goes on in what is there then', async () => {
    const path = newFile()
    const [one, other] = [fileUsage(path, { maxLines: 10 }), fileUsage(path, { maxLines: 10 })]
    await other.open?.()
    for (let round = 1; round <= 5; round++) {
      for (let i = 0; i < 20; i++) await one.record(usageEvent())
      await vi.waitFor(() => expect(notesOf(path)).toEqual([]))
      for (const ledger of [other, one]) await ledger.record(usageEvent())
      for (const ledger of [other, one]) expect(await requestsOf(ledger)).toBe(22 * round)
    }
    for (const ledger of [one, other]) await ledger.close?.()
    // Sums, and what came in the last two rounds at most.
    expect(linesOf(path).length).toBeLessThan(50)
    expect(await requestsOf(fileUsage(path))).toBe(110)
  })

  it('goes on where its folder goes while it is summed up, and comes again', async () => {
    const warning = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const path = newFile()
    const ledger = fileUsage(path, { maxLines: 3 })
    for (let i = 0; i < 4; i++) await ledger.record(usageEvent())
    rmSync(join(path, '..'), { recursive: true })
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(await requestsOf(ledger)).toBe(4)
    mkdirSync(join(path, '..'))
    await ledger.record(usageEvent())
    expect(await requestsOf(ledger)).toBe(1)
    await ledger.close?.()
    // Nothing is said of sums for a file that is not there any more.
    expect(warning.mock.calls).toEqual([])
    warning.mockRestore()
  })
})

describe('a ledger that several keep', () => {
  /** The mark of one who is about to replace the file. */
  const mark = (kind: 'sealed' | 'opened', id: string) => `${JSON.stringify({ [kind]: id })}\n`

  it('adds anew what came behind the mark of one who replaces it, and counts it once', async () => {
    const path = newFile()
    const system = await nodeSystem()
    const [one, other] = [fileUsage(path), fileUsage(path)]
    for (const ledger of [one, other]) await ledger.record(usageEvent())
    const id = `${process.pid}-${system.host}-abc`
    writeFileSync(`${path}.${id}.busy`, '')
    appendFileSync(path, mark('sealed', id))
    let stored = 0
    const recording = [one, other].map((ledger) =>
      Promise.resolve(ledger.record(usageEvent())).then(() => {
        stored++
      }),
    )
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(stored).toBe(0)
    for (const ledger of [one, other, fileUsage(path)]) expect(await requestsOf(ledger)).toBe(2)
    // What stood before it is in the new one.
    writeFileSync(`${path}.new`, `${linesOf(path).slice(0, 2).join('\n')}\n`)
    renameSync(`${path}.new`, path)
    rmSync(`${path}.${id}.busy`)
    await Promise.all(recording)
    for (const ledger of [one, other]) expect(await requestsOf(ledger)).toBe(4)
    for (const ledger of [one, other]) await ledger.close?.()
    expect(linesOf(path)).toHaveLength(4)
    expect(await requestsOf(fileUsage(path))).toBe(4)
  })

  it('goes on behind the mark of one who was killed, or has taken it back, and counts everything once', async () => {
    const path = newFile()
    const gone = spawnSync(process.execPath, ['-e', '']).pid
    const one = fileUsage(path)
    await one.record(usageEvent())
    const { host } = await nodeSystem()
    for (const id of [`${gone}-${host}-abc`, `${gone}-${host}-def`]) {
      writeFileSync(`${path}.${id}.busy`, '')
      // It has lost its end before it.
      appendFileSync(path, `{"time":5${mark('sealed', id)}`)
      await one.record(usageEvent())
    }
    appendFileSync(
      path,
      `${mark('sealed', '1-a-b')}${mark('sealed', '1-a-c')}${mark('opened', '1-a-c')}${mark('opened', '1-a-b')}`,
    )
    await one.record(usageEvent())
    for (const ledger of [one, fileUsage(path)]) {
      expect(await requestsOf(ledger)).toBe(4)
      await ledger.close?.()
    }
    expect(notesOf(path)).toEqual([])
  })

  it('knows its own sums from the same ones of another behind a mark', async () => {
    const path = newFile()
    const system = await nodeSystem()
    const warning = vi.spyOn(console, 'warn').mockReturnValue()
    const sums: string[] = []
    let isFull = true
    const writeSync = (file: number, bytes: Uint8Array) => {
      const line = new TextDecoder().decode(bytes)
      if (isFull && line.includes('req_')) throw new Error('ENOSPC')
      const written = fs.writeSync(file, bytes)
      if (line.includes('"start"')) {
        sums.push(line)
        const other = line.trim().replace(system.host, 'elsewhere')
        if (sums.length === 1) appendFileSync(path, `${mark('sealed', '1-elsewhere-abc')}${other}\n`)
      }
      return written
    }
    const one = fileUsageOn(async () => ({ ...system, fs: { ...system.fs, writeSync } }), path, {})
    await one.record(usageEvent())
    isFull = false
    await one.record(usageEvent())
    await one.close?.()
    expect(sums).toHaveLength(1)
    expect(await requestsOf(fileUsage(path))).toBe(2)
    warning.mockRestore()
  })

  it('is summed up by one at a time', async () => {
    const path = newFile()
    const first = fileUsage(path)
    for (let i = 0; i < 4; i++) await first.record(usageEvent())
    await first.close?.()
    const system = await nodeSystem()
    const busy = `${path}.${process.pid}-${system.host}-abc.busy`
    writeFileSync(busy, '')
    const opened: string[] = []
    const openSync = (name: string, flags: string) => {
      opened.push(name)
      return fs.openSync(name, flags)
    }
    const other = fileUsageOn(async () => ({ ...system, fs: { ...system.fs, openSync } }), path, { maxLines: 1 })
    expect(await requestsOf(other)).toBe(4)
    // Two who write their sums at once would write into one another's.
    expect(opened.filter((name) => !/\.busy$/.test(name))).toEqual([path])
    await other.close?.()
    rmSync(busy)
    const alone = fileUsage(path, { maxLines: 1 })
    expect(await requestsOf(alone)).toBe(4)
    expect(linesOf(path)).toHaveLength(1)
    await alone.close?.()
    expect(notesOf(path)).toEqual([])
  })

  it('is summed up before what one who leaves no note has added to it meanwhile', async () => {
    const path = newFile()
    const before = fileUsage(path)
    for (let i = 0; i < 4; i++) await before.record(usageEvent())
    await before.close?.()
    const system = await nodeSystem()
    /** Between the sums and their taking the file's place. */
    const fsyncSync = (file: number) => {
      appendFileSync(path, `${JSON.stringify(usageEvent())}\n`)
      fs.fsyncSync(file)
    }
    const ledger = fileUsageOn(async () => ({ ...system, fs: { ...system.fs, fsyncSync } }), path, { maxLines: 1 })
    expect(await requestsOf(ledger)).toBe(5)
    await ledger.close?.()
    expect(linesOf(path)).toHaveLength(2)
    expect(readdirSync(join(path, '..')).filter((name) => name.endsWith('.new'))).toEqual([])
  })

  it.each([
    ['is believed while it is fresh', 0, 4],
    ['is not believed for ever', 3600, 1],
  ])('a note of another machine %s', async (_, age, lines) => {
    const path = newFile()
    const first = fileUsage(path)
    for (let i = 0; i < 4; i++) await first.record(usageEvent())
    await first.close?.()
    const note = `${path}.1-another-abc.busy`
    writeFileSync(note, '')
    const then = Date.now() / 1000 - age
    fs.utimesSync(note, then, then)
    const second = fileUsage(path, { maxLines: 1 })
    expect(await requestsOf(second)).toBe(4)
    await second.close?.()
    expect(linesOf(path)).toHaveLength(lines)
  })

  it('continues in the file that another process has put in its place', async () => {
    const path = newFile()
    const ledger = fileUsage(path)
    for (let i = 0; i < 3; i++) await ledger.record(usageEvent())
    renameSync(path, `${path}.old`)
    await ledger.record(usageEvent())
    expect(await requestsOf(ledger)).toBe(1)
    expect(linesOf(path)).toHaveLength(1)
    writeFileSync(path, '')
    expect(await requestsOf(ledger)).toBe(0)
    await ledger.record(usageEvent())
    expect(await requestsOf(ledger)).toBe(1)
    await ledger.close?.()
  })

  it('takes a line whose end came later once it is whole, and once', async () => {
    const path = newFile()
    const ledger = fileUsage(path)
    await ledger.record(usageEvent())
    const line = JSON.stringify(usageEvent())
    // On its way from another; behind it the one of a third that has lost its end.
    for (const before of ['', line]) {
      const counted = await requestsOf(ledger)
      appendFileSync(path, before + line.slice(0, 40))
      expect(await requestsOf(ledger)).toBe(counted)
      appendFileSync(path, `${line.slice(40)}\n`)
      expect(await requestsOf(ledger)).toBe(counted + (before ? 2 : 1))
    }
    await ledger.close?.()
  })

  it('takes a line that follows one whose end was never written', async () => {
    const path = newFile()
    const ledger = fileUsage(path)
    await ledger.record(usageEvent())
    const line = JSON.stringify(usageEvent())
    // What two others wrote: one was cut off by a full disk, or by its end alone.
    appendFileSync(path, `${line.slice(0, 40)}${line}\n${line}`)
    expect(await requestsOf(ledger)).toBe(3)
    appendFileSync(path, `${line}\n`)
    await ledger.record(usageEvent())
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
  const warnings = () => warning.mock.calls.map(([text]) => String(text))

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

  it('is reported once; usage is counted in memory, and written as soon as there is room', async () => {
    const path = newFile()
    const disk = await smallDisk()
    const ledger = fileUsageOn(disk.system, path, {})
    await ledger.record(usageEvent())
    disk.room = 0
    for (let i = 0; i < 5; i++) await ledger.record(usageEvent())
    expect(await requestsOf(ledger)).toBe(6)
    expect(linesOf(path)).toHaveLength(1)
    expect(warnings()).toEqual([
      `local-v1: ${path} cannot be written, usage is counted in memory until it can: ENOSPC: no space left on device, write`,
    ])
    disk.room = Number.POSITIVE_INFINITY
    await ledger.record(usageEvent())
    expect(await requestsOf(ledger)).toBe(7)
    expect(warnings().slice(1)).toEqual([`local-v1: ${path} can be written again and has all usage.`])
    await ledger.close?.()
    expect(await requestsOf(fileUsage(path))).toBe(7)
  })

  it('counts every request once, wherever it cuts a line', async () => {
    const length = JSON.stringify(usageEvent()).length + 1
    const disk = await smallDisk()
    for (let room = 0; room <= 2 * length; room++) {
      const path = newFile()
      disk.room = Number.POSITIVE_INFINITY
      const ledger = fileUsageOn(disk.system, path, {})
      await ledger.open?.()
      disk.room = room
      for (let i = 0; i < 3; i++) await ledger.record(usageEvent())
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
    const path = newFile()
    const ledger = fileUsageOn(disk.system, path, {})
    await ledger.record(usageEvent())
    disk.room = 0
    for (let i = 0; i < 3; i++) await ledger.record(usageEvent({ time: 1_000_000 + i * 60 }))
    await ledger.close?.()
    expect(warnings().at(-1)).toBe(
      `local-v1: the usage of 3 requests is lost, ${path} cannot be written: ENOSPC: no space left on device, write`,
    )
    expect(notesOf(path)).toEqual([])
  })

  it('may be gone altogether: what was counted is known as long as the process lives, and is not said to be kept', async () => {
    const path = newFile()
    const ledger = fileUsage(path)
    await ledger.record(usageEvent())
    rmSync(join(path, '..'), { recursive: true })
    expect(await requestsOf(ledger)).toBe(1)
    await ledger.record(usageEvent())
    expect(await requestsOf(ledger)).toBe(2)
    await ledger.close?.()
    expect(warnings()).toEqual([
      expect.stringMatching(/usage is counted in memory until it can: ENOENT/),
      expect.stringMatching(/the usage of 1 requests is lost, .* cannot be written: ENOENT/),
    ])
  })

  it('says what is thrown there, whatever that is', async () => {
    const system = await nodeSystem()
    const disk = { odd: false }
    const writeSync = (file: number, bytes: Uint8Array) => {
      if (disk.odd) throw 'odd'
      return fs.writeSync(file, bytes)
    }
    const ledger = fileUsageOn(async () => ({ ...system, fs: { ...system.fs, writeSync } }), newFile(), {})
    await ledger.open?.()
    disk.odd = true
    await ledger.record(usageEvent())
    expect(warnings()).toEqual([expect.stringMatching(/until it can: odd$/)])
    disk.odd = false
    await ledger.close?.()
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
      await ledger.record(usageEvent())
      expect(() => writeFileSync(join(disk, 'ballast'), 'x'.repeat(2 ** 17))).toThrow('ENOSPC')
      const many = 100
      for (let i = 0; i < many; i++) await ledger.record(usageEvent())
      expect(await requestsOf(ledger)).toBe(many + 1)
      expect(warnings()).toHaveLength(1)
      // Another process that would begin now is told so at its start.
      await expect(Promise.resolve(fileUsage(join(disk, 'other.jsonl')).open?.())).rejects.toThrow('ENOSPC')
      rmSync(join(disk, 'ballast'))
      await ledger.record(usageEvent())
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
  ])('%s is reported when it is opened', async (_, at, code) => {
    const file = newFile()
    await expect(Promise.resolve(fileUsage(at(file)).open?.())).rejects.toThrow(code)
    // Beside a folder its notes would be.
    expect(readdirSync(folder).filter((name) => /\.busy$/.test(name))).toEqual([])
  })
})
