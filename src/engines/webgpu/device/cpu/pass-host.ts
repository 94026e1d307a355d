import type { DeviceMemory } from './memory.js'
import type { Program } from './program.js'
import type { Runner } from './runner.js'

/** What a pass needs of its device. */
export interface PassHost {
  readonly memory: DeviceMemory
  readonly runner: Runner
  readonly program: Program
  readonly threads: number
  readonly activationBlockBytes: number
  /** Called once the pass is over; lets the event loop turn now and then. */
  done(): Promise<void>
}
