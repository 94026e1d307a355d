import * as fs from 'node:fs'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundle } from '../../test/support/bundle.js'
import { type Running, start } from '../../test/support/spawn.js'
import { fileUsage } from './file.js'
import type { UsageLedger } from './ledger.js'

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
const notesOf = (path: string) => readdirSync(join(path, '..')).filter((name) => /\.(busy|new)$/.test(name))
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
/** What it reports that all have counted. */
async function counted(process_: Running): Promise<number> {
  const said = () => process_.output().match(/^counted \d+$/gm) ?? []
  const before = said().length
  process_.write('count')
  while (said().length === before) await new Promise((resolve) => setTimeout(resolve, 1))
  return Number(said().at(-1)!.slice('counted '.length))
}
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
        expect(await counted(process_)).toBe(2 * i)
      }
    }
    await Promise.all([one.stop(), other.stop()])
  })

  it('is shortened while all of them write, and has every request once', async () => {
    const path = newFile()
    const all = await Promise.all([1, 2, 3].map(() => keeper(path, 40)))
    for (let kept = 60; kept <= 900; kept += 60) {
      for (let i = 0; i < 20; i++) for (const process_ of all) process_.write('record')
      while (all.reduce((sum, process_) => sum + keptBy(process_), 0) < kept) {
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
    }
    for (const process_ of all) {
      expect(await counted(process_)).toBe(900)
      await process_.stop()
    }
    expect(linesOf(path).length).toBeLessThan(300)
    const last = fileUsage(path)
    expect(await requestsOf(last)).toBe(900)
    await last.close?.()
  })

  it('loses nothing when some are killed at any point and started again, over and over', async () => {
    const path = newFile()
    const all: Running[] = []
    const begin = async () => {
      const process_ = await keeper(path, 3)
      all.push(process_)
      return process_
    }
    const run = (process_: Running) => {
      process_.write('run')
      return process_
    }
    // Where they are killed: drawn once, so that a failure can be had again.
    const points = fc.sample(fc.integer({ min: 0, max: 30 }), { numRuns: 24, seed: 13 })
    let steady = run(await begin())
    for (const [round, point] of points.entries()) {
      await killAfter(run(await begin()), point)
      // Now and then the other one as well: whoever comes next is alone, and sums up.
      if (round % 6 !== 5) continue
      await killAfter(steady, point)
      steady = await begin()
      expect(linesOf(path).length).toBeLessThanOrEqual(3)
      run(steady)
    }
    await killAfter(steady, 5)
    const confirmed = all.reduce((sum, process_) => sum + keptBy(process_), 0)
    // The one before has summed up as it went on, and left up to three.
    const last = fileUsage(path, { maxLines: 1 })
    const kept = await requestsOf(last)
    await last.close?.()
    expect(kept).toBeGreaterThanOrEqual(confirmed)
    // Each may have written one more than it could say.
    expect(kept).toBeLessThanOrEqual(confirmed + all.length)
    expect(linesOf(path)).toHaveLength(1)
    // Nor do those that were killed leave anything behind.
    expect(notesOf(path)).toEqual([])
  })
})
