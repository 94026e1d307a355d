import type { LoadProgress } from '../../contract/index.js'

export type LoadReport = (progress: Omit<LoadProgress, 'model'>) => void

type Amounts = Omit<LoadProgress, 'model' | 'phase'>

/** Sums up the bytes of several files, and says how long the rest will take at the pace so far. */
export class Meter {
  readonly #report: (amounts: Amounts) => void
  readonly #bytesTotal: number
  readonly #filesTotal: number
  readonly #start = performance.now()
  #bytes = 0
  #files = 0
  /** Bytes that were here already, which say nothing of the pace. */
  #given = 0

  constructor(report: (amounts: Amounts) => void, bytesTotal: number, filesTotal: number) {
    this.#report = report
    this.#bytesTotal = bytesTotal
    this.#filesTotal = filesTotal
    this.#tell()
  }

  add(bytes: number): void {
    this.#bytes += bytes
    if (performance.now() - this.#start < 50) this.#given = this.#bytes
    this.#tell()
  }

  fileDone(): void {
    this.#files++
    this.#tell()
  }

  #tell(): void {
    const received = this.#bytes - this.#given
    const seconds = (performance.now() - this.#start) / 1000
    const left = received > 0 && seconds > 0.5 ? ((this.#bytesTotal - this.#bytes) * seconds) / received : undefined
    this.#report({
      bytesLoaded: this.#bytes,
      bytesTotal: Math.max(this.#bytesTotal, this.#bytes),
      filesLoaded: this.#files,
      filesTotal: this.#filesTotal,
      ...(left !== undefined && { secondsLeft: Math.max(0, left) }),
    })
  }
}
