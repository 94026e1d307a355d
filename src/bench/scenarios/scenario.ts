import type { BenchReading } from '../report.js'
import type { BenchPart, Subject } from '../subject.js'
import type { Clock } from '../time.js'

export interface Settings {
  /** What is measured. */
  readonly only: readonly BenchPart[]
  /** Tokens of the prompts. */
  readonly promptLengths: readonly number[]
  /** Answers side by side. */
  readonly batches: readonly number[]
  /** Tokens of each answer whose speed is measured. */
  readonly tokens: number
  /** Tokens of the state that is decided about, and questions about it. */
  readonly decisions: readonly [stateTokens: number, questions: number]
  /** Whether a strict document of the same answers stands beside decisions. */
  readonly documents: boolean
  /** Measured rounds; one more before them warms up. */
  readonly rounds: number
  /** A round asks again until so many seconds have gone by: small models answer faster than a machine is steady. */
  readonly leastSeconds: number
  /** `processor`: the time that the process computed, for machines that are busy with other things. */
  readonly clock: Clock
}

export interface Scenario {
  readonly part: BenchPart
  readonly name: string
  /** Whether it can be asked of this subject. */
  suits(subject: Subject): boolean
  run(subject: Subject): Promise<readonly BenchReading[]>
}

/** Whether an answer fits; a subject that does not say how long its context is takes everything. */
export function fits({ about }: Subject, tokens: number): boolean {
  // A prompt may come out a little longer than asked for.
  return about.contextLength === 0 || tokens * 1.1 + 16 <= about.contextLength
}

let last = 1000
/** The number of a prompt that nobody has seen. */
export function freshPrompt(): number {
  return ++last
}
