import { open, writeFile } from 'node:fs/promises'
import process from 'node:process'
import {
  type BenchOrder,
  type BenchReport,
  type Candidate,
  chartOf,
  coreCandidates,
  machine,
  openEngineSubject,
  processBytes,
  run,
  type Settings,
  settingsOf,
  tableOf,
} from '../bench/index.js'
import type { DevicePreference, ModelOptions } from '../engines/index.js'
import { NANO } from '../models/index.js'
import { nanoFolder, upstreamEngine } from './engine.js'
import { Fault } from './fault.js'
import { note, paint } from './terminal.js'

export interface BenchOptions extends Partial<Omit<Settings, 'batches'>> {
  readonly batch?: readonly number[]
  readonly model?: readonly string[]
  readonly device?: readonly DevicePreference[]
  readonly threads?: number
  readonly revectorize?: boolean
  readonly cache?: string
  readonly upstream?: string
  readonly upstreamModel?: string
  readonly quick?: boolean
  readonly json?: string
  readonly svg?: string
}

/** Measures, prints the table, and writes what was asked for. `more` stand beside our own core in every round. */
export async function bench(options: BenchOptions, order: BenchOrder, more: readonly Candidate[] = []): Promise<void> {
  await checkFiles(options)
  const others =
    options.upstream === undefined ? [] : [await upstreamCandidate(options.upstream, options.upstreamModel)]
  const candidates = [...candidatesOf(order), ...more, ...others]
  const { version, settings } = order
  const report = await run(candidates, settings, { version, machine, processBytes, progress })
  await publish(report, options)
}

/** What is to be measured, where and how: all that another process has to know. */
export function benchOrder(options: BenchOptions, version: string): BenchOrder {
  const { model = [NANO], device = ['auto'], threads, revectorize, cache, batch } = options
  const settings = settingsOf({ ...options, batches: batch })
  const core = { threads, ...(revectorize && { revectorize }), cache }
  return { version, models: model.map(located), devices: device, ...core, words: words(), settings }
}

function candidatesOf(order: BenchOrder): Candidate[] {
  try {
    return coreCandidates(order)
  } catch (error) {
    // A name that is no model.
    throw error instanceof TypeError ? new Fault(error.message) : error
  }
}

function located(id: string): string | ModelOptions {
  return id === NANO ? nano() : id
}

const nano = (): ModelOptions => ({ id: NANO, from: nanoFolder() })

/** Of a model that comes with us, where it does. */
function words(): ModelOptions | undefined {
  try {
    return nano()
  } catch {
    return undefined
  }
}

/** Another `/v1`, as its clients see it: over HTTP, with its own weights. */
async function upstreamCandidate(url: string, wanted?: string): Promise<Candidate> {
  const engine = await upstreamEngine(url)
  const ids = engine.models.map(({ id }) => id)
  const model = wanted === undefined ? ids[0] : ids.find((id) => id === wanted || id === `upstream/${wanted}`)
  if (model === undefined) throw new Fault(`${url} lists ${ids.join(', ') || 'no model'}.`, 1)
  const notes = ['over HTTP, with its own weights, device and quantisation']
  const about = { name: 'upstream', notes, skips: ['v1'], deviceName: new URL(url).host } as const
  return { name: 'upstream', open: () => openEngineSubject(engine, model, about) }
}

/** A minute of measuring should not end at a folder that is not there. */
export async function checkFiles({ json, svg }: BenchOptions): Promise<void> {
  for (const file of [json, svg]) if (file) await writable(file)
}

export async function publish(report: BenchReport, { json, svg }: BenchOptions): Promise<void> {
  endProgress()
  process.stdout.write(tableOf(report))
  if (json) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`)
  if (svg) await writeFile(svg, chartOf(report))
}

/** One line that says where a run is. */
export function progress(message: string): void {
  if (!process.stderr.isTTY) note(message)
  else process.stderr.write(`\r\x1b[K${paint('dim', message.slice(0, 99))}`)
}

/** Whatever comes next begins on a line of its own. */
export function endProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
}

async function writable(file: string): Promise<void> {
  const handle = await open(file, 'a').catch((cause: unknown) => {
    throw new Fault(`${file} cannot be written: ${(cause as Error).message}`, 1)
  })
  await handle.close()
}
