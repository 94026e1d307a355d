/** Runs programs on one thread or on all, whichever was faster for passes of that size. */
import type { Team } from './team.js'
import type { Kernels } from './wasm.js'

/** Runs of each way before the choice, the first of which does not count: code is still being compiled. */
const TRIALS = 4
/** Runs after which the choice is made anew: other programs, which keep cores busy, come and go. */
const TERM = 256

interface Experience {
  runs: number
  /** Milliseconds of the trials. All of them, not the best: one thread held up now and then holds up the others. */
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
    if (trial && experience.runs > 1) {
      const took = performance.now() - start
      if (together) experience.together += took
      else experience.alone += took
    }
    experience.runs++
  }

  #of(size: number): Experience {
    // Sizes within a factor of two are alike.
    const key = Math.floor(Math.log2(size))
    let experience = this.#experience.get(key)
    if (!experience || experience.runs >= TERM) {
      experience = { runs: 0, alone: 0, together: 0 }
      this.#experience.set(key, experience)
    }
    return experience
  }
}
