/** Runs programs on one thread or on all, whichever was faster for passes of that size. */
import { V1Error } from '../../contract/index.js'
import { beat, getOrMake } from '../../platform/index.js'
import type { DeviceMemory } from './memory.js'
import { OPERATION_BYTES, wholeOperations } from './program.js'
import type { Team } from './team.js'
import type { Kernels } from './wasm.js'

/** Alone or together: whichever took less time when both were tried. */

/** Runs of each way before the choice. The first of each does not count: threads are still asleep. */
const TRIALS = 4
/**
 * Runs after which the choice is made anew, at first and at most: code is compiled better and better while it runs, and
 * other programs, which keep cores busy, come and go.
 */
const TERMS = { first: 32, longest: 1024 }
/** Milliseconds from which on nothing is tried alone: threads always help, and a trial would be felt. */
const LONG = 100
/** Where all take no more of the time of one, nothing is tried alone before the longest term: each such run is felt. */
const SURE = 0.7
/** Less gain is chance, or comes from others not having taken part; when they do, they may be in the way. */
const WORTH = 0.95
/** Runs together of which the mean is looked at: one that is held up is chance, many are a reason to stay alone. */
const WATCHED = 16
/** How much longer than alone they may take before threads are left. */
const PARDON = 1.25
/** What a single run counts at most, in runs alone: it may have met the garbage collector, or code being compiled. */
const OUTLIER = 6

export class TeamTrial {
  #term = TERMS.first
  #runs = 0
  #alone: number[] = []
  #together: number[] = []
  #chosen = false
  #sure = false
  /** Milliseconds of a run alone. */
  #limit = 0
  #spent = 0
  #watched = 0

  /** Whether the next run is done together; tell `took` how long it took. */
  next(): boolean {
    if (this.#runs === this.#term) {
      const known = this.#sure && this.#chosen && this.#term < TERMS.longest
      this.#runs = known ? TRIALS * 2 : 0
      this.#term = Math.min(TERMS.longest, this.#term * 2)
    }
    const run = this.#runs
    return run < TRIALS * 2 ? run < TRIALS : this.#chosen
  }

  took(milliseconds: number): void {
    const run = this.#runs++
    if (run >= TRIALS * 2) {
      if (this.#chosen) this.#watch(milliseconds)
      return
    }
    const times = run < TRIALS ? this.#together : this.#alone
    if (run % TRIALS === 0) times.length = 0
    else times.push(milliseconds)
    if (run === TRIALS - 1 && median(times) >= LONG) {
      this.#choose(Number.POSITIVE_INFINITY)
      this.#runs = TRIALS * 2
    } else if (run === TRIALS * 2 - 1) this.#choose(median(times))
  }

  #choose(alone: number): void {
    this.#limit = alone
    const together = median(this.#together)
    this.#chosen = together < alone * WORTH
    this.#sure = together < alone * SURE
    this.#spent = 0
    this.#watched = 0
  }

  #watch(milliseconds: number): void {
    this.#spent += Math.min(milliseconds, this.#limit * OUTLIER)
    if (++this.#watched < WATCHED) return
    if (this.#spent / WATCHED > this.#limit * PARDON) this.#chosen = false
    this.#spent = 0
    this.#watched = 0
  }
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1]!
}

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

/** Kernels, and threads that run them together. */
export interface Crew {
  readonly kernels: Kernels
  readonly team: Team
  /** Where the team's control block stands, and room of `TOGETHER_BYTES`. */
  readonly control: number
  readonly room: number
}

interface RunnerParts extends Crew {
  readonly memory: DeviceMemory
  /** A thread has failed: what is in memory means nothing any more. */
  readonly onLost: (error: V1Error) => void
}

export class Runner {
  #parts: RunnerParts
  /** By size of the pass: those within a factor of two are alike. */
  readonly #choices = new Map<number, TeamTrial>()

  constructor(parts: RunnerParts) {
    this.#parts = parts
  }

  /** Goes on with others, which come to the same. When threads help is found anew. */
  take(crew: Crew): void {
    this.#parts = { ...this.#parts, ...crew }
    this.#choices.clear()
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
    const choice = getOrMake(this.#choices, key, () => new TeamTrial())
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
