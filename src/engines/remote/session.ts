import type { ChatCall, LoadProgress, ModelInfo, Part } from '../../contract/index.js'
import { abortable, breathe, type Doing, inTurns, PartQueue } from '../../platform/index.js'
import { type Culprit, receivedError } from './failure.js'
import type { Port } from './port.js'
import { type EngineCommand, type EngineReply, type ValueName, WINDOW, type Work, wireCall } from './protocol.js'

/** A request to the other side that has not ended. */
interface Job {
  readonly work: Work
  readonly part?: (part: Part) => void
  readonly progress?: (progress: LoadProgress) => void
  readonly value?: (value: unknown) => void
  readonly end: (error?: unknown) => void
}

export interface SessionEvents {
  models(models: readonly ModelInfo[], ready: boolean): void
  /** Something runs, or nothing does any more. */
  busy(busy: boolean): void
}

export type Errand = 'load' | 'unload' | 'remove' | 'learn' | 'survey' | 'close'

/**
 * Things that may come to an end in one turn of the event loop: whoever waited for one goes on at once, and where this
 * thread had no processor for a while, hundreds have come meanwhile.
 */
const ENDS_PER_TURN = 16

/** The line to one living engine on the other side, and what is under way on it. */
export class Session {
  readonly #port: Port
  readonly #events: SessionEvents
  readonly #jobs = new Map<number, Job>()
  /** By what they are of: lists that came in pieces, for the value or the part that is next. */
  readonly #lists = new Map<number, Record<string, unknown[]>>()
  /** What has come and waits for the next turn. */
  readonly #come: EngineReply[] = []
  #last = 0
  #ends = 0
  #errorOf: ((job: number) => unknown) | undefined

  constructor(port: Port, events: SessionEvents) {
    this.#port = port
    this.#events = events
    port.listen((message) => {
      this.#come.push(...(message as readonly EngineReply[]))
      // Otherwise they have their turn after those that wait.
      if (this.#come.length === (message as readonly EngineReply[]).length) this.#takeAll()
    })
  }

  #takeAll(): void {
    let taken = 0
    for (; taken < this.#come.length && this.#ends < ENDS_PER_TURN; taken++) this.#take(this.#come[taken]!)
    this.#come.splice(0, taken)
  }

  /** The first of a turn sees to it that there is a next one. */
  #ended(id: number, error?: unknown): void {
    if (this.#ends++ === 0) {
      void breathe().then(() => {
        this.#ends = 0
        this.#takeAll()
      })
    }
    this.#end(id, error)
  }

