import * as fs from 'node:fs'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Presence } from './presence.js'
import type { FileSystem, System } from './system.js'

let folder: string
let path: string
const notes = () => readdirSync(folder).sort()

/** A process of `host` that sees these as ended. */
const system = (
  pid: number,
  { host = 'here', began = 0, ended = [] as number[], fs: part = {} as Partial<FileSystem> } = {},
) => ({ pid, host, began, ended: (other) => ended.includes(other), fs: { ...fs, ...part } }) satisfies System

beforeEach(() => {
  vi.useFakeTimers()
  folder = mkdtempSync(join(tmpdir(), 'presence-'))
  path = join(folder, 'usage.jsonl')
})
afterEach(() => {
  vi.useRealTimers()
  rmSync(folder, { recursive: true, force: true })
})

/** A note of somebody, last renewed so long ago. */
function note(name: string, host: string, seconds = 0): string {
  const file = join(folder, name)
  writeFileSync(file, host)
  const then = Date.now() / 1000 - seconds
  utimesSync(file, then, then)
  return file
}

/** Whether it has settled by now. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  void promise.then(() => {
    settled = true
  })
  await vi.advanceTimersByTimeAsync(0)
  return settled
}

describe('who has a file open', () => {
  it('is alone until another comes, and says of which host it is', async () => {
    const one = await Presence.at(system(1), path)
    expect(one.alone).toBe(true)
    const [name] = notes()
    expect(name).toMatch(/^usage\.jsonl\.1-[a-z0-9]+\.busy$/)
    expect(readFileSync(join(folder, name!), 'utf8')).toBe('here')
    const coming = Presence.at(system(2), path)
    expect(one.alone).toBe(false)
    one.leave()
    await vi.advanceTimersByTimeAsync(20)
    const two = await coming
    // It has said that it is open, so that two never wait for each other.
    expect([two.alone, notes()]).toEqual([false, [expect.stringMatching(/^usage\.jsonl\.2-[a-z0-9]+\.open$/)]])
    two.leave()
    expect(notes()).toEqual([])
  })

  it('may be told apart within one process', async () => {
    const one = await Presence.at(system(1), path)
    one.settle()
    const two = await Presence.at(system(1), path)
    expect(new Set(notes()).size).toBe(2)
    expect([one.alone, two.alone]).toEqual([false, false])
  })

  it('settles once, and is not alone from then on: whoever comes does not wait', async () => {
    let renamed = 0
    const renameSync = (from: string, to: string) => {
      renamed++
      fs.renameSync(from, to)
    }
    const one = await Presence.at(system(1, { fs: { renameSync } }), path)
    one.settle()
    expect(one.alone).toBe(false)
    one.settle()
    expect([notes(), renamed]).toEqual([[expect.stringMatching(/\.open$/)], 1])
    expect(await isSettled(Presence.at(system(2), path))).toBe(true)
  })

  it('may be busy again where nobody else is there, and of two who want to be one at most', async () => {
    const one = await Presence.at(system(1), path)
    one.settle()
    expect([one.claim(), one.alone, notes()]).toEqual([true, true, [expect.stringMatching(/\.busy$/)]])
    one.settle()
    const two = await Presence.at(system(2), path)
    two.settle()
    expect([one.claim(), two.claim()]).toEqual([false, false])
    expect(notes().filter((name) => name.endsWith('.open'))).toHaveLength(2)
    two.leave()
    // It comes between the look at who is there and the note that says so.
    const renameSync = (from: string, to: string) => {
      note('usage.jsonl.7-abc.busy', 'here')
      fs.renameSync(from, to)
    }
    one.leave()
    const three = await Presence.at(system(3, { fs: { renameSync } }), path)
    expect(three.claim()).toBe(false)
  })

  it('is waited for while it is busy, and no longer than half a minute', async () => {
    note('usage.jsonl.7-abc.busy', 'here')
    const coming = Presence.at(system(1), path)
    await vi.advanceTimersByTimeAsync(29_999)
    expect(await isSettled(coming)).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(await isSettled(coming)).toBe(true)
    expect((await coming).alone).toBe(false)
  })

  it.each(['usage.jsonl.71-abc.busy', 'usage.jsonl.71-abc.open'])(
    'leaves its note to whoever comes next where it was killed: %s',
    async (name) => {
      note(name, 'here')
      const one = await Presence.at(system(1, { ended: [71] }), path)
      expect(one.alone).toBe(true)
      expect(existsSync(join(folder, name))).toBe(false)
    },
  )

  it('is not the one before it that had its number, as in a container that is started again', async () => {
    const before = note('usage.jsonl.1-abc.open', 'here', 60)
    const one = await Presence.at(system(1, { began: Date.now() - 61_000 }), path)
    expect(one.alone).toBe(false)
    one.leave()
    const other = await Presence.at(system(2, { began: Date.now() - 59_000 }), path)
    expect(other.alone).toBe(false)
    other.leave()
    expect((await Presence.at(system(1, { began: Date.now() - 59_000 }), path)).alone).toBe(true)
    expect(existsSync(before)).toBe(false)
  })

  it('may find that another has taken a note away meanwhile, or its own', async () => {
    note('usage.jsonl.7-abc.open', 'here')
    const readFileSync = (file: string) => {
      fs.rmSync(file)
      return 'here'
    }
    const one = await Presence.at(system(1, { ended: [7], fs: { readFileSync } }), path)
    expect(one.alone).toBe(true)
    for (const name of notes()) fs.rmSync(join(folder, name))
    expect(() => one.leave()).not.toThrow()
  })

  it.each([
    'other.jsonl.7-abc.busy',
    'usage.jsonl',
    'usage.jsonl.old',
    'usage.jsonl.7-ABC.busy',
    'usage.jsonl.x-abc.busy',
    'usage.jsonl.7-abc.busy.old',
    'usage.jsonl.old.7-abc.busy',
    'usage.jsonlx.7-abc.busy',
  ])('leaves notes of this form alone: %s is none', async (name) => {
    note(name, 'here')
    const one = await Presence.at(system(1, { ended: [7] }), path)
    expect(one.alone).toBe(true)
    expect(existsSync(join(folder, name))).toBe(true)
  })

  it('on another host is believed for five minutes, and asked for by nobody', async () => {
    const file = note('usage.jsonl.7-abc.open', 'elsewhere', 299)
    const one = await Presence.at(system(1, { ended: [7] }), path)
    expect(one.alone).toBe(false)
    one.leave()
    expect(existsSync(file)).toBe(true)
    const facts = (seconds: number) => ({ ino: 1, size: 9, mtimeMs: Date.now() - seconds * 1000 })
    const whenOld = (seconds: number) => Presence.at(system(1, { fs: { statSync: () => facts(seconds) } }), path)
    const just = await whenOld(300)
    expect(just.alone).toBe(false)
    just.leave()
    expect((await whenOld(301)).alone).toBe(true)
    expect(existsSync(file)).toBe(false)
  })

  it('is judged by its age where its note cannot be read', async () => {
    note('usage.jsonl.7-abc.open', 'here', 301)
    note('usage.jsonl.8-abc.open', 'here')
    const readFileSync = () => {
      throw new Error('EACCES')
    }
    const one = await Presence.at(system(1, { ended: [7, 8], fs: { readFileSync } }), path)
    expect(one.alone).toBe(false)
    expect(notes().filter((name) => !name.includes('.1-'))).toEqual(['usage.jsonl.8-abc.open'])
  })

  it('is gone where its note goes while it is looked at', async () => {
    const other = note('usage.jsonl.7-abc.open', 'here')
    const readdirSync = (of: string) => {
      const names = fs.readdirSync(of)
      fs.rmSync(other, { force: true })
      return names
    }
    expect((await Presence.at(system(1, { fs: { readdirSync } }), path)).alone).toBe(true)
  })

  it.each(['usage.jsonl', './usage.jsonl'])('may name the file from where it stands: %s', async (name) => {
    const names: string[] = []
    const part: Partial<FileSystem> = {
      openSync: (file) => names.push(file),
      writeSync: (_, bytes) => bytes.length,
      closeSync: () => {},
      readdirSync(of) {
        names.push(of)
        return []
      },
    }
    const one = await Presence.at(system(1, { fs: part }), name)
    expect(one.alone).toBe(true)
    expect(names).toEqual([expect.stringMatching(/^\.\/usage\.jsonl\.1-[a-z0-9]+\.busy$/), './', './'])
  })

  it('finds the folder in a path of Windows', async () => {
    const looked: string[] = []
    const part: Partial<FileSystem> = {
      openSync: (file) => looked.push(file),
      writeSync: (_, bytes) => bytes.length,
      closeSync: () => {},
      readdirSync(of) {
        looked.push(of)
        return []
      },
    }
    await Presence.at(system(1, { fs: part }), 'C:\\data\\usage.jsonl')
    expect(looked).toEqual([expect.stringMatching(/^C:\\data\\usage\.jsonl\.1-[a-z0-9]+\.busy$/), 'C:\\data\\'])
  })
})

describe('a note', () => {
  const age = () => Date.now() - statSync(join(folder, notes()[0]!)).mtimeMs

  it('is renewed once a minute, not at each request', async () => {
    const opened: [second: number, state: string][] = []
    let second = 0
    const openSync = (file: string, flags: string) => {
      opened.push([second, file.slice(file.lastIndexOf('.'))])
      return fs.openSync(file, flags)
    }
    const one = await Presence.at(system(1, { fs: { openSync } }), path)
    one.settle()
    for (; second < 150; second++) {
      one.renew()
      vi.advanceTimersByTime(1000)
    }
    expect(opened).toEqual([
      [0, '.busy'],
      [60, '.open'],
      [120, '.open'],
    ])
    expect(age()).toBeGreaterThan(0)
    expect(readFileSync(join(folder, notes()[0]!), 'utf8')).toBe('here')
  })

  it('is renewed after the clock was set back, too', async () => {
    const one = await Presence.at(system(1), path)
    one.settle()
    vi.setSystemTime(Date.now() - 86_400_000)
    rmSync(join(folder, notes()[0]!))
    one.renew()
    expect(notes()).toHaveLength(1)
  })

  it('that cannot be renewed is renewed the next time', async () => {
    let full = false
    const writeSync = (file: number, bytes: Uint8Array) => (full ? 0 : fs.writeSync(file, bytes))
    const one = await Presence.at(system(1, { fs: { writeSync } }), path)
    full = true
    vi.advanceTimersByTime(60_000)
    expect(() => one.renew()).not.toThrow()
    full = false
    vi.advanceTimersByTime(60_000)
    one.renew()
    expect(readFileSync(join(folder, notes()[0]!), 'utf8')).toBe('here')
  })

  it.each(['EACCES', 'EPERM', 'EROFS'])(
    'is left out in a folder that takes none (%s), where nobody is alone, waits for others or tries again',
    async (code) => {
      let tries = 0
      const openSync = () => {
        tries++
        throw Object.assign(new Error(code), { code })
      }
      const other = note('usage.jsonl.7-abc.busy', 'here')
      const coming = Presence.at(system(1, { fs: { openSync } }), path)
      expect(await isSettled(coming)).toBe(true)
      fs.rmSync(other)
      const one = await coming
      expect(one.alone).toBe(false)
      one.settle()
      vi.advanceTimersByTime(60_000)
      one.renew()
      one.leave()
      expect([notes(), tries]).toEqual([[], 1])
    },
  )

  it('that cannot be written for another reason is an error, and nothing of it stays', async () => {
    const openFiles = new Set<number>()
    const part: Partial<FileSystem> = {
      openSync(file, flags) {
        const opened = fs.openSync(file, flags)
        openFiles.add(opened)
        return opened
      },
      writeSync: (file, bytes) => fs.writeSync(file, bytes.subarray(0, 2)),
      closeSync(file) {
        openFiles.delete(file)
        fs.closeSync(file)
      },
    }
    await expect(Presence.at(system(1, { fs: part }), path)).rejects.toThrow(/^ENOSPC: .*usage\.jsonl/)
    expect([notes(), openFiles.size]).toEqual([[], 0])
    await expect(Presence.at(system(1), join(folder, 'nowhere', 'usage.jsonl'))).rejects.toThrow('ENOENT')
    const odd = () => {
      throw 'odd'
    }
    await expect(Presence.at(system(1, { fs: { openSync: odd } }), path)).rejects.toBe('odd')
  })
})
