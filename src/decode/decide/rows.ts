/** What the head makes of some places of a question, the last of which points at one of those before it. */
export class Rows {
  readonly places: readonly number[]
  readonly #found: Float32Array[] = []

  constructor(places: readonly number[]) {
    this.places = places
  }

  /** The place that is to be read next; undefined: all have been. */
  get next(): number | undefined {
    return this.places[this.#found.length]
  }

  take(row: Float32Array): void {
    this.#found.push(row)
  }

  scores(): number[] {
    const [keys, query] = [this.#found.slice(0, -1), this.#found.at(-1)!]
    const width = query.length / 2
    const scale = 1 / Math.sqrt(width)
    return keys.map((row) => {
      let sum = 0
      for (let i = 0; i < width; i++) sum += query[i]! * row[width + i]!
      return sum * scale
    })
  }
}
