import { V1Error } from '../../../../contract/index.js'
import { atMost, breathe } from '../../../../platform/index.js'
import { MOST_GATHERED } from '../../../stream/paced.js'
import { SSE_DONE, SSE_SIGN } from '../../../stream/sse.js'
import type { ResponseEvent } from '../wire/progress.js'
import { framedInPieces } from '../wire/reply.js'
import type { KeptResponse, Owner } from './store.js'

/** Events of those that are over: whoever lost a stream comes back for its rest. */
const MOST_HELD = 2 ** 14

/** Lets go of those that ended, the first of them first, as far as all have more events than are held. */
export function letGo(background: Map<string, BackgroundResponse>): void {
  let room = MOST_HELD
  for (const [id, running] of [...background].reverse()) {
    room -= running.held
    if (room < 0 && running.over) background.delete(id)
  }
}

/** A response that is made whether or not anybody waits for it. Whoever likes may follow its events. */
export class BackgroundResponse {
  readonly owner: Owner
  /** How far it has come, with its input. */
  readonly sofar: () => KeptResponse
  /** No more events come. */
  over = false
  readonly #client: AbortController
  readonly #events: ResponseEvent[] = []
  #news: (() => void)[] = []

  /** Whoever aborts `client` ends it. */
  constructor(owner: Owner, client: AbortController, sofar: () => KeptResponse) {
    this.owner = owner
    this.sofar = sofar
    this.#client = client
  }

  readonly hear = (event: ResponseEvent): void => {
    this.#events.push(event)
    this.#wake()
  }

  /** Settles once it has come to its end. */
  async cancel(): Promise<void> {
    if (this.over) return
    this.#client.abort(new V1Error(499, 'The response was cancelled.', { code: 'cancelled' }))
    await this.ended()
  }

  async ended(): Promise<void> {
    while (!this.over) await this.#next()
  }

  /** For how many events it counts, once it is over: it has texts of its request, too, so 16 are held at most. */
  get held(): number {
    return this.over ? Math.max(this.#events.length, MOST_HELD / 16) : 0
  }

  end(): void {
    this.over = true
    this.#wake()
  }

  /** The events after the one with this number, as they come. */
  follow(after: number): ReadableStream<Uint8Array> {
    const encoder = new TextEncoder()
    let next = after + 1
    let left = false
    let pieces: Generator<string, void, void> | undefined
    const isMore = () => pieces !== undefined || next < this.#events.length
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          // Who comes late reads in pieces what there is: a hundred thousand events at once would hold everybody up.
          if (isMore()) await breathe()
          while (!isMore() && !this.over && !left) {
            if ((await atMost(SSE_SIGN.ms, this.#next())) === 'ended') continue
            controller.enqueue(encoder.encode(SSE_SIGN.text))
            return
          }
          if (left) return
          let events = ''
          while (isMore() && events.length < MOST_GATHERED) {
            pieces ??= framedInPieces(this.#events[next++]!)
            const { done, value } = pieces.next()
            if (done) pieces = undefined
            else events += value
          }
          if (events !== '') controller.enqueue(encoder.encode(events))
          if (!this.over || isMore()) return
          controller.enqueue(encoder.encode(SSE_DONE))
          controller.close()
        },
        cancel: () => {
          left = true
          this.#wake()
        },
      },
      { highWaterMark: 0 },
    )
  }

  #next(): Promise<void> {
    return new Promise((resolve) => this.#news.push(resolve))
  }

  #wake(): void {
    const waiting = this.#news
    this.#news = []
    for (const resolve of waiting) resolve()
  }
}
