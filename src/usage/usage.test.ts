import { spawn } from 'node:child_process'
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { fileUsage } from './file.js'
import type { UsageEvent, UsageLedger } from './ledger.js'
import { memoryUsage } from './memory.js'
import { rowOf, UsageTable } from './table.js'

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
const newFile = () => join(mkdtempSync(join(tmpdir(), 'usage-')), 'usage.jsonl')
const everything = (ledger: UsageLedger) => ledger.rows(0, Number.POSITIVE_INFINITY)

describe.each<[string, () => UsageLedger]>([
  ['memoryUsage', memoryUsage],
  ['fileUsage', () => fileUsage(newFile())],
])('%s', (_, open) => {
  it('sums up by minute, caller, project and model', async () => {
    const ledger = open()
    for (const each of [
      {},
      { outcome: 'error' },
      { outcome: 'aborted' },
      { time: 1_000_060 },
      { project: 'a/b' },
      { caller: 'you' },
    ]) {
      await ledger.record(event(each as Partial<UsageEvent>))
    }
    const rows = await everything(ledger)
    expect(rows).toHaveLength(4)
    expect(rows[0]).toEqual({
      start: 999_960,
      caller: 'me',
      project: null,
      model: 'a/b',
      requests: 3,
      errors: 1,
      aborts: 1,
      promptTokens: 30,
      cachedTokens: 12,
      completionTokens: 9,
    })
    expect(await ledger.rows(999_961, 2_000_000)).toMatchObject([{ start: 1_000_020 }])
    expect(await ledger.rows(0, 999_960)).toEqual([])
    await ledger.close?.()
  })
})

describe('fileUsage', () => {
  it('is there after a restart', async () => {
    const path = newFile()
    const first = fileUsage(path)
    await first.record(event())
    await first.close?.()
    const second = fileUsage(path)
    await second.record(event())
    expect(await everything(second)).toMatchObject([{ requests: 2, promptTokens: 20 }])
    await second.close?.()
  })

  it('passes over a torn last line, wherever it was torn, and goes on after it', async () => {
    const path = newFile()
    const ledger = fileUsage(path)
    await ledger.record(event())
    const whole = readFileSync(path).length
    await ledger.record(event())
    await ledger.close?.()
    const both = readFileSync(path)
    for (let length = whole; length < both.length; length++) {
      writeFileSync(path, both)
      truncateSync(path, length)
      const again = fileUsage(path)
      // A line that lacks only its end is whole.
      const kept = length === both.length - 1 ? 2 : 1
      expect(await everything(again)).toMatchObject([{ requests: kept }])
      await again.record(event())
      await again.close?.()
      expect(await everything(fileUsage(path))).toMatchObject([{ requests: kept + 1 }])
    }
  })

  it('passes over lines that are no usage', async () => {
    const path = newFile()
    appendFileSync(path, 'null\n5\n{}\n{"time":"now"}\n\u0000\u0000\n')
    const ledger = fileUsage(path)
    await ledger.record(event())
    expect(await everything(ledger)).toMatchObject([{ requests: 1 }])
  })

  it('sums up a file that has grown long, and loses nothing', async () => {
    const path = newFile()
    const first = fileUsage(path)
    for (let i = 0; i < 40; i++)
      await first.record(event({ time: 1_000_000 + (i % 2) * 60, project: i < 20 ? null : 'a/ä' }))
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
    await second.record(event({ project: 'b/c' }))
    await second.close?.()
    const again = await everything(fileUsage(path))
    expect(again).toHaveLength(5)
    expect(again.slice(0, 4)).toEqual(before)
  })

  it('is as good when it cannot be shortened', async () => {
    const warning = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const path = newFile()
    const first = fileUsage(path)
    for (let i = 0; i < 4; i++) await first.record(event())
    await first.close?.()
    // Where the shorter one would be written.
    mkdirSync(`${path}.new`)
    const second = fileUsage(path, { maxLines: 1 })
    await second.record(event())
    expect(await everything(second)).toMatchObject([{ requests: 5 }])
    expect(warning).toHaveBeenCalledOnce()
    warning.mockRestore()
  })

  it('is read in pieces, wherever they end', async () => {
    const path = newFile()
    const lines = Array.from({ length: 1500 }, (_, i) =>
      JSON.stringify(event({ project: `tëam/${'ü'.repeat(i % 50)}` })),
    )
    writeFileSync(path, `${lines.join('\n')}\n`)
    const rows = await everything(fileUsage(path))
    expect(rows).toHaveLength(50)
    expect(rows.reduce((sum, { requests }) => sum + requests, 0)).toBe(1500)
    expect(rows.every(({ project }) => /^tëam\/ü*$/.test(project!))).toBe(true)
  })

  it('loses nothing that was recorded when the process is killed', async () => {
    const path = newFile()
    const script = `
      import { fileUsage } from ${JSON.stringify(new URL('./file.ts', import.meta.url).href)}
      const ledger = fileUsage(${JSON.stringify(path)})
      for (let i = 1; ; i++) {
        await ledger.record(${JSON.stringify(event())})
        process.stdout.write('.')
        await new Promise((resolve) => setTimeout(resolve))
      }`
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
      cwd: new URL('../..', import.meta.url),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let confirmed = 0
    const gone = new Promise((resolve) => child.once('exit', resolve))
    for await (const data of child.stdout) {
      confirmed += (data as Buffer).length
      if (confirmed >= 50) child.kill('SIGKILL')
    }
    await gone
    expect(confirmed).toBeGreaterThanOrEqual(50)
    const [row] = await everything(fileUsage(path))
    expect(row!.requests).toBeGreaterThanOrEqual(confirmed)
  })

  it('says so when it cannot write, and tries again', async () => {
    const directory = newFile()
    const ledger = fileUsage(join(directory, 'usage.jsonl'))
    await expect(ledger.record(event())).rejects.toThrow('ENOENT')
    await expect(ledger.record(event())).rejects.toThrow('ENOENT')
  })
})

