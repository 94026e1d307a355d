/** Work that pauses wherever it may be left. */
export type Slices<T> = Generator<void, T, void>

/** Few enough that to look at so many takes a millisecond or so. */
const TOGETHER = 500

/** `list.map(one)`, with a pause after every so many. */
export function* mapped<T, U>(list: readonly T[], one: (item: T, place: number) => U): Slices<U[]> {
  const made: U[] = []
  for (let place = 0; place < list.length; place++) {
    if (place % TOGETHER === TOGETHER - 1) yield
    made.push(one(list[place]!, place))
  }
  return made
}

/** Does the work at once, without a pause. */
export function atOnce<T>(work: Slices<T>): T {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}
