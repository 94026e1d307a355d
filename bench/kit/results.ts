/** What the parts told, as files and as a summary: eight files, so that it can be carried home whole. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { chartOf } from '../../src/bench/chart.js'
import type { BenchReport } from '../../src/bench/report.js'
import { figure, tableOf } from '../../src/bench/table.js'
import type { Profile } from '../profile/profile.js'
import { boundMs, type MachineBound, printed } from '../profile/table.js'
import { type Adapter, type Message, NO_TIME, type Tried } from './message.js'
import { type Subject, type TunedRow, tunedTable } from './tuned.js'

interface PartResult {
  readonly name: string
  readonly tried: Tried[]
  fault?: string
  /** What time was short for. */
  left?: string
  ended: boolean
}

export class Results {
  readonly #folder: string
  readonly #parts = new Map<string, PartResult>()
  /** By part: each tells of it again when more is known. */
  readonly #reportOf = new Map<string, BenchReport>()
  readonly #profiles: Profile[] = []
  readonly #tuned = new Map<Subject, TunedRow[]>()
  readonly #date = new Date().toISOString()
  #adapter: Adapter | undefined
  #bound: MachineBound | undefined

  constructor(folder: string) {
    this.#folder = folder
  }

  begin(adapter: Adapter | undefined): void {
    this.#adapter = adapter
  }

  take(part: string, message: Message): void {
    if (message.kind === 'tried') this.#part(part).tried.push(message.tried)
    if (message.kind === 'bound') this.#bound = message.bound
    if (message.kind === 'report') this.#reportOf.set(part, message.report)
    if (message.kind === 'tuned') {
      this.#tuned.set(message.subject, [...(this.#tuned.get(message.subject) ?? []), message.row])
    }
    if (message.kind === 'profile') this.#profiles.push(message.profile)
  }

  end(part: string, fault: string | undefined): void {
    const result = this.#part(part)
    result.ended = true
    if (fault !== undefined) result.fault = fault
  }

  /** Nothing is wrong with it but that time was short. */
  leave(part: string, left: string): void {
    this.#part(part).left = left
  }

  fail(part: string, fault: string): void {
    this.end(part, fault)
  }

  get failed(): number {
    return this.#count('fail') + this.#all.filter(({ fault }) => fault !== undefined).length
  }

  /** Tests that passed, and parts without tests that did what they should. */
  get passed(): number {
    const whole = this.#all.filter(
      ({ tried, fault, left, ended }) => ended && tried.length === 0 && fault === undefined && left === undefined,
    )
    return this.#count('pass') + whole.length
  }

  async write(): Promise<void> {
    const files: Record<string, string> = {
      'summary.txt': this.summary(),
      'tests.json': json({ date: this.#date, adapter: this.#adapter, bound: this.#bound, parts: this.#all }),
    }
    if (this.#reports.length > 0) {
      const report = together(this.#reports)
      files['bench.json'] = json(this.#reports)
      files['bench.txt'] = tableOf(report)
      files['bench.svg'] = chartOf(report)
    }
    if (this.#profiles.length > 0) {
      files['profile.json'] = json(this.#profiles)
      files['profile.txt'] = `${this.#profiles.map((profile) => printed(profile, this.#bound)).join('\n\n')}\n`
    }
    if (this.#tuned.size > 0) {
      files['tune.json'] = json(Object.fromEntries(this.#tuned))
      const tables = [...this.#tuned].map(([subject, rows]) => `## ${subject}\n${tunedTable(rows, this.#bound)}`)
      files['tune.txt'] = tables.join('\n')
    }
    for (const [name, text] of Object.entries(files)) await writeFile(join(this.#folder, name), text)
  }

  summary(): string {
    const { name, features = [], matrices, info } = this.#adapter ?? { name: 'no GPU' }
    const multiplied = matrices ? `; subgroups multiply ${matrices.join(', ')}` : ''
    const about = info ? `: ${JSON.stringify(info)}; ${features.join(', ')}${multiplied}` : ''
    const lines = [`local-v1 kit, ${this.#date}, on ${name}${about}`, '']
    for (const { name, tried, fault, left, ended } of this.#all) {
      const counts = (['pass', 'fail', 'skip'] as const)
        .map((state) => [tried.filter((test) => test.state === state).length, state] as const)
        .filter(([count]) => count > 0)
        .map(([count, state]) => `${count} ${state}`)
      lines.push(
        `${name}: ${counts.join(', ') || (fault ? 'failed' : left ? 'left' : ended ? 'done' : 'began')}${fault ? `. ${fault}` : ''}`,
      )
      if (left !== undefined) lines.push(`  NO TIME: ${left}`)
      for (const test of tried.filter(({ error }) => error === NO_TIME)) lines.push(`  NO TIME for ${test.name}`)
      for (const test of tried.filter(({ state }) => state === 'fail')) {
        lines.push(
          `  FAILED ${test.name}`,
          ...(test.error ?? '')
            .split('\n')
            .slice(0, 3)
            .map((line) => `    ${line}`),
        )
      }
    }
    lines.push(...this.#shares())
    if (this.#reports.length > 0) lines.push('', tableOf(together(this.#reports)).trimEnd())
    lines.push('', `${this.passed} passed, ${this.failed} failed`)
    return `${lines.join('\n')}\n`
  }

  /** How near each step and prompt comes to what the adapter can do. */
  #shares(): string[] {
    const bound = this.#bound
    if (bound === undefined) return []
    const half = bound.halfGMulps === undefined ? '' : `, ${figure(bound.halfGMulps)} in f16`
    const lines = ['', `bound: ${figure(bound.copyGBps)} GB/s copied, ${figure(bound.fmaGMulps)} GMul/s in f32${half}`]
    for (const { model, parts } of this.#profiles) {
      for (const part of parts) {
        const least = boundMs(part.rows, bound)
        const share = ((least / part.unprofiled) * 100).toFixed(1)
        lines.push(
          `${model}, ${part.title}: ${share} % of the bound (${figure(least)} of ${figure(part.unprofiled)} ms)`,
        )
      }
    }
    return lines
  }

  get #reports(): BenchReport[] {
    return [...this.#reportOf.values()]
  }

  get #all(): PartResult[] {
    return [...this.#parts.values()]
  }

  #part(name: string): PartResult {
    const known = this.#parts.get(name) ?? { name, tried: [], ended: false }
    this.#parts.set(name, known)
    return known
  }

  #count(state: Tried['state']): number {
    return this.#all.reduce((sum, { tried }) => sum + tried.filter((test) => test.state === state).length, 0)
  }
}

/** One table and one picture for models that were measured one after the other. */
function together(reports: readonly BenchReport[]): BenchReport {
  return {
    ...reports[0]!,
    subjects: reports.flatMap(({ subjects }) => subjects),
    series: reports.flatMap(({ series }) => series),
    notes: [...new Set(reports.flatMap(({ notes }) => notes))],
  }
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 1)}\n`
}
