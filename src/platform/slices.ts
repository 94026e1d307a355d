/** Work that pauses wherever it may be left. */
export type Slices<T> = Generator<void, T, void>

/** Does the work at once, without a pause. */
export function atOnce<T>(work: Slices<T>): T {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}
