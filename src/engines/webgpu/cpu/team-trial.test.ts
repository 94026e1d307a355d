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
})
