import type { Part, V1Error } from '../../../../contract/index.js'
import { isSmall } from '../../../../platform/index.js'
import { SSE_DONE, sseEventInPieces, sseEventOf } from '../../../stream/sse.js'
import type { Answer, ReplyHead, StreamReply, WholeReply } from '../../../wire/reply.js'
import type { ResponseEvent, ResponseProgress } from './progress.js'
import type { ResponseResource } from './resource.js'

/** Makes sure of a response before its last word goes out. */
export type KeepResponse = (response: ResponseResource) => Promise<void>

const framed = (event: ResponseEvent): string => sseEventOf(event.type, JSON.stringify(event))

export const framedInPieces = (event: ResponseEvent) => sseEventInPieces(event.type, event)

/** A response as its events. `progress` must tell them to `hear`. */
export class ResponseEvents implements StreamReply {
  readonly stream = true
  readonly #keep: KeepResponse
  #progress: ResponseProgress | undefined
  #answer: Answer | undefined
  #events = ''
  /** From the first large event on: those that are told in pieces. */
  #long: (string | ResponseEvent)[] = []

  constructor(keep: KeepResponse) {
    this.#keep = keep
  }

  /** To be called once: the progress and whoever hears of it know each other. */
  of(progress: ResponseProgress): this {
    this.#progress = progress
    return this
  }

  readonly hear = (event: ResponseEvent): void => {
    if (this.#long.length > 0 || !isSmall(event)) this.#long.push(event)
    else this.#events += framed(event)
  }

  begin(_: ReplyHead, answer: Answer): string {
    this.#answer = answer
    this.#progress!.begin()
    return this.#taken()
  }

  part(part: Part): string {
    this.#progress!.take(part)
    return this.#taken()
  }

  async end(): Promise<string> {
    this.#progress!.complete(this.#answer!.usage)
    return this.#ended()
  }

  async failed(error: V1Error): Promise<string> {
    this.#progress!.fail(error, this.#answer?.usage)
    return this.#ended()
  }

  more(): Generator<string, void, void> | undefined {
    const long = this.#long
    this.#long = []
    return long.length > 0 ? inPieces(long) : undefined
  }

  async #ended(): Promise<string> {
    await this.#keep(this.#progress!.resource)
    if (this.#long.length === 0) return this.#taken() + SSE_DONE
    this.#long.push(SSE_DONE)
    return this.#taken()
  }

  #taken(): string {
    const events = this.#events
    this.#events = ''
    return events
  }
}

function* inPieces(events: readonly (string | ResponseEvent)[]): Generator<string, void, void> {
  for (const event of events) {
    if (typeof event === 'string') yield event
    else yield* framedInPieces(event)
  }
}

/** A response that is told once it is whole. */
export class WholeResponse implements WholeReply {
  readonly stream = false
  readonly #progress: ResponseProgress
  readonly #keep: KeepResponse

  constructor(progress: ResponseProgress, keep: KeepResponse) {
    this.#progress = progress
    this.#keep = keep
  }

  begin(): void {
    this.#progress.begin()
  }

  part(part: Part): void {
    this.#progress.take(part)
  }

  async whole(_: ReplyHead, { usage }: Answer): Promise<ResponseResource> {
    this.#progress.complete(usage)
    const { resource } = this.#progress
    await this.#keep(resource)
    return resource
  }
}
