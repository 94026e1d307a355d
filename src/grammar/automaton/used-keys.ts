import { getOrMake } from '../../platform/index.js'
import { withText } from '../automata/ascending.js'
import { Kept } from '../kept.js'
import { keyBytes } from './key-bytes.js'

let made = 0

/** Sets of keys that are kept of one shape: each document brings its own. */
const KEPT = 500

/** The keys that an object has used beyond its declared ones; grown by one at a time, shared between states. */
export class UsedKeys {
  readonly id = ++made
  /** Sorted. */
  readonly keys: readonly string[]
  /** The spellings that may not come again, declared ones included, sorted. */
  readonly taken: readonly string[]
  readonly #known: Kept<string, UsedKeys>

  private constructor(keys: readonly string[], taken: readonly string[], known: Kept<string, UsedKeys>) {
    this.keys = keys
    this.taken = taken
    this.#known = known
  }

  static none(declared: readonly string[]): UsedKeys {
    return new UsedKeys([], declared, new Kept(KEPT))
  }

  with(key: string): UsedKeys {
    const name = `${this.id},${key}`
    return getOrMake(
      this.#known,
      name,
      () => new UsedKeys(withText(this.keys, key), withText(this.taken, keyBytes(key)), this.#known),
    )
  }
}
