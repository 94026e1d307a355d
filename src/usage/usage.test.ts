import { spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ownFolder } from '../../test/support/own-folder.js'
import { usageEvent } from './event.test-helper.js'
import { fileUsage } from './file.js'
import type { UsageEvent, UsageLedger } from './ledger.js'
import { memoryUsage, rowOf, UsageTable } from './table.js'

const root = ownFolder()
const newFile = () => join(mkdtempSync(join(root, 'of-')), 'usage.jsonl')
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
      await ledger.record(usageEvent(each as Partial<UsageEvent>))
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
  it('loses nothing that was recorded when the process is killed', async () => {
    const path = newFile()
    const script = `
      import { fileUsage } from ${JSON.stringify(new URL('./file.ts', import.meta.url).href)}
      const ledger = fileUsage(${JSON.stringify(path)})
      for (let i = 1; ; i++) {
        await ledger.record(${JSON.stringify(usageEvent())})
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
})

describe('UsageTable', () => {
  it('keeps every sum, and few enough rows, however long it is used', () => {
    const times = fc.array(fc.integer({ min: 1_000_000_000, max: 1_010_000_000 }), { minLength: 1, maxLength: 300 })
    fc.assert(
      fc.property(times, (all) => {
        const table = new UsageTable(100)
        for (const time of all) table.add(rowOf(usageEvent({ time })))
        const rows = table.rows()
        expect(rows.reduce((sum, { requests }) => sum + requests, 0)).toBe(all.length)
        expect(rows.reduce((sum, { promptTokens }) => sum + promptTokens, 0)).toBe(10 * all.length)
        const latest = Math.max(...all)
        expect(rows.every(({ start }) => start <= latest)).toBe(true)
      }),
      { numRuns: 50 },
    )
    const table = new UsageTable(100)
    for (let minute = 0; minute < 10_000; minute++) table.add(rowOf(usageEvent({ time: 1_000_000_000 + minute * 60 })))
    expect(table.size).toBeLessThanOrEqual(101)
    // More callers than rows in one day are kept all the same.
    for (let i = 0; i < 1000; i++)
      table.add(rowOf(usageEvent({ time: 1_000_000_000 + 10_000 * 60, caller: `key_${i}` })))
    expect(new Set(table.rows().map(({ caller }) => caller)).size).toBe(1001)
    expect(table.rows().reduce((sum, { requests }) => sum + requests, 0)).toBe(11_000)
  })

  it('keeps the newest by the minute', () => {
    const table = new UsageTable(100)
    for (let minute = 0; minute < 10_000; minute++) table.add(rowOf(usageEvent({ time: 1_000_000_000 + minute * 60 })))
    expect(table.rows().at(-1)!.start).toBe(rowOf(usageEvent({ time: 1_000_000_000 + 9999 * 60 })).start)
  })
})
