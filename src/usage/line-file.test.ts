import * as fs from 'node:fs'
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { atOnce, mapped } from '../platform/index.js'
import { LineFile } from './line-file.js'
import type { FileSystem } from './system.js'

let folder: string
let path: string
/** Of this test: what is still open at its end is a leak. */
let open: Set<number>

/** The real file system, which counts what is open, and does of each call what a test says. */
const system = (part: Partial<FileSystem> = {}): FileSystem => ({
  ...fs,
  openSync(name, flags) {
    const file = fs.openSync(name, flags)
    open.add(file)
    return file
  },
  closeSync(file) {
    open.delete(file)
    fs.closeSync(file)
  },
  ...part,
})

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'line-file-'))
  path = join(folder, 'lines')
  open = new Set()
})
afterEach(() => {
  for (const file of open) fs.closeSync(file)
  rmSync(folder, { recursive: true })
})

/** What is new in it; of a line without its end, `whole` says whether it is taken. */
function linesOf(file: LineFile, whole = false): [string, boolean][] {
  const lines: [string, boolean][] = []
  atOnce(
    file.read((line, ended) => {
      lines.push([line, ended])
      return whole
    }),
  )
  return lines
}

const ended = (...lines: string[]) => lines.map((line) => [line, true])

describe('a file of lines', () => {
  it('is read line by line, each once, whoever wrote it', () => {
    const file = new LineFile(system(), path)
    expect(linesOf(file)).toEqual([])
    file.append('one')
    file.append('')
    appendFileSync(path, 'two\nthree\n')
    expect(linesOf(file)).toEqual(ended('one', '', 'two', 'three'))
    expect(linesOf(file)).toEqual([])
    file.append('four')
    expect(linesOf(file)).toEqual(ended('four'))
    expect(readFileSync(path, 'utf8')).toBe('one\n\ntwo\nthree\nfour\n')
    file.close()
    expect(open.size).toBe(0)
  })

  it('is read whole, however much longer it is than what is read at once, and wherever characters are cut', () => {
    const lines = [...Array.from({ length: 300 }, (_, i) => '€'.repeat(i)), 'x'.repeat(200_000), 'last']
    writeFileSync(path, `${lines.join('\n')}\n`)
    const file = new LineFile(system(), path)
    expect(linesOf(file)).toEqual(ended(...lines))
    appendFileSync(path, 'more\n')
    expect(linesOf(file)).toEqual(ended('more'))
  })

  it('offers a line that has no end yet, again and again until it is taken or has one', () => {
    writeFileSync(path, 'one\ntw')
    const file = new LineFile(system(), path)
    expect(linesOf(file)).toEqual([...ended('one'), ['tw', false]])
    expect(linesOf(file)).toEqual([['tw', false]])
    appendFileSync(path, 'o\nthr')
    expect(linesOf(file, true)).toEqual([...ended('two'), ['thr', false]])
    // What was taken is not told again.
    expect(linesOf(file)).toEqual([])
    appendFileSync(path, 'ee\n')
    expect(linesOf(file)).toEqual(ended('ee'))
  })

  it('is written behind what lacks its end, and not to it', () => {
    writeFileSync(path, 'torn')
    const file = new LineFile(system(), path)
    linesOf(file)
    file.append('one')
    expect(readFileSync(path, 'utf8')).toBe('torn\none\n')
    linesOf(file)
    file.append('two')
    expect(readFileSync(path, 'utf8')).toBe('torn\none\ntwo\n')
  })

  it('says where a line is not whole in it, and begins anew behind that', () => {
    let most = Number.POSITIVE_INFINITY
    const short = system({ writeSync: (file, bytes) => fs.writeSync(file, bytes.subarray(0, most)) })
    const file = new LineFile(short, path)
    most = 2
    expect(() => file.append('one')).toThrow(`ENOSPC: no space left on device, write '${path}'`)
    most = 4
    // All but its end.
    expect(() => file.append('two')).not.toThrow()
    most = Number.POSITIVE_INFINITY
    file.append('three')
    file.append('four')
    expect(readFileSync(path, 'utf8')).toBe('on\ntwo\nthree\nfour\n')
    most = 4
    expect(() => file.append('five')).not.toThrow()
    most = 1
    expect(() => file.append('six')).toThrow('ENOSPC')
  })

  it('knows that another is in its place, that it is gone, and that it was emptied', () => {
    writeFileSync(path, 'one\n')
    const file = new LineFile(system(), path)
    linesOf(file)
    expect(file.replaced).toBe(false)
    file.append('two')
    expect(file.replaced).toBe(false)
    linesOf(file)
    expect(file.replaced).toBe(false)
    writeFileSync(path, 'new\n')
    expect(file.replaced).toBe(true)
    writeFileSync(path, 'of the same size\nor larger\n')
    expect(file.replaced).toBe(false)
    renameSync(path, `${path}.old`)
    expect(file.replaced).toBe(true)
    writeFileSync(path, 'of the same size\nor larger\n')
    expect(file.replaced).toBe(true)
  })
})

