import { keyBytes } from './key-bytes.js'

let made = 0

/** The keys that an object has used beyond its declared ones; grown by one at a time, shared between states. */
export class UsedKeys {
  readonly id = ++made
  readonly keys: readonly string[]
  /** The spellings that may not come again, declared ones included, sorted. */
  readonly taken: readonly string[]
  readonly #grown = new Map<string, UsedKeys>()

  private constructor(keys: readonly string[], taken: readonly string[]) {
    this.keys = keys
    this.taken = taken
  }

  static none(declared: readonly string[]): UsedKeys {
    return new UsedKeys([], declared)
  }

  with(key: string): UsedKeys {
    let grown = this.#grown.get(key)
    if (grown === undefined) {
      const bytes = keyBytes(key)
      const taken = this.taken.includes(bytes) ? this.taken : [...this.taken, bytes].sort()
      grown = new UsedKeys([...this.keys, key], taken)
      this.#grown.set(key, grown)
    }
    return grown
  }
}