describe('UsageTable', () => {
  it('keeps every sum, and few enough rows, however long it is used', () => {
    const times = fc.array(fc.integer({ min: 1_000_000_000, max: 1_010_000_000 }), { minLength: 1, maxLength: 300 })
    fc.assert(
      fc.property(times, (all) => {
        const table = new UsageTable(100)
        for (const time of all) table.add(rowOf(event({ time })))
        const rows = table.rows()
        expect(rows.reduce((sum, { requests }) => sum + requests, 0)).toBe(all.length)
        expect(rows.reduce((sum, { promptTokens }) => sum + promptTokens, 0)).toBe(10 * all.length)
        const latest = Math.max(...all)
        expect(rows.every(({ start }) => start <= latest)).toBe(true)
      }),
      { numRuns: 50 },
    )
    const table = new UsageTable(100)
    for (let minute = 0; minute < 10_000; minute++) table.add(rowOf(event({ time: 1_000_000_000 + minute * 60 })))
    expect(table.size).toBeLessThanOrEqual(101)
    // More callers than rows in one day are kept all the same.
    for (let i = 0; i < 1000; i++) table.add(rowOf(event({ time: 1_000_000_000 + 10_000 * 60, caller: `key_${i}` })))
    expect(new Set(table.rows().map(({ caller }) => caller)).size).toBe(1001)
    expect(table.rows().reduce((sum, { requests }) => sum + requests, 0)).toBe(11_000)
  })

  it('keeps the newest by the minute', () => {
    const table = new UsageTable(100)
    for (let minute = 0; minute < 10_000; minute++) table.add(rowOf(event({ time: 1_000_000_000 + minute * 60 })))
    expect(table.rows().at(-1)!.start).toBe(rowOf(event({ time: 1_000_000_000 + 9999 * 60 })).start)
  })
})
