import { Entrance } from '../entrance.js'
import { V1Error } from '../errors.js'

/** One body on its way. */
interface Arriving {
  held: number
  readonly giveUp: (error: V1Error) => void
}

/**
 * The memory that bodies on their way may take together. Where it runs out, the oldest unfinished body of whoever holds
 * the most is given up: a caller who opens a thousand and finishes none displaces nobody else.
 */
export class Bodies {
  readonly #limit: number
  /** By caller, the oldest first. */
  readonly #arriving = new Map<string, Set<Arriving>>()
  /** Pieces arrive in turns, as requests do: three hundred at once keep nobody waiting for all of them. */
  readonly #entrance = new Entrance()
  #held = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Bytes held now, by bodies that are not read to their end. */
  get held(): number {
    return this.#held
  }

  begin(caller: string, giveUp: (error: V1Error) => void): BodyRoom {
    const body: Arriving = { held: 0, giveUp }
    const own = this.#arriving.get(caller) ?? new Set()
    this.#arriving.set(caller, own.add(body))
    return {
      hold: (bytes) => {
        // What is over, or was given up, may still be on its way to hear of it: nobody would give that back.
        if (!own.has(body)) return
        this.#held += bytes - body.held
        body.held = bytes
        while (this.#held > this.#limit) this.#displace()
      },
      turn: () => this.#entrance.enter(caller),
      done: () => this.#forget(caller, body),
    }
  }

  #displace(): void {
    let most: [caller: string, bodies: Set<Arriving>, held: number] | undefined
    for (const [caller, bodies] of this.#arriving) {
      let held = 0
      for (const body of bodies) held += body.held
      if (most === undefined || held > most[2]) most = [caller, bodies, held]
    }
    const [caller, bodies] = most!
    const oldest = [...bodies].find(({ held }) => held > 0)!
    this.#forget(caller, oldest)
    const message = `More than ${this.#limit} bytes of unfinished requests are held here, most of them yours: the oldest is given up.`
    oldest.giveUp(new V1Error(503, message, { code: 'too_many_bodies', retryAfter: 1 }))
  }

  #forget(caller: string, body: Arriving): void {
    const own = this.#arriving.get(caller)
    if (!own?.delete(body)) return
    this.#held -= body.held
    if (own.size === 0) this.#arriving.delete(caller)
  }
}

/** What one body takes of it. */
export interface BodyRoom {
  /** To wait for before each piece is read, if anything. */
  turn(): Promise<void> | undefined
  /** So many bytes are held for it now. */
  hold(bytes: number): void
  done(): void
}
