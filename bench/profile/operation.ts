/** What a model asks of a device, in words that people use, and what it costs at the least. */

export interface Operation {
  readonly name: string
  /** Bytes of weights that it reads. */
  readonly weights: number
  /** Bytes of keys and values that it reads. */
  readonly cache: number
  /** Bytes of logits that it goes over. */
  readonly logits: number
  readonly multiplications: number
  /** What the CPU device computes it with, without what prepares its input. */
  readonly functions: readonly string[]
}

const NOTHING: Operation = { name: 'other', weights: 0, cache: 0, logits: 0, multiplications: 0, functions: [] }

/** Which operation is being recorded: devices time what is smaller. */
export class Current {
  operation: Operation = NOTHING

  during<T>(operation: Partial<Operation>, record: () => T): T {
    this.operation = { ...NOTHING, ...operation }
    try {
      return record()
    } finally {
      this.operation = NOTHING
    }
  }
}

/** One dispatch of a GPU, or one operation of the CPU device, that has run. */
export interface Timed {
  readonly operation: string
  readonly kernel: string
  readonly milliseconds: number
  readonly bytes: number
  readonly multiplications: number
}

/** What takes the times of a device, pass by pass. */
export interface Timer {
  on: boolean
  /** A pass begins. */
  begin(): void
  /** What ran since it was last asked, in order. */
  collect(): Promise<readonly Timed[]>
  destroy(): void
}
