/** Chance that is the same on every machine: weights and prompts are made from names and numbers alone. */
export class Random {
  #state: number

  constructor(seed: string) {
    // FNV-1a: a letter more or less gives other numbers.
    let hash = 2166136261
    for (const character of seed) hash = Math.imul(hash ^ character.charCodeAt(0), 16777619)
    this.#state = hash >>> 0
  }

  /** Of [0, 1), by mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** Of the standard normal distribution. */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next())
  }

  below(end: number): number {
    return Math.floor(this.next() * end)
  }
}
