import type { Part } from '../../contract/index.js'
import type { PacedSource } from '../stream/paced.js'
import type { StreamReply } from '../wire/reply.js'
import type { Run } from './run.js'

/** A streamed answer, part by part, up to its last word or an error. */
export class AnswerEvents implements PacedSource {
  readonly #run: Run
  readonly #reply: StreamReply
  /** What is sent before anything else. */
  #opening: string
  #first: Part | undefined
  #hear: Parameters<PacedSource['ask']>[0] = () => {}

  constructor(run: Run, first: Part | undefined, reply: StreamReply, opening: string) {
    this.#run = run
    this.#first = first
    this.#reply = reply
    this.#opening = opening
  }

  ask(hear: Parameters<PacedSource['ask']>[0]): void {
    this.#hear = hear
    const first = this.#first
    this.#first = undefined
    if (first === undefined) this.#run.ask(this.#heard, this.#failed)
    else this.#heard(first)
  }

  cancel(reason: unknown): void {
    this.#run.leave(reason)
  }

  readonly #heard = (part: Part | undefined): void => {
    let events: string
    try {
      if (part === undefined) {
        void this.#end().catch(this.#failed)
        return
      }
      events = this.#reply.part(part)
    } catch (error) {
      // An engine may have put into a part what no event can say.
      void this.#failed(error)
      return
    }
    this.#say(events, false)
  }

  async #end(): Promise<void> {
    const words = await this.#reply.end()
    await this.#run.succeed()
    this.#say(words, true)
  }

  readonly #failed = async (error: unknown): Promise<void> => {
    const told = await this.#reply.failed(await this.#run.fail(error))
    const { client } = this.#run
    // Within one process its reader may still be there: it is told what `fetch` tells whoever aborts it.
    if (client.aborted) this.#hear('', true, { reason: client.reason })
    else this.#say(told, true)
  }

  #say(events: string, last: boolean): void {
    const opening = this.#opening
    this.#opening = ''
    this.#hear(opening + events, last)
  }
}
