import { describe, expect, it, vi } from 'vitest'
import { usageEvent } from './event.test-helper.js'
import type { UsageEvent, UsageRow } from './ledger.js'
import { memoryUsage, rowOf, UsageTable } from './table.js'

const DAY = 86_400
const START = 20_000 * DAY

const event = (part: Partial<UsageEvent> = {}) =>
  usageEvent({ time: START, promptTokens: 5, cachedTokens: 3, completionTokens: 7, ...part })

const COUNTED = ['requests', 'errors', 'aborts', 'promptTokens', 'cachedTokens', 'completionTokens'] as const
const totals = (rows: readonly UsageRow[]) => COUNTED.map((name) => rows.reduce((sum, row) => sum + row[name], 0))

describe('a row of usage', () => {
  it.each([
    ['ok', { errors: 0, aborts: 0 }],
    ['error', { errors: 1, aborts: 0 }],
    ['aborted', { errors: 0, aborts: 1 }],
  ] as const)('of one request counts it by how it ended: %s', (outcome, counts) => {
    expect(rowOf(event({ outcome }))).toMatchObject({ requests: 1, ...counts })
  })

  it('begins with its minute', () => {
    expect([0, 1, 59, 60, 61].map((seconds) => rowOf(event({ time: START + seconds })).start - START)).toEqual([
      ...[0, 0, 0, 60, 60],
    ])
  })
})

