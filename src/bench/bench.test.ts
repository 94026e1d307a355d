import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { ownFolder } from '../../test/support/own-folder.js'
import { tinyRepository, writeRepository } from '../engines/webgpu/tiny-repository.test-helper.js'
import { coreCandidate } from './candidates.js'
import { chartOf } from './chart.js'
import { machine, processBytes } from './machine.js'
import type { BenchReport } from './report.js'
import { run } from './rounds.js'
import { settingsOf } from './settings.js'
import { spreadOf } from './stats.js'
import type { Candidate, Question, SubjectAnswer } from './subject.js'
import { PARTS } from './subject.js'
import { tableOf } from './table.js'

const settings = {
  promptLengths: [24, 100_000],
  batches: [1, 2],
  tokens: 6,
  decisions: [24, 3] as const,
  documents: true,
  rounds: 2,
  leastSeconds: 0,
  clock: 'wall' as const,
  // The other has texts of its own, and a test beside it.
  only: PARTS.filter((part) => part !== 'extract'),
}

/** Answers at once, and writes down what it was asked. */
function noted(name: string, log: { name: string; ask: Question; answer: SubjectAnswer }[]): Candidate {
  const seen = new Set<number>()
  return {
    name,
    open: async () => ({
      about: { engine: name, model: 'a/b', device: 'none', deviceName: '', contextLength: 0, notes: [] },
      async answer(ask) {
        const { promptTokens, prompt, tokens } = ask
        const answer = {
          seconds: 2,
          firstSeconds: 1,
          promptTokens,
          cachedTokens: seen.has(prompt) ? promptTokens - 1 : 0,
          tokens,
        }
        seen.add(prompt)
        log.push({ name, ask, answer })
        return answer
      },
      deviceBytes: () => 2 ** 20,
      close: async () => {},
    }),
  }
}

describe('a run', () => {
  const folder = ownFolder()
  let report: BenchReport

  beforeAll(async () => {
    await writeRepository(tinyRepository(), folder)
    // Its makers recommend what no side of a comparison asks for.
    await writeFile(join(folder, 'generation_config.json'), JSON.stringify({ temperature: 0, top_p: 0.5 }))
    const candidate = (threads: number) =>
      coreCandidate({ name: `${threads}`, model: { id: 'test/tiny', from: folder }, device: 'cpu', threads })
    report = await run([candidate(1), candidate(2)], settings, { version: '0', machine, processBytes })
  })

  const valuesOf = (metric: string, subject = '1') =>
    report.series.filter((series) => series.metric === metric && series.subject === subject).map(({ values }) => values)

  it('measures everything for every subject, once per round', () => {
    const perRound = report.series.filter(({ metric }) => !/^load|memory$/.test(metric))
    for (const { metric, values, median } of perRound) {
      expect(values, metric).toHaveLength(settings.rounds)
      for (const value of [...values, median]) expect(value, metric).toBeGreaterThan(0)
    }
    for (const name of ['1', '2']) {
      const metrics = new Set(report.series.filter(({ subject }) => subject === name).map(({ metric }) => metric))
      for (const metric of [
        'load-first',
        'load',
        'first-token',
        'first-token-cached',
        'prefill',
        'decode',
        'decode-gain',
      ])
        expect([...metrics]).toContain(metric)
      for (const metric of [
        'json-plain',
        'json-strict',
        'json-forced',
        'json-mask',
        'v1-ratio',
        'v1-whole-ratio',
        'decide',
        'decide-ratio',
        'decide-again-ratio',
        'decide-json',
        'device-memory',
      ])
        expect([...metrics]).toContain(metric)
    }
  })

  it('counts every strict document as right', () => {
    for (const name of ['1', '2']) expect(valuesOf('json-valid', name)).toEqual([[100, 100]])
  })

  it('gives ratios of what was measured in the same round', () => {
    const [[plain], [strict], [ratio]] = [valuesOf('json-plain'), valuesOf('json-strict'), valuesOf('json-ratio')]
    ratio!.forEach((value, i) => {
      expect(value).toBeCloseTo(strict![i]! / plain![i]!)
    })
  })

  it('says what it left out', () => {
    expect(report.notes.join()).toContain('first token after 100000')
    expect(report.subjects[0]).toMatchObject({ model: 'test/tiny', device: 'cpu', fingerprint: expect.any(String) })
    expect(report.machine).toMatchObject({ cores: expect.any(Number), runtime: expect.stringContaining('Node') })
  })

  it('is a table of at most 100 columns that shows every figure', () => {
    const lines = tableOf(report).split('\n')
    for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(100)
    expect(lines.join('\n')).not.toMatch(/NaN|undefined|Infinity/)
    for (const what of ['first token 24', 'decode 24, x2', 'strict JSON', 'through /v1']) {
      expect(
        lines.some((line) => line.includes(what)),
        what,
      ).toBe(true)
    }
  })

  it('has the ratio of two subjects, but for what neither has', () => {
    const [subject] = report.subjects
    const two = ['a', 'b'].map((name) => ({ ...subject!, name }))
    const [one] = report.series
    const lastOf = (a: number, b: number) => {
      const series = [a, b].map((median, i) => ({ ...one!, subject: two[i]!.name, median }))
      return tableOf({ ...report, subjects: two, series, notes: [] })
        .trimEnd()
        .split('\n')
        .at(-1)!
    }
    expect(lastOf(3, 2)).toMatch(/ x1\.50$/)
    expect(lastOf(0, 2)).toMatch(/ x0\.00$/)
    expect(lastOf(0, 0)).not.toMatch(/ x/)
  })

  it('keeps the columns of three subjects apart', () => {
    const [subject] = report.subjects
    const three = ['a', 'local-v1/llama-cpp', 'c'].map((name) => ({ ...subject!, name }))
    const series = three.flatMap(({ name }) => report.series.slice(0, 1).map((one) => ({ ...one, subject: name })))
    const lines = tableOf({ ...report, subjects: three, series }).split('\n')
    const rule = lines.findIndex((line) => line.startsWith('----'))
    expect(lines[rule - 1]).toMatch(/ a +local-v1\/llama-cpp +c$/)
    const widths = lines[rule]!.split(' ').filter(Boolean).slice(2)
    expect(new Set(widths).size).toBe(1)
  })

  it('is a chart without holes', () => {
    const svg = chartOf(report)
    expect(svg).not.toMatch(/NaN|undefined|Infinity/)
    expect(svg.match(/<text/g)!.length).toBe(svg.match(/<\/text>/g)!.length)
    expect(svg).toContain('Strict JSON')
  })
})

