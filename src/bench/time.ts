/** The clock of a run. */

export type Clock = 'wall' | 'processor'

const CLOCKS: Readonly<Record<Clock, () => number>> = {
  wall: () => performance.now(),
  processor: () => {
    const { user, system } = host.process!.cpuUsage!()
    return (user + system) / 1000
  },
}
const host = globalThis as { process?: { cpuUsage?(): { user: number; system: number } } }

let read = CLOCKS.wall

/**
 * `processor` counts the time that this process really computed, over all of its threads: with one thread a busy machine
 * shows nearly the same as an idle one. Only where there is Node's `process`.
 */
export function setClock(clock: Clock): void {
  if (clock === 'processor' && host.process?.cpuUsage === undefined) {
    throw new TypeError("The processor's time cannot be known here: take the clock on the wall.")
  }
  read = CLOCKS[clock]
}

/** Milliseconds. */
export function now(): number {
  return read()
}
