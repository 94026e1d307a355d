/** Places on the device where sampled tokens wait for the pass that continues them. */
export class Slots {
  readonly #free: number[]

  constructor(count: number) {
    this.#free = Array.from({ length: count }, (_, i) => count - 1 - i)
  }

  take(count: number): number[] {
    if (count > this.#free.length) throw new RangeError('More steps at once than the model has slots for.')
    return this.#free.splice(this.#free.length - count, count)
  }

  give(slots: readonly number[]): void {
    this.#free.push(...slots)
  }
}