describe('rounds', () => {
  it('ask all in turn, each round the other way about, and show nobody a prompt twice', async () => {
    const log: Parameters<typeof noted>[1] = []
    await run(
      [noted('a', log), noted('b', log)],
      { ...settings, promptLengths: [10], batches: [1] },
      {
        version: '0',
        machine,
      },
    )
    const firsts = log.filter(({ ask, answer }) => ask.tokens === 1 && answer.cachedTokens === 0)
    expect(new Set(firsts.map(({ ask }) => ask.prompt)).size).toBe(firsts.length)
    const turns = log.map(({ name }) => name).filter((name, i, all) => name !== all[i - 1])
    // Warm-up a b | a b, then b a | b a, then a b | a b: neighbours of one name are one turn.
    expect(turns.join('')).toBe('ababababab')
  })

  it('count whole answers, and only what had to be computed', async () => {
    const report = await run(
      [noted('a', [])],
      { ...settings, promptLengths: [10], batches: [1] },
      { version: '0', machine },
    )
    expect(report.subjects.map(({ name }) => name)).toEqual(['a'])
    const one = (metric: string) => report.series.find((series) => series.metric === metric)
    expect(one('prefill')!.median).toBe(10)
    expect(one('first-token')!.median).toBe(1000)
    expect(one('device-memory')!.median).toBe(1)
  })
})

describe('settings', () => {
  it('are the usual ones but for what was asked for', () => {
    expect(settingsOf({ quick: true, rounds: 9 })).toMatchObject({ rounds: 9, promptLengths: [32] })
    expect(settingsOf({}).batches).toEqual([1, 4, 8])
  })
})

describe('a spread', () => {
  it('is the middle, and the middle of the distances from it', () => {
    expect(spreadOf([1, 2, 3, 4, 100])).toEqual({ median: 3, deviation: 1, least: 1, most: 100 })
    expect(spreadOf([1, 2]).median).toBe(1.5)
  })
})
