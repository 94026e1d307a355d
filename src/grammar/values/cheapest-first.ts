/** What is still to be looked at, the cheapest first; of those that cost the same the latest. */
export class CheapestFirst<T> {
  readonly #queues = new Map<number, T[]>()
  /** The costs of those queues, descending. */
  readonly #costs: number[] = []

  /** What costs `Infinity` is not to be looked at. */
  add(item: T, cost: number): void {
    if (cost === Infinity) return
    const queue = this.#queues.get(cost)
    if (queue !== undefined) {
      queue.push(item)
      return
    }
    this.#queues.set(cost, [item])
    let at = this.#costs.length
    while (at > 0 && this.#costs[at - 1]! < cost) at--
    this.#costs.splice(at, 0, cost)
  }

  next(): { readonly item: T; readonly cost: number } | undefined {
    for (let cost = this.#costs.at(-1); cost !== undefined; cost = this.#costs.at(-1)) {
      const item = this.#queues.get(cost)!.pop()
      if (item !== undefined) return { item, cost }
      this.#queues.delete(cost)
      this.#costs.pop()
    }
    return undefined
  }
}
