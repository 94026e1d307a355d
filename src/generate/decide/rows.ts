/** What the head makes of some places of a question, the last of which points at one of those before it. */
export class Rows {
  readonly #places: readonly number[]
  readonly #found: Float32Array[] = []

  /** In their order. */
  constructor(places: readonly number[]) {
    this.#places = places
  }

  get first(): number {
    return this.#places[0]!
  }

  get last(): number {
    return this.#places.at(-1)!
  }

  /** Of any place, one after the other. */
  take(place: number, row: Float32Array): void {
    if (place === this.#places[this.#found.length]) this.#found.push(row)
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
