import type { ChatCall, LoadProgress, ModelInfo, Part } from '../../engine.js'
import { PartQueue } from '../../platform/part-queue.js'
import { failureOf } from './failure.js'
import type { Port } from './port.js'
import { type CallValue, type EngineCommand, type Told, type ValueAsked, WINDOW, wireCall } from './protocol.js'

/** Something asked of the other side that has not ended. */
interface Job {
  readonly part?: (part: Part) => void
  readonly progress?: (progress: LoadProgress) => void
  readonly value?: (value: CallValue) => void
  readonly end: (error?: unknown) => void
}

export interface SessionEvents {
  models(models: readonly ModelInfo[], ready: boolean): void
  /** Something runs, or nothing does any more. */
  busy(busy: boolean): void
}

type Question = 'load' | 'unload' | 'remove' | 'learn' | 'survey' | 'close'

/** The line to one living engine on the other side, and what is under way on it. */
export class Session {
  readonly #port: Port
  readonly #events: SessionEvents
  readonly #jobs = new Map<number, Job>()
  #last = 0
  #dead: unknown

  constructor(port: Port, events: SessionEvents) {
    this.#port = port
    this.#events = events
    port.listen((message) => this.#take(message as Told))
  }

  /** The other side is gone: what runs fails, and whatever is asked from now on. */
  die(error: unknown): void {
    this.#dead ??= error
    for (const id of [...this.#jobs.keys()]) this.#end(id, this.#dead)
    this.#port.close()
  }

  async *generate(call: ChatCall): AsyncGenerator<Part> {
    const wire = wireCall(call)
    const queue = new PartQueue<Part>(Number.POSITIVE_INFINITY, () => {})
    const { id, over } = this.#ask(
      (id) => ({ type: 'generate', id, call: wire }),
      (end) => ({
        part: (part) => queue.push(part),
        end: (error) => {
          if (error === undefined) queue.end()
          else queue.fail(error)
          end()
        },
      }),
    )
    const leave = () => queue.fail(call.signal.reason)
    call.signal.addEventListener('abort', leave)
    try {
      call.signal.throwIfAborted()
      let unsaid = 0
      for (let parts = await queue.take(); parts !== undefined; parts = await queue.take()) {
        for (const part of parts) {
          yield part
          call.signal.throwIfAborted()
          // Told now and then: each is a message.
          if (++unsaid < WINDOW / 4) continue
          this.#post({ type: 'taken', id, parts: unsaid })
          unsaid = 0
        }
      }
    } finally {
      call.signal.removeEventListener('abort', leave)
      if (this.#jobs.has(id)) this.#post({ type: 'abort', id })
      // Left only once the other side has freed what it held.
      await over
    }
  }

  /** Settles when it is done there, or at once with the signal's reason. */
  question(
    type: Question,
    model: string,
    signal?: AbortSignal,
    progress?: (progress: LoadProgress) => void,
  ): Promise<void> {
    const asked = (id: number): EngineCommand =>
      type === 'survey' || type === 'close' ? { type, id } : { type, id, model }
    return this.#answered(asked, { ...(progress && { progress }) }, signal)
  }

  /** What it comes to there. */
  async value(asked: ValueAsked, signal: AbortSignal): Promise<CallValue> {
    let value: CallValue | undefined
    const hear = (given: CallValue) => {
      value = given
    }
    await this.#answered((id) => ({ type: 'value', id, asked }), { value: hear }, signal)
    return value!
  }

  async #answered(
    asked: (id: number) => EngineCommand,
    hears: Omit<Job, 'end'>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    let failure: unknown
    const { id, over } = this.#ask(asked, (end) => ({
      ...hears,
      end: (error) => {
        failure = error
        end()
      },
    }))
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        this.#post({ type: 'abort', id })
        reject(signal!.reason)
      }
      if (signal?.aborted) return leave()
      signal?.addEventListener('abort', leave, { once: true })
      void over.then(() => {
        signal?.removeEventListener('abort', leave)
        if (failure === undefined) resolve()
        else reject(failure)
      })
    })
  }

  #ask(message: (id: number) => EngineCommand, job: (end: () => void) => Job): { id: number; over: Promise<void> } {
    if (this.#dead !== undefined) throw this.#dead
    const id = ++this.#last
    // Before it counts as under way: what cannot be cloned throws here.
    this.#post(message(id))
    const over = new Promise<void>((resolve) => this.#jobs.set(id, job(resolve)))
    if (this.#jobs.size === 1) this.#events.busy(true)
    return { id, over }
  }

  #take(message: Told): void {
    if (message.type === 'models') this.#events.models(message.models, message.ready)
    else if (message.type === 'part') this.#jobs.get(message.id)?.part?.(message.part)
    else if (message.type === 'progress') this.#jobs.get(message.id)?.progress?.(message.progress)
    else if (message.type === 'value') this.#jobs.get(message.id)?.value?.(message.value)
    else if (message.type === 'done') this.#end(message.id)
    else if (message.type === 'failed') this.#end(message.id, failureOf(message.failure))
  }

  #end(id: number, error?: unknown): void {
    const job = this.#jobs.get(id)
    if (job === undefined) return
    this.#jobs.delete(id)
    if (this.#jobs.size === 0) this.#events.busy(false)
    job.end(error)
  }

  #post(message: EngineCommand): void {
    if (this.#dead === undefined) this.#port.post(message)
  }
}
