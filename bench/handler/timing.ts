/** The processor's time of this process, and the least of it over many short rounds in turn. */
import process from 'node:process'

/** Microseconds. */
export const clock = (): number => {
  const { user, system } = process.cpuUsage()
  return user + system
}

const ROUNDS = 15
/** May say itself how long it took, where not all of it counts. */
export type Work = () => Promise<number | undefined>

/** Microseconds per unit: the best of many short rounds, taken in turns. */
export async function best(works: Readonly<Record<string, Work>>, units: number): Promise<Record<string, number>> {
  const least: Record<string, number> = {}
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, work] of Object.entries(works)) {
      const began = clock()
      const measured = await work()
      const each = (measured ?? clock() - began) / units
      least[name] = Math.min(least[name] ?? Number.POSITIVE_INFINITY, each)
    }
  }
  return least
}

export const times =
  (count: number, once: Work): Work =>
  async () => {
    let sum: number | undefined
    for (let i = 0; i < count; i++) {
      const us = await once()
      if (us !== undefined) sum = (sum ?? 0) + us
    }
    return sum
  }
