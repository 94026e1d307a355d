import { describe, expect, it } from 'vitest'
import { TeamTrial } from './team-trial.js'

/** How many of `runs` are done together, where a run takes what `alone` and `together` say. */
function chosen(choice: TeamTrial, runs: number, alone: () => number, together: () => number): number {
  let count = 0
  for (let i = 0; i < runs; i++) {
    const shared = choice.next()
    if (shared) count++
    choice.took(shared ? together() : alone())
  }
  return count
}

describe('the choice of threads', () => {
  it('is what takes less time, but for a few trials', () => {
    const faster = chosen(
      new TeamTrial(),
      1000,
      () => 4,
      () => 2,
    )
    const slower = chosen(
      new TeamTrial(),
      1000,
      () => 4,
      () => 5,
    )
    expect(faster).toBeGreaterThan(900)
    expect(slower).toBeLessThan(100)
  })

  it('does not hang on a single run that was held up', () => {
    let trial = 0
    expect(
      chosen(
        new TeamTrial(),
        60,
        () => 4,
        () => (trial++ === 2 ? 50 : 2),
      ),
    ).toBeGreaterThan(50)
  })

  it('of long runs tries none alone', () => {
    expect(
      chosen(
        new TeamTrial(),
        1000,
        () => 1000,
        () => 300,
      ),
    ).toBe(1000)
  })

  it('is taken back where runs are held up often', () => {
    let run = 0
    expect(
      chosen(
        new TeamTrial(),
        1000,
        () => 4,
        () => (run++ % 5 === 4 ? 50 : 2),
      ),
    ).toBeLessThan(300)
  })

  it('is made anew when things have changed', () => {
    const choice = new TeamTrial()
    chosen(
      choice,
      500,
      () => 4,
      () => 9,
    )
    chosen(
      choice,
      1000,
      () => 4,
      () => 2,
    )
    expect(
      chosen(
        choice,
        100,
        () => 4,
        () => 2,
      ),
    ).toBeGreaterThan(80)
  })

  /** Which runs are done together, where the nth run together takes `together(n)`, and alone `alone(n)`. */
  function ways(runs: number, alone: (nth: number) => number, together: (nth: number) => number): boolean[] {
    const choice = new TeamTrial()
    const counts = { alone: 0, together: 0 }
    return Array.from({ length: runs }, () => {
      const shared = choice.next()
      choice.took(shared ? together(counts.together++) : alone(counts.alone++))
      return shared
    })
  }
  const shareOf = (done: readonly boolean[]) => done.filter(Boolean).length / done.length

  it('tries both ways as often, again and again, after terms that double until they are long enough', () => {
    const done = ways(
      8192,
      () => 4,
      () => 2,
    )
    const trials = done.indexOf(false)
    const starts = done.flatMap((shared, run) => (!shared && done[run - 1] ? [run] : []))
    for (const start of starts) {
      expect(done.slice(start, start + trials)).toEqual(Array(trials).fill(false))
      expect(done[start + trials]).toBe(true)
    }
    const terms = starts.slice(1).map((start, i) => start - starts[i]!)
    const longest = Math.max(...terms)
    terms.slice(1).forEach((term, i) => {
      expect(term).toBe(Math.min(longest, 2 * terms[i]!))
    })
    expect(terms.at(-1)).toBe(terms.at(-2))
    // Things change within minutes: what was found out a thousand passes ago is old.
    expect(longest).toBeLessThan(2000)
  })

  it('does not count the first of each way, which wakes the threads', () => {
    const first = (usual: number) => (nth: number) => (nth < 2 ? 50 : usual)
    expect(shareOf(ways(32, () => 4, first(2)))).toBeGreaterThan(0.5)
    expect(shareOf(ways(32, first(4), () => 5))).toBeLessThan(0.5)
  })

  it('goes by the run in the middle, by its number', () => {
    const spread = [9, 9, 10, 11]
    expect(
      shareOf(
        ways(
          32,
          () => 10.8,
          (nth) => spread[nth % 4]!,
        ),
      ),
    ).toBeGreaterThan(0.5)
  })

  it('tries alone all the same where a single run was long, or both are', () => {
    const held = (nth: number) => (nth === 1 ? 500 : 5)
    expect(shareOf(ways(32, () => 4, held))).toBeLessThan(0.5)
    const close = ways(
      32,
      () => 101,
      () => 99,
    )
    expect(shareOf(close)).toBeLessThan(0.5)
  })

  it('tries alone again once runs that were long have become short', () => {
    const done = ways(
      3100,
      () => 4,
      (nth) => (nth < 2000 ? 1000 : 5),
    )
    expect(shareOf(done.slice(0, 2000))).toBe(1)
    expect(shareOf(done.slice(-50))).toBe(0)
  })

  it('takes a gain of a few percent for chance', () => {
    const with40 = (together: number) =>
      ways(
        32,
        () => 40,
        () => together,
      )
    expect(shareOf(with40(39))).toBeLessThan(0.5)
    expect(shareOf(with40(36))).toBeGreaterThan(0.5)
  })

  it('keeps threads that are held up once in a while, however long, and leaves those that have become slow', () => {
    const later = (together: (nth: number) => number) => {
      const choice = new TeamTrial()
      let shared = 0
      // The longest term by far is the last of these.
      for (let run = 0; run < 900; run++) {
        const isShared = choice.next()
        if (run >= 600 && isShared) shared++
        choice.took(isShared ? (run < 520 ? 2 : together(run)) : 4)
      }
      return shared
    }
    expect(later((run) => (run % 16 === 0 ? 5000 : 2))).toBe(300)
    // A little slower than alone is pardoned until the next trial, half as long again is not.
    expect(later(() => 4.5)).toBe(300)
    expect(later(() => 6)).toBe(0)
  })
})
