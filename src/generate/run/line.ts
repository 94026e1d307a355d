import type { TextTokens, VectorModel } from '../../contract/index.js'
import { beginSteps, breathe, getOrMake } from '../../platform/index.js'
import { modelFailed, notNumbers } from './failure.js'

interface Job {
  /** Undefined: nobody says. */
  readonly caller: string | undefined
  readonly texts: readonly TextTokens[]
  readonly vectors: Float32Array[]
  /** The text that is next. */
  next: number
  over: boolean
  readonly settle: (error?: unknown) => void
}

/**
 * Whose texts a model computes next: of all callers who wait, one text each in turn, so that nobody waits for another's
 * whole list, or for all lists of another. It alone asks the model.
 */
export class VectorLine {
  readonly #model: VectorModel
  #jobs: Job[] = []
  #work: Promise<void> | undefined
  #failure: unknown

  constructor(model: VectorModel) {
    this.#model = model
  }

  /** What made the model unusable; every later call fails with it. */
  get failure(): unknown {
    return this.#failure
  }

  /** A vector for each text, none of which is longer than the model's context. Left as soon as the signal aborts. */
  run(texts: readonly TextTokens[], signal: AbortSignal, caller?: string): Promise<readonly Float32Array[]> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    return new Promise((resolve, reject) => {
      const leave = () => job.settle(signal.reason)
      const job: Job = {
        caller,
        texts,
        vectors: [],
        next: 0,
        over: false,
        settle: (error) => {
          if (job.over) return
          job.over = true
          signal.removeEventListener('abort', leave)
          if (error === undefined) resolve(job.vectors)
          else reject(error)
        },
      }
      signal.addEventListener('abort', leave)
      if (signal.aborted) leave()
      else if (texts.length === 0) job.settle()
      else {
        this.#jobs.push(job)
        this.#work ??= this.#loop()
      }
    })
  }

  /** Fails whatever runs. The model itself is the caller's. */
  stop(error: unknown): void {
    this.#failure ??= error
    for (const job of this.#jobs) job.settle(error)
  }

  /** Resolves once no batch is running. */
  async stopped(): Promise<void> {
    await this.#work
  }

  async #loop(): Promise<void> {
    // The caller that woke the loop goes on first: calls that come together start together.
    await Promise.resolve()
    const endSteps = beginSteps()
    try {
      for (;;) {
        this.#jobs = this.#jobs.filter((job) => !job.over)
        if (this.#jobs.length === 0 || this.#failure !== undefined) return
        await this.#batch()
        await breathe()
      }
    } catch (cause) {
      this.stop(modelFailed(cause))
    } finally {
      endSteps()
      this.#work = undefined
    }
  }

  async #batch(): Promise<void> {
    const { batchTokens, batchTexts } = this.#model
    const taken: { job: Job; index: number }[] = []
    let room = batchTokens
    const fits = ({ texts, next }: Job) => (texts[next]?.tokens.length ?? Number.POSITIVE_INFINITY) <= room
    const lines = linesOf(this.#jobs)
    // Whoever comes first finds room, whatever the length; who that is changes with every batch.
    for (let waiting = lines; waiting.length > 0; ) {
      const more: Job[][] = []
      for (const line of waiting) {
        const at = line.findIndex(fits)
        if (at < 0 || taken.length === batchTexts) continue
        // A caller's own lists take turns too.
        const [job] = line.splice(at, 1) as [Job]
        room -= job.texts[job.next]!.tokens.length
        taken.push({ job, index: job.next++ })
        line.push(job)
        more.push(line)
      }
      waiting = more
    }
    this.#jobs = [...lines.slice(1), lines[0]!].flat()
    const vectors = await this.#model.vectors(taken.map(({ job, index }) => job.texts[index]!))
    taken.forEach(({ job, index }, i) => {
      const vector = vectors[i]!
      if (!vector.every(Number.isFinite)) job.settle(notNumbers())
      job.vectors[index] = vector
    })
    for (const { job } of taken) if (job.next === job.texts.length) job.settle()
  }
}

/** The jobs of each caller, in the order in which they stand; where nobody says, each is one of its own. */
function linesOf(jobs: readonly Job[]): Job[][] {
  const lines = new Map<string | Job, Job[]>()
  for (const job of jobs) {
    const key = job.caller ?? job
    getOrMake(lines, key, () => []).push(job)
  }
  return [...lines.values()]
}
