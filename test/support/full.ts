/**
 * `LOCAL_V1_FULL=1` runs every case on every device and in every browser, as `npm run check:nightly` and the kit for GPU
 * machines do. Without it, where cases times devices are told to be many, each case runs on some device and each device
 * has some of every kind of case: what finds a fault of either, in a third of the time.
 */
export const FULL = process.env.LOCAL_V1_FULL === '1'

/**
 * How many draws a property test makes where all of them are as many as `full`: new ones each time, so that days add up.
 * `part` is another where something is held of all draws together, which are too few otherwise.
 */
export const runs = (full: number, part = 8): number => (FULL ? full : Math.ceil(full / part))

/** Of a list the part that has its turn, of so many; all of it where all is asked for. */
export const turns = <T>(list: readonly T[], turn: number, of: number): readonly T[] =>
  FULL ? list : list.filter((_, i) => i % of === turn % of)

/**
 * Of cases that hold many things in many combinations so many that each thing that one holds is held by one of them still:
 * the dearest are left out first. With `LOCAL_V1_FULL=1` all of them.
 */
export function covering<T>(
  cases: readonly T[],
  held: (of: T) => readonly string[],
  cost: (of: T) => number,
): readonly T[] {
  let left = cases
  for (const one of FULL ? [] : [...cases].sort((a, b) => cost(b) - cost(a))) {
    const others = left.filter((other) => other !== one)
    const still = new Set(others.flatMap(held))
    if (held(one).every((thing) => still.has(thing))) left = others
  }
  return left
}
