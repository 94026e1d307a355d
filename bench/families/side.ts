/** What is asked of our core and of llama.cpp alike: to read a prompt, and to write behind what was read. */

/** All but `fill` and `close` say tokens a second. */
export interface Side {
  read(length: number): Promise<number>
  /** What is written next stands behind so many tokens; what was read for fewer is read no more. */
  fill(length: number): Promise<void>
  write(tokens: number): Promise<number>
  close(): Promise<void>
}

export interface SideOptions {
  readonly threads: number
  readonly context: number
  /** Milliseconds. */
  readonly clock: () => number
  /** Kernels in 256 bits. @default false */
  readonly revectorize?: boolean
}

/** Ordinary tokens of any of the vocabularies. */
export const text = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => 300 + ((from + i) % 30_000))
