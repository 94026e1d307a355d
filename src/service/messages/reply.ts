import type { Part, V1Error } from '../../contract/index.js'
import { sseEventOf } from '../stream/sse.js'
import type { Answer, AnswerHead } from '../wire/answer.js'
import type { StreamReply, WholeReply } from '../wire/reply.js'
import { wireError } from './errors.js'
import type { Message, MessageEvent, MessageProgress } from './progress.js'

/** A message as its events. */
export class MessageEvents implements StreamReply {
  readonly stream = true
  readonly #progress: MessageProgress
  readonly #requestId: string
  #events = ''

  constructor(progress: (tell: (event: MessageEvent) => void) => MessageProgress, requestId: string) {
    this.#requestId = requestId
    this.#progress = progress((event) => {
      this.#events += sseEventOf(event.type, JSON.stringify(event))
    })
  }

  begin(head: AnswerHead, answer: Answer): string {
    this.#progress.begin(head, answer)
    return this.#taken()
  }

  part(part: Part): string {
    this.#progress.take(part)
    return this.#taken()
  }

  end(): string {
    this.#progress.complete()
    return this.#taken()
  }

  failed(error: V1Error): string {
    return sseEventOf('error', JSON.stringify(wireError(error, this.#requestId)))
  }

  #taken(): string {
    const events = this.#events
    this.#events = ''
    return events
  }
}

/** A message that is told once it is whole. */
export class WholeMessage implements WholeReply {
  readonly stream = false
  readonly #progress: MessageProgress

  constructor(progress: MessageProgress) {
    this.#progress = progress
  }

  begin(head: AnswerHead, answer: Answer): void {
    this.#progress.begin(head, answer)
  }

  part(part: Part): void {
    this.#progress.take(part)
  }

  whole(): Message {
    return this.#progress.message
  }
}