describe('lines that take the place of others', () => {
  const fresh = () => mapped(['sum', 'é'], (line) => line)
  const notes = () => readdirSync(folder).sort()
  const MARK = '{"sealed":"1-a-b"}'
  /** What `replace` asks for. */
  const sealed = (file: LineFile) => () => {
    file.append(MARK)
    linesOf(file)
    return true
  }

  it('are all that is left, and what comes after them is read', () => {
    writeFileSync(path, 'one\ntwo\ntorn')
    const file = new LineFile(system(), path)
    linesOf(file)
    expect(atOnce(file.replace(fresh(), sealed(file), MARK))).toBe(true)
    expect(file.replaced).toBe(false)
    expect(linesOf(file)).toEqual([])
    file.append('three')
    expect(readFileSync(path, 'utf8')).toBe('sum\né\ntorn\nthree\n')
    expect(linesOf(file)).toEqual(ended('three'))
    expect(notes()).toEqual(['lines'])
    expect(open.size).toBe(1)
  })

  it('stand before what is added while they are written, whether or not it has been read, but for what is behind the mark', () => {
    writeFileSync(path, 'one\ntwo\n')
    const file = new LineFile(system(), path)
    linesOf(file)
    const long = 'x'.repeat(20_000)
    const seal = () => {
      appendFileSync(path, `${long}\nto`)
      sealed(file)()
      appendFileSync(path, 'late\n')
      return true
    }
    const work = file.replace(fresh(), seal, MARK)
    work.next()
    file.append('three')
    appendFileSync(path, 'four\n')
    expect(linesOf(file)).toEqual(ended('three', 'four'))
    file.append('five')
    expect(atOnce(work)).toBe(true)
    expect(readFileSync(path, 'utf8')).toBe(`sum\né\nthree\nfour\nfive\n${long}\nto`)
    expect(linesOf(file)).toEqual([])
    file.append('six')
    expect(readFileSync(path, 'utf8')).toMatch(/\nto\nsix\n$/)
    expect(open.size).toBe(1)
  })

  it('need not end a line that was taken without its end', () => {
    writeFileSync(path, 'one\ntwo')
    const file = new LineFile(system(), path)
    linesOf(file, true)
    atOnce(file.replace(fresh(), sealed(file), MARK))
    file.append('three')
    expect(readFileSync(path, 'utf8')).toBe('sum\né\nthree\n')
  })

  it('do not where it is no longer allowed', () => {
    writeFileSync(path, 'one\ntwo\n')
    const file = new LineFile(system(), path)
    linesOf(file)
    expect(atOnce(file.replace(fresh(), () => false, MARK))).toBe(false)
    expect(readFileSync(path, 'utf8')).toBe('one\ntwo\n')
    expect(linesOf(file)).toEqual([])
    expect(notes().filter((name) => name.endsWith('.new'))).toEqual([])
    expect(open.size).toBe(1)
  })

  it('do not where the mark has gone, and the file goes on', () => {
    writeFileSync(path, 'one\n')
    const file = new LineFile(system(), path)
    linesOf(file)
    const seal = () => {
      sealed(file)()
      writeFileSync(path, '{"other":1}\n{\n')
      return true
    }
    expect(() => atOnce(file.replace(fresh(), seal, MARK))).toThrow('has cut it meanwhile')
    file.append('two')
    expect(readFileSync(path, 'utf8')).toBe('{"other":1}\n{\ntwo\n')
    expect(notes()).toEqual(['lines'])
    expect(open.size).toBe(1)
  })

  it('are asked for last: when they are whole on the disk', () => {
    writeFileSync(path, 'one\n')
    const steps: string[] = []
    const fsyncSync = (file: number) => {
      steps.push(`whole: ${JSON.stringify(readFileSync(`${path}.new`, 'utf8'))}`)
      fs.fsyncSync(file)
    }
    const file = new LineFile(system({ fsyncSync }), path)
    linesOf(file)
    const seal = () => {
      steps.push('allowed')
      return sealed(file)()
    }
    atOnce(file.replace(fresh(), seal, MARK))
    expect(steps).toEqual(['whole: "sum\\né\\n"', 'allowed'])
  })

  it('do not where the disk is full, and the file goes on', () => {
    writeFileSync(path, 'one\n')
    let most = Number.POSITIVE_INFINITY
    const short = system({ writeSync: (file, bytes) => fs.writeSync(file, bytes.subarray(0, most)) })
    const file = new LineFile(short, path)
    linesOf(file)
    most = 2
    expect(() => atOnce(file.replace(fresh(), sealed(file), MARK))).toThrow(`${path} is full.`)
    most = Number.POSITIVE_INFINITY
    file.append('two')
    expect(readFileSync(path, 'utf8')).toBe('one\ntwo\n')
    expect(notes()).toEqual(['lines'])
    expect(open.size).toBe(1)
  })

  it('do not where files may not be renamed, and the file goes on', () => {
    writeFileSync(path, 'one\n')
    const renameSync = () => {
      throw new Error('EPERM')
    }
    const file = new LineFile(system({ renameSync }), path)
    linesOf(file)
    expect(() => atOnce(file.replace(fresh(), sealed(file), MARK))).toThrow('EPERM')
    file.append('two')
    expect(readFileSync(path, 'utf8')).toBe(`one\n${MARK}\ntwo\n`)
    expect(notes()).toEqual(['lines'])
    expect(open.size).toBe(1)
  })
})
