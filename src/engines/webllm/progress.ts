import type { InitProgressReport } from '@mlc-ai/web-llm'
import type { LoadReport } from '../../models/index.js'

const MIB = 2 ** 20
const PHASES = [
  [/^Fetching param cache/, 'download'],
  [/^Loading model from cache/, 'upload'],
  [/^Loading GPU shader modules/, 'compile'],
] as const

/** Reads WebLLM's reports, which say in a sentence what ours say in fields. */
export class ProgressReader {
  readonly #report: LoadReport
  #bytesTotal = 0

  constructor(report: LoadReport) {
    this.#report = report
  }

  /** The size of the weights, once a report has told it. */
  get bytesTotal(): number {
    return this.#bytesTotal
  }

  read = ({ progress, timeElapsed, text }: InitProgressReport): void => {
    const phase = PHASES.find(([pattern]) => pattern.test(text))?.[1]
    if (phase === undefined) return
    const [, files, filesTotal] = /\[(\d+)\/(\d+)\]/.exec(text) ?? []
    const mib = /: (\d+)MB/.exec(text)?.[1]
    // It gives the bytes so far, rounded up to MiB, and their share of all.
    if (mib !== undefined && progress > 0) {
      this.#bytesTotal = Math.max(this.#bytesTotal, Math.round((Number(mib) * MIB) / progress))
    }
    this.#report({
      phase,
      bytesLoaded: phase === 'compile' ? this.#bytesTotal : Math.round(progress * this.#bytesTotal),
      bytesTotal: this.#bytesTotal,
      filesLoaded: Number(files ?? 0),
      filesTotal: Number(filesTotal ?? 0),
      ...(progress > 0 && timeElapsed > 0 && { secondsLeft: (timeElapsed * (1 - progress)) / progress }),
      message: text,
    })
  }
}
