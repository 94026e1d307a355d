import { V1Error } from '../../contract/index.js'
import { Entrance } from '../../platform/index.js'

/**
 * The memory that bodies on their way may take together. Where it runs out, the oldest unfinished body of whoever holds
 * the most is given up: a caller who opens a thousand and finishes none displaces nobody else.
 */
export class Bodies {
  readonly limit: number
  /** The oldest first. */
  readonly arriving = new Set<BodyRoom>()
  /** Bytes held now, by bodies that are not read to their end. */
  held = 0
  /** Pieces arrive in turns, as requests do: three hundred at once keep nobody waiting for all of them. */
  readonly entrance = new Entrance()
  /** Of each caller the last one that is read, or waits for that. */
  readonly #reading = new Map<string, Promise<void>>()

  constructor(limit: number) {
    this.limit = limit
  }

  begin(caller: string): BodyRoom {
    const body = new BodyRoom(this, caller)
    this.arriving.add(body)
    return body
  }

  /** Gives up the one whose turn it is. */
  displace(): void {
    const heldBy = new Map<string, number>()
    for (const { caller, held } of this.arriving) heldBy.set(caller, (heldBy.get(caller) ?? 0) + held)
    let most = 0
    for (const held of heldBy.values()) most = Math.max(most, held)
    const oldest = [...this.arriving].find(({ caller, held }) => held > 0 && heldBy.get(caller) === most)!
    oldest.done()
    const message = `More than ${this.limit} bytes of unfinished requests are held here, most of them yours: your oldest request was dropped. Send fewer at once.`
    oldest.giveUp(new V1Error(503, message, { code: 'too_many_bodies', retryAfter: 1 }))
  }

  /**
   * Reads one large body after the other of each caller. All that is read at once is in memory at once, and V8 has the
   * names of all fields in one table: with those of sixteen megabytes it stops for 60 ms to make a larger one.
   */
  async inLine<T>(caller: string, read: () => Promise<T>): Promise<T> {
    const before = this.#reading.get(caller)
    const reading = before ? before.then(read) : read()
    const over = reading.then(
      () => {},
      () => {},
    )
    this.#reading.set(caller, over)
    try {
      return await reading
    } finally {
      if (this.#reading.get(caller) === over) this.#reading.delete(caller)
    }
  }
}

/** What one body takes of it, until somebody gives it up: its client, the clock, or who needs its room. */
export class BodyRoom {
  held = 0
  readonly caller: string
  /** Ends what is waited for. */
  onGivenUp: ((reason: unknown) => void) | undefined
  readonly #bodies: Bodies
  #givenUp: { readonly reason: unknown } | undefined

  constructor(bodies: Bodies, caller: string) {
    this.#bodies = bodies
    this.caller = caller
  }

  giveUp(reason: unknown): void {
    if (this.#givenUp) return
    this.#givenUp = { reason }
    this.onGivenUp?.(reason)
  }

  throwIfGivenUp(): void {
    if (this.#givenUp) throw this.#givenUp.reason
  }

  /** To wait for before each piece is read, if anything. */
  turn(): Promise<void> | undefined {
    return this.#bodies.entrance.enter(this.caller)
  }

  /** So many bytes are held for it now. */
  hold(bytes: number): void {
    // What is over, or was given up, may still be on its way to hear of it: nobody would give that back.
    const bodies = this.#bodies
    if (!bodies.arriving.has(this)) return
    bodies.held += bytes - this.held
    this.held = bytes
    while (bodies.held > bodies.limit) bodies.displace()
  }

  done(): void {
    if (this.#bodies.arriving.delete(this)) this.#bodies.held -= this.held
  }
}

/** Encodings of bodies beside none at all, as the platform's own inflating calls them. */
const FORMATS: ReadonlyMap<string, CompressionFormat> = new Map([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
])

export const ENCODINGS: readonly string[] = ['identity', ...FORMATS.keys()]

/** Whether bodies in this encoding can be read here: every platform but the oldest inflates by itself. */
export function isReadable(encoding: string): boolean {
  return encoding === 'identity' || (FORMATS.has(encoding) && typeof DecompressionStream === 'function')
}

/** The pieces of a body as it was before it was packed, in one of `FORMATS`; each is inflated only when the one before it was taken. */
export async function* inflated(bytes: Uint8Array, encoding: string): AsyncGenerator<Uint8Array> {
  const packed = new Blob([bytes as Uint8Array<ArrayBuffer>])
  const reader = packed
    .stream()
    .pipeThrough(new DecompressionStream(FORMATS.get(encoding)!))
    .getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        const message = `The body of your request is not what its Content-Encoding '${encoding}' says.`
        throw new V1Error(400, message, { code: 'invalid_encoding', cause })
      })
      if (done) return
      yield value
    }
  } finally {
    reader.cancel().catch(() => undefined)
  }
}
