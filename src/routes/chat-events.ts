import type { Part } from '../engine.js'
import type { PacedSource } from '../stream/paced.js'
import { SSE_DONE, sseEvent } from '../stream/sse.js'
import type { ChunkWriter } from '../wire/chunks.js'
import type { Run } from './run.js'

/** The events of a streamed answer, part by part, up to `[DONE]` or an error. */
export class ChatEvents implements PacedSource {
  readonly #run: Run
  readonly #writer: ChunkWriter
  #first: Part | undefined
  #hear: Parameters<PacedSource['ask']>[0] = () => {}

  constructor(run: Run, first: Part | undefined, writer: ChunkWriter) {
    this.#run = run
    this.#first = first
    this.#writer = writer
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
        void this.#end(this.#writer.end())
        return
      }
      events = this.#writer.write(part)
    } catch (error) {
      // An engine may have put into a part what no chunk can say.
      void this.#failed(error)
      return
    }
    this.#hear(events, false)
  }

  async #end(usage: string): Promise<void> {
    await this.#run.succeed()
    this.#hear(usage + SSE_DONE, true)
  }

  readonly #failed = async (error: unknown): Promise<void> => {
    this.#hear(sseEvent(JSON.stringify(await this.#run.fail(error))), true)
  }
}
