import type { FunctionName } from './abi.js'
import type { DeviceMemory } from './memory.js'
import type { PassProgram } from './program.js'
import type { Runner } from './runner.js'
import type { KernelVariant } from './wasm.js'

/** Takes the times of single operations, which run one by one then: see `bench/profile`. */
export interface OperationProfiler {
  /** Whether the pass that is being submitted is timed. */
  readonly on: boolean
  /** An operation was recorded. */
  recorded(name: FunctionName): void
  /** Runs operation `index` of the pass, or the sampling of its rows. */
  run<T>(index: number | 'sample', operation: () => T): T
}

/** What a pass needs of its device. */
export interface CpuPassHost {
  readonly memory: DeviceMemory
  readonly runner: Runner
  readonly program: PassProgram
  readonly threads: number
  readonly variant: KernelVariant
  readonly profiler?: OperationProfiler
  /** Called once the pass is over; lets the event loop turn now and then. */
  done(): Promise<void>
}
