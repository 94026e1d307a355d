/** A run that was asked for in one process and happens in another: a page, Deno. */
import type { DevicePreference, ModelOptions } from '../engines/index.js'
import { coreCandidates } from './candidates.js'
import { machine, processBytes } from './machine.js'
import type { BenchReport } from './report.js'
import { run } from './rounds.js'
import type { Settings } from './scenarios/scenario.js'
import type { Candidate } from './subject.js'

/** What crosses over: plain JSON. */
export interface BenchOrder {
  readonly version: string
  readonly models: readonly (string | ModelOptions)[]
  readonly devices: readonly DevicePreference[]
  readonly threads?: number
  readonly revectorize?: boolean
  readonly cache?: string
  /** Whose words made-up weights extract in: a model's folder on this machine. */
  readonly words?: ModelOptions | undefined
  readonly settings: Settings
}

export function carryOut(
  { version, settings, ...options }: BenchOrder,
  progress: (message: string) => void,
  more: readonly Candidate[] = [],
): Promise<BenchReport> {
  return run([...coreCandidates(options), ...more], settings, { version, machine, processBytes, progress })
}
