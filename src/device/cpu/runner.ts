/** Runs programs on one thread or on all, whichever was faster for passes of that size. */
import { V1Error } from '../../contract/index.js'
import { beat } from '../../platform/index.js'
import type { DeviceMemory } from './memory.js'
import { OPERATION_BYTES, wholeOperations } from './program.js'
import type { Team } from './team.js'
import { TeamTrial } from './team-trial.js'
import type { Kernels } from './wasm.js'

/**
 * Rows times operations that are run before this thread shows that it lives: a prompt on a slow processor takes many
 * seconds, during which the event loop stands.
 */
const SHOWN_EACH = 1024
/** What threads do for themselves stays with what follows it. */
const LEAST = 4

/** Operations that are followed together at a time: more than the layers of any model but the deepest have. */
const TOGETHER = 512
/** Room for them, which nothing else uses: a thread that was held up may still look at it. */
export const TOGETHER_BYTES = TOGETHER * OPERATION_BYTES

interface RunnerParts {
  readonly kernels: Kernels
  readonly memory: DeviceMemory
  readonly team: Team
  /** Where the team's control block stands, and room of `TOGETHER_BYTES`. */
  readonly control: number
  readonly room: number
  /** A thread has failed: what is in memory means nothing any more. */
  readonly onLost: (error: V1Error) => void
}

export class Runner {
  readonly #parts: RunnerParts
  /** By size of the pass: those within a factor of two are alike. */
  readonly #choices = new Map<number, TeamTrial>()

  constructor(parts: RunnerParts) {
    this.#parts = parts
  }

  /** `size`: rows of the pass. The results do not depend on the threads, so the choice may follow the clock. */
  run(program: number, operations: number, size: number): void {
    // A single operation is one that a profiler looks at: what threads do for themselves belongs to the next.
    const most = Math.max(LEAST, Math.floor(SHOWN_EACH / size))
    if (this.#parts.team.threads === 1 || operations === 1) {
      this.#alone(program, operations, most)
      return
    }
    const key = Math.floor(Math.log2(size))
    const choice = this.#choices.get(key) ?? new TeamTrial()
    this.#choices.set(key, choice)
    const start = performance.now()
    if (choice.next()) this.#together(program, operations, Math.min(TOGETHER, most))
    else this.#alone(program, operations, most)
    choice.took(performance.now() - start)
  }

  /** A single operation, on all threads: one that is known to be worth it. */
  share(program: number): void {
    if (this.#parts.team.threads === 1) this.#alone(program, 1)
    else this.#together(program, 1)
  }

  #alone(program: number, operations: number, most = operations): void {
    this.#guarded(() => {
      for (let from = 0; from < operations; from += most) {
        this.#parts.kernels.run(program + from * OPERATION_BYTES, Math.min(most, operations - from))
        beat()
      }
      return true
    })
  }

  #together(program: number, operations: number, most = TOGETHER): void {
    const { kernels, memory, team, control, room } = this.#parts
    for (let from = 0; from < operations; ) {
      const at = program + from * OPERATION_BYTES
      const count = wholeOperations(memory.i32, at, Math.min(most, operations - from))
      // Else a thread that was held up still looks at what it was to do last.
      if (kernels.isSettled(control)) {
        memory.u8.copyWithin(room, at, at + count * OPERATION_BYTES)
        this.#guarded(() => kernels.runTogether(control, room, count, team.threads) !== 0)
      } else this.#alone(at, count)
      beat()
      from += count
    }
  }

  /** After a failure on whatever thread nobody knows what memory holds: the device is lost. */
  #guarded(run: () => boolean): void {
    let cause: unknown
    try {
      if (run()) return
    } catch (error) {
      cause = error
    }
    const { kernels, control, onLost } = this.#parts
    kernels.fail(control)
    const error = new V1Error(503, `The CPU device has failed${cause ? `: ${(cause as Error).message}` : ''}.`, {
      code: 'device_lost',
      retryAfter: 1,
      cause,
    })
    onLost(error)
    throw error
  }
}
