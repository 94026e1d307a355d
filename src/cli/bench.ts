import { open, writeFile } from 'node:fs/promises'
import process from 'node:process'
import { coreCandidate } from '../../bench/harness/candidates.js'
import { chartOf } from '../../bench/harness/chart.js'
import { machine, processBytes } from '../../bench/harness/machine.js'
import { run } from '../../bench/harness/rounds.js'
import type { Settings } from '../../bench/harness/scenarios/scenario.js'
import { settingsOf } from '../../bench/harness/settings.js'
import type { Candidate } from '../../bench/harness/subject.js'
import { tableOf } from '../../bench/harness/table.js'
import type { DevicePreference } from '../engines/webgpu/index.js'
import { NANO, nanoFolder } from './engine.js'
import { Fault } from './fault.js'
import { note, paint } from './terminal.js'

export interface BenchOptions extends Partial<Omit<Settings, 'batches'>> {
  readonly batch?: readonly number[]
  readonly model?: readonly string[]
  readonly device?: readonly DevicePreference[]
  readonly threads?: number
  readonly cache?: string
  readonly quick?: boolean
  readonly json?: string
  readonly svg?: string
}

/** Measures, prints the table, and writes what was asked for. `more` stand beside our own core in every round. */
export async function bench(options: BenchOptions, version: string, more: readonly Candidate[] = []): Promise<void> {
  const candidates = [...ownCandidates(options), ...more]
  // A minute of measuring should not end at a folder that is not there.
  for (const file of [options.json, options.svg]) if (file) await writable(file)
  const settings = settingsOf({ ...options, batches: options.batch })
  const report = await run(candidates, settings, { version, machine, processBytes, progress })
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
  process.stdout.write(tableOf(report))
  if (options.json) await writeFile(options.json, `${JSON.stringify(report, null, 2)}\n`)
  if (options.svg) await writeFile(options.svg, chartOf(report))
}

/** Every model on every device. */
function ownCandidates({ model = [NANO], device = ['auto'], threads, cache }: BenchOptions): Candidate[] {
  const nameOf = (id: string, where: string) =>
    [...(model.length > 1 ? [id] : []), ...(device.length > 1 ? [where] : [])].join(' ') || 'local-v1'
  const candidate = (id: string, where: DevicePreference) =>
    coreCandidate({
      name: nameOf(id, where),
      model: id === NANO ? { id: NANO, from: nanoFolder() } : id,
      device: where,
      threads,
      cache,
    })
  try {
    return model.flatMap((id) => device.map((where) => candidate(id, where)))
  } catch (error) {
    // A name that is no model.
    throw error instanceof TypeError ? new Fault(error.message) : error
  }
}

function progress(message: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${paint('dim', message.slice(0, 99))}`)
  else note(message)
}

async function writable(file: string): Promise<void> {
  const handle = await open(file, 'a').catch((cause: unknown) => {
    throw new Fault(`${file} cannot be written: ${(cause as Error).message}`, 1)
  })
  await handle.close()
}