  /** The other side is gone: what runs fails, each with its error, and whatever is asked from now on. */
  die(errorOf: (job: number) => unknown): void {
    this.#errorOf ??= errorOf
    for (const id of [...this.#jobs.keys()]) this.#end(id, this.#errorOf(id))
    this.#port.close()
  }

  /** Whether anything is under way. */
  get busy(): boolean {
    return this.#jobs.size > 0
  }

  /** Which of the things under way the other side is at: as it says, or because there is no other. */
  culprit(doing: Doing | undefined): Culprit | undefined {
    const all = [...this.#jobs].map(([id, { work }]) => ({ id, ...aboutOf(work) }))
    const named =
      doing && (all.find(({ request }) => request === doing.of) ?? all.find(({ model }) => model === doing.of))
    // Of what nobody named, a load is what files of strangers come in by.
    const found = named ?? (all.length === 1 ? all[0] : all.find(({ words }) => words.startsWith('load ')))
    return found && { id: found.id, words: found.words }
  }

  async *generate(call: ChatCall): AsyncGenerator<Part> {
    const wire = await inTurns(wireCall(call), call.signal, call.caller)
    const queue = new PartQueue<Part>(Number.POSITIVE_INFINITY, () => {})
    const { id, over } = this.#ask(
      (id) => ({ type: 'generate', id, call: wire }),
      (end, work) => ({
        work,
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
    type: Errand,
    model: string,
    signal?: AbortSignal,
    progress?: (progress: LoadProgress) => void,
  ): Promise<void> {
    const workOf = (id: number): Work => (type === 'survey' || type === 'close' ? { type, id } : { type, id, model })
    const done = this.#answered(workOf, { ...(progress && { progress }) }, signal)
    return signal ? abortable(done, signal) : done
  }

  /**
   * What it comes to there. Left only once the other side has noticed: whoever gave up a thousand would else have it begin
   * a thousand that nobody waits for.
   */
  async value(
    name: ValueName,
    call: { readonly model: string; readonly signal: AbortSignal; readonly caller?: string },
  ): Promise<unknown> {
    let value: unknown
    const hear = (given: unknown) => {
      value = given
    }
    const { signal } = call
    const wire = await inTurns(wireCall(call), signal, call.caller)
    try {
      await this.#answered((id) => ({ type: 'value', id, what: name, call: wire }), { value: hear }, signal)
    } finally {
      signal.throwIfAborted()
    }
    return value
  }

  /** Settles when the other side is done, also with what the signal has it leave. */
  async #answered(
    workOf: (id: number) => Work,
    hears: Omit<Job, 'end' | 'work'>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    let failure: unknown
    const { id, over } = this.#ask(workOf, (end, work) => ({
      ...hears,
      work,
      end: (error) => {
        failure = error
        end()
      },
    }))
    const leave = () => this.#post({ type: 'abort', id })
    signal?.addEventListener('abort', leave, { once: true })
    if (signal?.aborted) leave()
    await over
    signal?.removeEventListener('abort', leave)
    if (failure !== undefined) throw failure
  }

  #ask(
    workOf: (id: number) => Work,
    job: (end: () => void, work: Work) => Job,
  ): { readonly id: number; readonly over: Promise<void> } {
    const id = ++this.#last
    if (this.#errorOf !== undefined) throw this.#errorOf(id)
    const work = workOf(id)
    // Before it counts as under way: what cannot be cloned throws here.
    this.#post(work)
    const over = new Promise<void>((resolve) => this.#jobs.set(id, job(resolve, work)))
    if (this.#jobs.size === 1) this.#events.busy(true)
    return { id, over }
  }

  #take(message: EngineReply): void {
    if (message.type === 'models') this.#events.models(message.models, message.ready)
    else if (message.type === 'piece') this.#gather(message.id, message.list, message.items)
    else if (message.type === 'part') this.#jobs.get(message.id)?.part?.(this.#whole(message.id, message.part))
    else if (message.type === 'progress') this.#jobs.get(message.id)?.progress?.(message.progress)
    else if (message.type === 'value') this.#jobs.get(message.id)?.value?.(this.#whole(message.id, message.value))
    else if (message.type === 'done') this.#ended(message.id)
    else if (message.type === 'failed') this.#ended(message.id, receivedError(message.failure))
  }

  /** The next piece is sent once this one was told to be here, which is when others have had their turn. */
  #gather(id: number, list: string, items: readonly unknown[]): void {
    if (!this.#jobs.has(id)) return
    const lists = this.#lists.get(id) ?? {}
    this.#lists.set(id, lists)
    lists[list] ??= []
    for (const item of items) lists[list].push(item)
    void breathe().then(() => this.#post({ type: 'got', id }))
  }

  #whole<T>(id: number, value: T): T {
    const lists = this.#lists.get(id)
    this.#lists.delete(id)
    return lists ? { ...value, ...lists } : value
  }

  #end(id: number, error?: unknown): void {
    const job = this.#jobs.get(id)
    if (job === undefined) return
    this.#jobs.delete(id)
    this.#lists.delete(id)
    if (this.#jobs.size === 0) this.#events.busy(false)
    job.end(error)
  }

  #post(message: EngineCommand): void {
    if (this.#errorOf === undefined) this.#port.post(message)
  }
}

/** What it is for, and how to say so. */
function aboutOf(work: Work): { readonly model?: string; readonly request?: string; readonly words: string } {
  if (!('call' in work))
    return 'model' in work ? { model: work.model, words: `${work.type} of ${work.model}` } : { words: work.type }
  const { model, request } = work.call.about
  const subject = work.type === 'generate' ? 'an answer' : work.what
  return { ...work.call.about, words: `${subject} of ${model}${request === undefined ? '' : `, request ${request}`}` }
}
