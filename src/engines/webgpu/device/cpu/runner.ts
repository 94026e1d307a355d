/** Runs programs on one thread or on all, whichever was faster for passes of that size. */
import type { Team } from './team.js'
import type { Kernels } from './wasm.js'

/** Runs of each way before the choice, and runs after which it is made anew: other programs come and go. */
const TRIALS = 3
const TERM = 512

interface Experience {
  runs: number
  alone: number
  together: number
}

export class Runner {
  readonly #kernels: Kernels
  readonly #team: Team
  readonly #control: number
  readonly #experience = new Map<number, Experience>()

  constructor(kernels: Kernels, team: Team, control: number) {
    this.#kernels = kernels
    this.#team = team
    this.#control = control
  }

  /** `size`: rows of the pass. The results do not depend on the threads, so the choice may follow the clock. */
  run(program: number, operations: number, size: number): void {
    const { threads } = this.#team
    if (threads === 1) {
      this.#kernels.run(this.#control, program, operations, 1)
      return
    }
    const experience = this.#of(size)
    const trial = experience.runs < TRIALS * 2
    const together = trial ? experience.runs % 2 === 1 : experience.together <= experience.alone
    const start = trial ? performance.now() : 0
    this.#kernels.run(this.#control, program, operations, together ? threads : 1)
    experience.runs++
    if (!trial) return
    const took = performance.now() - start
    if (together) experience.together = Math.min(experience.together, took)
    else experience.alone = Math.min(experience.alone, took)
  }

  #of(size: number): Experience {
    // Sizes within a factor of two are alike.
    const key = Math.floor(Math.log2(size))
    let experience = this.#experience.get(key)
    if (!experience || experience.runs >= TERM) {
      experience = { runs: 0, alone: Number.POSITIVE_INFINITY, together: Number.POSITIVE_INFINITY }
      this.#experience.set(key, experience)
    }
    return experience
  }
}
