import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Presence } from './presence.js'
import { type FileSystem, nodeSystem, type System } from './system.js'

let folder: string
let path: string
const notes = () => readdirSync(folder).sort()

/** A process of `host` that sees these as ended. */
const system = (
  pid: number,
  { host = 'here', began = 0, ended = [] as number[], fs: part = {} as Partial<FileSystem> } = {},
) => ({ pid, host, began, ended: (other) => ended.includes(other), fs: { ...fs, ...part } }) satisfies System

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'presence-'))
  path = join(folder, 'usage.jsonl')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A note of somebody, made so long ago. */
function note(name: string, seconds = 0): string {
  const file = join(folder, name)
  writeFileSync(file, '')
  const then = Date.now() / 1000 - seconds
  utimesSync(file, then, then)
  return file
}

const claimed = (one: System) => new Presence(one, path).claim()

describe('who is about to replace a file', () => {
  it('says so until it settles', () => {
    const one = new Presence(system(1), path)
    expect([one.alone, notes()]).toEqual([false, []])
    expect([one.claim(), one.alone, notes()]).toEqual([true, true, [`usage.jsonl.${one.id}.busy`]])
    expect(one.id).toMatch(/^1-here-[a-z0-9]+$/)
    const two = new Presence(system(2), path)
    expect([two.isBusy(one.id), two.claim(), notes()]).toEqual([true, false, [`usage.jsonl.${one.id}.busy`]])
    one.settle()
    expect([one.alone, two.isBusy(one.id), two.claim()]).toEqual([false, false, true])
    two.settle()
    expect(notes()).toEqual([])
  })

  it('has another id each time, so that what is said late of one time says nothing of the next', () => {
    const one = new Presence(system(1), path)
    one.claim()
    const before = one.id
    one.settle()
    expect([one.claim(), one.isBusy(before), one.isBusy(one.id)]).toEqual([true, false, true])
  })

  it('may be told apart within one process', () => {
    const [one, two] = [new Presence(system(1), path), new Presence(system(1), path)]
    expect([one.claim(), two.claim()]).toEqual([true, false])
  })

  it('is alone no longer once another has come, or has taken its note for that of one who is gone', () => {
    const one = new Presence(system(1), path)
    expect(one.claim()).toBe(true)
    const other = note('usage.jsonl.7-here-abc.busy')
    expect(one.alone).toBe(false)
    fs.rmSync(other)
    expect(one.alone).toBe(true)
    fs.rmSync(join(folder, notes()[0]!))
    expect(one.alone).toBe(false)
    expect(() => one.settle()).not.toThrow()
  })

  it('of two who come at once is one at most', () => {
    // It comes between its note and its look at who is there.
    const readdirSync = (of: string) => {
      note('usage.jsonl.7-here-abc.busy')
      return fs.readdirSync(of)
    }
    expect(claimed(system(1, { fs: { readdirSync } }))).toBe(false)
    expect(notes()).toEqual(['usage.jsonl.7-here-abc.busy'])
  })

  it('is itself, however the clock was set back', () => {
    const one = new Presence(system(1, { began: Date.now() + 3_600_000 }), path)
    expect([one.claim(), one.alone]).toEqual([true, true])
  })

  it('leaves its note to whoever comes next where it was killed', () => {
    note('usage.jsonl.71-here-abc.busy')
    const one = new Presence(system(1, { ended: [71] }), path)
    expect([one.claim(), notes()]).toEqual([true, [`usage.jsonl.${one.id}.busy`]])
  })

  it('may have been killed before there was anything in its note', async () => {
    const here = await nodeSystem()
    const gone = spawnSync(process.execPath, ['-e', '']).pid
    note(`usage.jsonl.${gone}-${here.host}-abc.busy`)
    expect(claimed(here)).toBe(true)
  })

  it('is not the one before it that had its number, as in a container that is started again', () => {
    const before = note('usage.jsonl.1-here-abc.busy', 60)
    expect(claimed(system(1, { began: Date.now() - 61_000 }))).toBe(false)
    expect(claimed(system(2, { began: Date.now() - 59_000 }))).toBe(false)
    expect(claimed(system(1, { began: Date.now() - 59_000 }))).toBe(true)
    expect(existsSync(before)).toBe(false)
  })

  it('may find that another has taken a note away meanwhile', () => {
    note('usage.jsonl.7-here-abc.busy')
    const gone = system(1)
    const ended = (pid: number) => {
      fs.rmSync(join(folder, `usage.jsonl.${pid}-here-abc.busy`))
      return true
    }
    expect(claimed({ ...gone, ended })).toBe(true)
    const other = note('usage.jsonl.8-here-abc.busy')
    const readdirSync = (of: string) => {
      const names = fs.readdirSync(of)
      fs.rmSync(other, { force: true })
      return names.filter((name) => name.includes('.8-') || name.includes('.2-'))
    }
    expect(claimed(system(2, { fs: { readdirSync } }))).toBe(true)
  })

  it.each([
    'other.jsonl.7-here-abc.busy',
    'usage.jsonl',
    'usage.jsonl.old',
    'usage.jsonl.7-here-ABC.busy',
    'usage.jsonl.x-here-abc.busy',
    'usage.jsonl.7-here-abc.busy.old',
    'usage.jsonl.old.7-here-abc.busy',
    'usage.jsonlx.7-here-abc.busy',
  ])('leaves notes of this form alone: %s is none', (name) => {
    note(name)
    expect(claimed(system(1, { ended: [7] }))).toBe(true)
    expect(existsSync(join(folder, name))).toBe(true)
  })

  it('on another host is believed for five minutes, and asked for by nobody', () => {
    const file = note('usage.jsonl.7-elsewhere-abc.busy', 299)
    expect([claimed(system(1, { ended: [7] })), existsSync(file)]).toEqual([false, true])
    const facts = (seconds: number) => ({ ino: 1, size: 9, mtimeMs: Date.now() - seconds * 1000 })
    const whenOld = (seconds: number) => claimed(system(1, { fs: { statSync: () => facts(seconds) } }))
    expect([whenOld(300), whenOld(301), existsSync(file)]).toEqual([false, true, false])
  })

  it.each([
    ['usage.jsonl', './', './usage.jsonl.'],
    ['./usage.jsonl', './', './usage.jsonl.'],
    ['C:\\data\\usage.jsonl', 'C:\\data\\', 'C:\\data\\usage.jsonl.'],
  ])('finds the folder of %s', (name, of, note) => {
    const [opened, looked]: [string[], string[]] = [[], []]
    const part: Partial<FileSystem> = {
      openSync: (file) => opened.push(file),
      writeSync: () => 1,
      closeSync: () => {},
      statSync: () => ({ ino: 1, size: 9, mtimeMs: Date.now() }),
      readdirSync(folder) {
        looked.push(folder)
        return []
      },
    }
    const one = new Presence(system(1, { fs: part }), name)
    expect([one.claim(), opened, looked]).toEqual([true, [`${note}${one.id}.busy`], [of]])
  })

  it.each(['EACCES', 'EPERM', 'EROFS'])('is nobody in a folder that takes no notes: %s', (code) => {
    const openSync = () => {
      throw Object.assign(new Error(code), { code })
    }
    expect(claimed(system(1, { fs: { openSync } }))).toBe(false)
  })

  it('whose note cannot be made for another reason is told so, and nothing of it stays', () => {
    expect(() => new Presence(system(1), join(folder, 'nowhere', 'usage.jsonl')).claim()).toThrow('ENOENT')
    const odd = () => {
      throw 'odd'
    }
    expect(() => claimed(system(1, { fs: { openSync: odd } }))).toThrow('odd')
    const open = new Set<number>()
    const part: Partial<FileSystem> = {
      openSync(file, flags) {
        const opened = fs.openSync(file, flags)
        open.add(opened)
        return opened
      },
      writeSync: () => 0,
      closeSync(file) {
        open.delete(file)
        fs.closeSync(file)
      },
    }
    expect(() => claimed(system(1, { fs: part }))).toThrow(/^ENOSPC: .*usage\.jsonl/)
    expect([notes(), open.size]).toEqual([[], 0])
  })
})
