/** A cache of at least `most` and at most twice as many values: those that were used since the last half are carried over. */
export class Kept<K, V> {
  readonly #most: number
  #young = new Map<K, V>()
  #old = new Map<K, V>()

  constructor(most: number) {
    this.#most = most
  }

  get(key: K): V | undefined {
    const value = this.#young.get(key)
    if (value !== undefined) return value
    const before = this.#old.get(key)
    if (before !== undefined) this.set(key, before)
    return before
  }

  set(key: K, value: V): void {
    if (this.#young.size >= this.#most) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, value)
  }
}

/** What a key has, made where it has nothing yet. */
export function made<K, V>(
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
