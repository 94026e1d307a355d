import { inTurns, isSmall, type Slices, spelled } from '../../platform/index.js'
import { readableOf } from '../stream/readable.js'

/** A document that is still to be spelled: what a model or a store gives back may be many megabytes. */
export class Json {
  readonly #value: unknown

  constructor(value: unknown) {
    this.#value = value
  }

  /** Whole, where it is short; a long one as it is read, each piece in a turn of its own, this caller's. */
  sent(caller: string | undefined): string | ReadableStream<Uint8Array> {
    if (isSmall(this.#value)) return JSON.stringify(this.#value)
    const pieces = spelled(this.#value)
    return readableOf({
      pull: () => inTurns(nextOf(pieces), undefined, caller),
      cancel: () => void pieces.return(),
    })
  }
}

/** Also the first in a turn of its own: hundreds may be read at once. */
function* nextOf(pieces: Generator<string, void, void>): Slices<string | undefined> {
  yield
  return pieces.next().value ?? undefined
}
