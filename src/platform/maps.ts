/** A map that forgets what was not asked for longest. */
export class LruMap<K, V> {
  readonly #map = new Map<K, V>()
  readonly #limit: number
  readonly #weightOf: (key: K, value: V) => number
  #weight = 0

  /** `limit` is how much all entries may weigh: by default, how many there may be. */
  constructor(limit: number, weightOf: (key: K, value: V) => number = () => 1) {
    this.#limit = limit
    this.#weightOf = weightOf
  }

  get(key: K): V | undefined {
    const value = this.#map.get(key)
    if (value !== undefined) {
      this.#map.delete(key)
      this.#map.set(key, value)
    }
    return value
  }

  set(key: K, value: V): void {
    this.delete(key)
    this.#map.set(key, value)
    this.#weight += this.#weightOf(key, value)
    while (this.#weight > this.#limit) this.delete(this.#map.keys().next().value as K)
  }

  delete(key: K): void {
    const value = this.#map.get(key)
    if (this.#map.delete(key)) this.#weight -= this.#weightOf(key, value as V)
  }
}

/** The value of a key, made where it has none yet. */
export function getOrMake<K, V>(
  known: { get(key: K): V | undefined; set(key: K, value: V): unknown },
  key: K,
  make: () => V,
): V {
  let value = known.get(key)
  if (value === undefined) {
    value = make()
    known.set(key, value)
  }
  return value
}