describe('a table of usage', () => {
  it('sums what is of one minute, caller, project and model, and nothing else', () => {
    const table = new UsageTable()
    const outcomes = ['ok', 'error', 'aborted'] as const
    for (const outcome of outcomes) table.add(rowOf(event({ outcome, time: START + 9 })))
    expect(table.rows()).toEqual([
      {
        ...{ start: START, caller: 'me', project: null, model: 'a/b' },
        ...{ requests: 3, errors: 1, aborts: 1, promptTokens: 15, cachedTokens: 9, completionTokens: 21 },
      },
    ])
    for (const other of [{ time: START + 60 }, { caller: 'you' }, { project: 'x/y' }, { model: 'a/c' }]) {
      // What came last is looked at first.
      table.add(rowOf(event()))
      const before = table.size
      table.add(rowOf(event(other)))
      expect([other, table.size]).toEqual([other, before + 1])
    }
    // Also what is added to a row that was not the last.
    expect(totals(table.rows())[0]).toBe(3 + 2 * 4)
  })

  it('is not changed through a row that it was given, nor changes it', () => {
    const table = new UsageTable()
    const row = rowOf(event())
    table.add(row)
    table.add(row)
    expect(row.requests).toBe(1)
    row.requests = 100
    expect(totals(table.rows())[0]).toBe(2)
  })

  it('finds the rows that start from one time on and before another', () => {
    const table = new UsageTable()
    for (let minute = 0; minute < 5; minute++) table.add(rowOf(event({ time: START + minute * 60 })))
    const starts = (from?: number, to?: number) => table.rows(from, to).map(({ start }) => (start - START) / 60)
    expect(starts()).toEqual([0, 1, 2, 3, 4])
    expect(starts(START + 60, START + 180)).toEqual([1, 2])
    expect(starts(START + 61)).toEqual([2, 3, 4])
  })

  it('gives out each row once', () => {
    const table = new UsageTable()
    for (let minute = 0; minute < 3; minute++) table.add(rowOf(event({ time: START + minute * 60 })))
    const taken: UsageRow[] = []
    for (let row = table.take(); row; row = table.take()) taken.push(row)
    expect(taken.map(({ start }) => (start - START) / 60)).toEqual([0, 1, 2])
    expect([table.size, table.take()]).toEqual([0, undefined])
  })

  it('loses no token as it grows old, keeps its newer half by the minute, and stays within half again what it may have', () => {
    const table = new UsageTable(1000)
    const year = 365 * 24
    for (let hour = 0; hour < year; hour++) {
      table.add(rowOf(event({ time: START + hour * 3600 + (hour % 60) * 60 })))
      expect(table.size).toBeLessThanOrEqual(1500)
    }
    const rows = table.rows().sort((a, b) => a.start - b.start)
    expect(totals(rows)).toEqual([year, 0, 0, 5 * year, 3 * year, 7 * year])
    // What came last is told by the minute.
    const last = year - 1
    expect(rows.at(-1)!.start).toBe(START + last * 3600 + (last % 60) * 60)
    for (const { start } of rows.slice(0, 50)) expect(start % DAY).toBe(0)
  })

  it('sums up by hours before it does by days', () => {
    const table = new UsageTable(100)
    for (let minute = 0; minute < 101; minute++) table.add(rowOf(event({ time: START + 3600 + minute * 60 })))
    const starts = table.rows().map(({ start }) => (start - START) / 60)
    expect(Math.min(...starts)).toBe(60)
    // The older half is one hour, the newer one is as it was.
    expect(starts.sort((a, b) => a - b)).toEqual([60, ...Array.from({ length: 50 }, (_, i) => 111 + i)])
  })

  it('sums up nothing before it has more than it may have, and then the older half of them', () => {
    const table = new UsageTable(99)
    const startsWith = (minute: number) => {
      table.add(rowOf(event({ time: START + minute * 60 })))
      return table
        .rows()
        .map(({ start }) => (start - START) / 60)
        .sort((a, b) => a - b)
    }
    for (let minute = 1; minute < 99; minute++) startsWith(minute)
    expect(startsWith(99)).toEqual(Array.from({ length: 99 }, (_, i) => 1 + i))
    expect(startsWith(100)).toEqual([0, ...Array.from({ length: 50 }, (_, i) => 51 + i)])
  })

  it('sums up by days only where the hours are still more than it may have', () => {
    const table = new UsageTable(4)
    const hours = [1, 1.5, 2, 3, 4]
    for (const hour of hours) table.add(rowOf(event({ time: START + hour * 3600 })))
    expect(table.rows().map(({ start }) => (start - START) / 3600)).toEqual([1, 2, 3, 4])
  })

  it('sums up what is oldest, in whatever order it came', () => {
    const table = new UsageTable(100)
    for (let minute = 100; minute >= 0; minute--) table.add(rowOf(event({ time: START + minute * 60 })))
    const starts = table.rows().map(({ start }) => (start - START) / 60)
    expect(starts.sort((a, b) => a - b)).toEqual([0, ...Array.from({ length: 50 }, (_, i) => 51 + i)])
  })

  it('finds the older half a few rows at a time, however many callers it has', () => {
    const table = new UsageTable(5000)
    for (let i = 0; i < 5000; i++) table.add(rowOf(event({ caller: `caller ${i}`, time: START + (i % 90) * 60 })))
    let looks = 0
    for (const row of table.rows()) {
      const { start } = row
      Object.defineProperty(row, 'start', {
        get() {
          looks++
          return start
        },
      })
    }
    for (let i = 0; i < 20; i++) {
      looks = 0
      table.add(rowOf(event({ caller: `late ${i}`, time: START + DAY })))
      expect(looks).toBeLessThan(5000)
    }
    for (let i = 20; i < 100; i++) table.add(rowOf(event({ caller: `late ${i}`, time: START + DAY })))
    expect(looks).toBeGreaterThan(0)
    const older = table.rows(START, START + DAY).filter(({ start }) => start % 3600 === 0)
    expect(older.length).toBeGreaterThanOrEqual(2500)
  })

  it('keeps what no hour and no day can join: callers of one minute', () => {
    const table = new UsageTable(100)
    for (let i = 0; i < 1000; i++) table.add(rowOf(event({ caller: `caller ${i}`, time: START + 60 })))
    expect(table.size).toBe(1000)
    expect(totals(table.rows())[0]).toBe(1000)
    expect(new Set(table.rows().map(({ caller }) => caller)).size).toBe(1000)
  })

  it('knows without a look at its rows what goes on as the last one did', () => {
    const table = new UsageTable()
    const spelled = vi.spyOn(JSON, 'stringify')
    try {
      for (let i = 0; i < 100; i++) table.add(rowOf(event()))
      expect(spelled).toHaveBeenCalledTimes(1)
    } finally {
      spelled.mockRestore()
    }
    expect(totals(table.rows())[0]).toBe(100)
  })

  it('sums up a few rows with each that comes, and not all that are due at once', () => {
    const table = new UsageTable(10_000)
    const add = (minute: number) => table.add(rowOf(event({ time: START + minute * 60 })))
    for (let minute = 0; minute < 10_000; minute++) add(minute)
    const spelled = vi.spyOn(JSON, 'stringify')
    const sizes: number[] = []
    try {
      for (let minute = 10_000; minute < 10_200; minute++) {
        spelled.mockClear()
        add(minute)
        sizes.push(table.size)
        expect(spelled.mock.calls.length).toBeLessThan(100)
      }
    } finally {
      spelled.mockRestore()
    }
    // Of five thousand minutes hours are left.
    expect(sizes[0]).toBeGreaterThan(9000)
    expect(sizes.at(-1)).toBeLessThan(5400)
    expect(totals(table.rows())[0]).toBe(10_200)
  })

  it('does not go through all that it keeps for each that comes', () => {
    const table = new UsageTable(100)
    const sorted = vi.spyOn(Array.prototype, 'sort')
    try {
      for (let i = 0; i < 1000; i++) table.add(rowOf(event({ caller: `caller ${i}`, time: START + 60 })))
      expect(sorted.mock.calls.length).toBeLessThan(1000 / 10)
    } finally {
      sorted.mockRestore()
    }
  })
})

it('usage in memory is what was counted, of the time that is asked for', async () => {
  const ledger = memoryUsage()
  for (const time of [START, START + 1, START + 60]) await ledger.record(event({ time }))
  const requests = async (from: number, to: number) => totals(await ledger.rows(from, to))[0]
  expect([await requests(START, START + 60), await requests(START, START + 120)]).toEqual([2, 3])
})
