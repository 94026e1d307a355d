import { V1Error } from '../../contract/index.js'
import { Entrance } from '../../platform/index.js'

/**
 * The memory that bodies on their way may take together. Where it runs out, the oldest unfinished body of whoever holds
 * the most is given up: a caller who opens a thousand and finishes none displaces nobody else.
 */
export class Bodies {
  readonly #limit: number
  /** The oldest first. */
  readonly #arriving = new Set<BodyRoom>()
  /** Pieces arrive in turns, as requests do: three hundred at once keep nobody waiting for all of them. */
  readonly entrance = new Entrance()
  /** Of each caller the last one that is read, or waits for that. */
  readonly #reading = new Map<string, Promise<void>>()
  #held = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Bytes held now, by bodies that are not read to their end. */
  get held(): number {
    return this.#held
  }

  begin(caller: string, giveUp: (error: V1Error) => void): BodyRoom {
    const body = new BodyRoom(this, caller, giveUp)
    this.#arriving.add(body)
    return body
  }

  hold(body: BodyRoom, bytes: number): void {
    // What is over, or was given up, may still be on its way to hear of it: nobody would give that back.
    if (!this.#arriving.has(body)) return
    this.#held += bytes - body.held
    body.held = bytes
    while (this.#held > this.#limit) this.#displace()
  }

  #displace(): void {
    const heldBy = new Map<string, number>()
    for (const { caller, held } of this.#arriving) heldBy.set(caller, (heldBy.get(caller) ?? 0) + held)
    let most = 0
    for (const held of heldBy.values()) most = Math.max(most, held)
    const oldest = [...this.#arriving].find(({ caller, held }) => held > 0 && heldBy.get(caller) === most)!
    oldest.done()
    const message = `More than ${this.#limit} bytes of unfinished requests are held here, most of them yours: your oldest request was dropped. Send fewer at once.`
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

  forget(body: BodyRoom): void {
    if (this.#arriving.delete(body)) this.#held -= body.held
  }
}

/** What one body takes of it. */
export class BodyRoom {
  held = 0
  readonly caller: string
  readonly giveUp: (error: V1Error) => void
  readonly #bodies: Bodies

  constructor(bodies: Bodies, caller: string, giveUp: (error: V1Error) => void) {
    this.#bodies = bodies
    this.caller = caller
    this.giveUp = giveUp
  }

  /** To wait for before each piece is read, if anything. */
  turn(): Promise<void> | undefined {
    return this.#bodies.entrance.enter(this.caller)
  }

  /** So many bytes are held for it now. */
  hold(bytes: number): void {
    this.#bodies.hold(this, bytes)
  }

  done(): void {
    this.#bodies.forget(this)
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
