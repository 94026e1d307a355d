import { type ChatCall, type Part, V1Error } from '../../contract/index.js'
import { abortable, breathe, Entrance } from '../../platform/index.js'
import type { UsageEvent } from '../../usage/index.js'
import type { Release } from '../door/queue.js'
import { endedSoon, inTime, LEAVE_MS, Leavable, LinkedAbort } from '../stream/abort.js'
import { Answer, type AnswerChoice, type CallSpec } from '../wire/reply.js'
import type { BodyRoom } from './bodies.js'
import { generateEach } from './prompts.js'
import { type Exchange, requestError, type Service } from './service.js'

/**
 * Parts after which everybody else is let in: an engine that waits for nothing, such as one that tells what it has kept, would
 * keep clocks, sockets and its own end waiting until it is over.
 */
export const WITHOUT_A_BREATH = 256

/** Where runs that failed come to their end, some in each turn of the event loop. */
const ends = new Entrance()

/**
 * One request to a model from its arrival to its end: its signal, its place in the queue, its stream of parts, its line in
 * the ledger. Whatever happens, it ends once, and everything it held is given back.
 */
export class Run {
  readonly signal: AbortSignal
  readonly arrived = performance.now()
  /** Set once the model is known: only requests for a model that exists are counted. */
  model: string | undefined
  answer: Answer | undefined
  readonly #service: Service
  readonly #exchange: Exchange
  readonly #client: AbortSignal
  readonly #abort: LinkedAbort
  #release: Release | undefined
  #room: BodyRoom | undefined
  #held = 0
  /** Bytes of its body while it stands aside. */
  #aside = 0
  #parts: Leavable<Part> | undefined
  /** What the engine does for it, where that has one result. */
  #acting: Promise<unknown> | undefined
  #check: (choice: AnswerChoice) => void | Promise<void> = () => {}
  #asked = 0
  #ended = false
  #begun = false
  #left = false

  /** `client` is aborted when nobody wants the answer any more. */
  constructor(service: Service, exchange: Exchange, client = exchange.request.signal) {
    this.#service = service
    this.#exchange = exchange
    this.#client = client
    exchange.runs = true
    // A client may leave while nobody pulls its stream; the engine must hear of it all the same.
    this.#abort = new LinkedAbort(client, service.deadlines, (reason) => void this.fail(reason))
    this.signal = this.#abort.signal
  }

  /** `weight`: how many answers are to be made. Nothing to wait for, or what to wait for. */
  enter(weight = 1): Promise<void> | undefined {
    const { caller, bodyBytes = 0 } = this.#exchange
    const { admission } = this.#service
    if (this.#aside > 0) this.hold(-this.#aside)
    this.#aside = 0
    const entering = admission.enter(caller.id, this.signal, { bytes: bodyBytes, weight })
    // Who runs alone keeps nobody waiting, even if it is found only later that its client has hung up.
    if (typeof entering !== 'function' || admission.running > 1) return this.#entered(entering)
    this.#release = entering
    return undefined
  }

  async #entered(entering: Release | Promise<Release>): Promise<void> {
    const release = await entering
    // It may have been left while it was on its way out of the line.
    if (this.#ended) release()
    else this.#release = release
    // Whoever hung up meanwhile is heard of once sockets have been looked at again, which the rest of this turn of the
    // event loop may not do: nothing is begun for nobody.
    await breathe()
    await breathe()
    this.signal.throwIfAborted()
  }

  /** So many bytes more are held for it until its answer begins: they count as those of its caller's bodies do. */
  hold(bytes: number): void {
    // It may have been left while what is to be held was read: nobody would give it back.
    this.signal.throwIfAborted()
    if (!this.#room) {
      this.#room = this.#service.bodies.begin(this.#exchange.caller.id)
      this.#room.onGivenUp = (error) => void this.fail(error)
    }
    this.#held += bytes
    this.#room.hold(this.#held)
    this.signal.throwIfAborted()
  }

  get held(): number {
    return this.#held
  }

  /** Gives its place to others while it waits for something else than the engine, in no line that counts its body. */
  stepAside(): void {
    this.#release?.()
    this.#release = undefined
    const { bodyBytes = 0 } = this.#exchange
    const more = bodyBytes - this.#aside
    if (more > 0) this.hold(more)
    this.#aside = bodyBytes
  }

  /** `check` throws for a choice that must not be sent, before anybody hears that it is finished. */
  begin(call: ChatCall, check: (choice: AnswerChoice) => void | Promise<void>, prompts?: CallSpec['prompts']): void {
    const { engine } = this.#service
    this.answer = new Answer(call.n)
    this.#check = check
    const parts = prompts ? generateEach(this.#service, call, prompts, this.#late) : engine.generate(call)
    this.#parts = new Leavable(parts, this.#take)
  }

  /** The one result, or at once why it was left; its place is free when the engine has ended it, too. */
  during<T>(acting: Promise<T>): Promise<T> {
    this.#acting = acting
    return abortable(acting, this.signal)
  }

  /** The next part, taken into the answer; undefined once the answer is whole. */
  next(): Promise<Part | undefined> {
    return new Promise((resolve, reject) => this.ask(resolve, reject))
  }

  /** `next` without a promise. One of the two is called, once; neither may throw. */
  ask(resolve: (part: Part | undefined) => void, reject: (error: unknown) => void): void {
    if (this.signal.aborted) reject(this.signal.reason)
    else if (++this.#asked % WITHOUT_A_BREATH === 0) void breathe().then(() => this.ask(resolve, reject))
    else this.#parts!.ask(resolve, reject, this.answer!.finished ? this.#service.patience : undefined)
  }

  readonly #take = (part: Part | undefined): Part | undefined | Promise<Part> => {
    const answer = this.answer!
    if (part) {
      // The engine has read what it was given.
      if (!this.#begun) {
        this.#begun = true
        this.#room?.done()
        this.#service.metrics?.began((performance.now() - this.arrived) / 1000)
      }
      const told = answer.take(part)
      const checking = part.type === 'finish' && this.#check(answer.choices[part.choice]!)
      return checking ? Promise.resolve(checking).then(() => told) : told
    }
    if (!answer.finished) throw new Error('The engine stopped before it had finished every choice.')
    answer.usage = answer.countedUsage()
    return undefined
  }

  /** To be called before the last word goes out: what was answered is counted. */
  async succeed(): Promise<void> {
    if (this.#ended) return
    this.#ended = true
    this.#room?.done()
    this.#abort.dispose()
    await this.#record('ok')
    if (this.#parts?.ended === false) void this.#dismissed().then(() => this.#release?.())
    else this.#release?.()
    const { fingerprint, usage } = this.answer!
    if (fingerprint !== undefined) this.#service.fingerprints.set(this.model!, fingerprint)
    this.#exchange.end(200, { model: this.model, usage })
  }

  /** Ends it for an error, a time limit or a client that left; gives back the error to answer with. */
  async fail(error: unknown): Promise<V1Error> {
    const answer = requestError(error, this.#left || this.#client.aborted)
    if (this.#ended) return answer
    this.#ended = true
    this.#room?.done()
    // Aborted first: the engine is then already stopping when it is asked to return.
    this.#abort.abort(error)
    this.#abort.dispose()
    const left = this.#leave(error)
    if (this.answer) this.answer.usage = this.answer.countedUsage()
    // Six hundred may have hung up at once: what is written of each, and the answer that nobody hears, take their time.
    await ends.enter(this.#exchange.caller.id)
    await this.#record(answer.status === 499 ? 'aborted' : 'error')
    void left.then(() => this.#release?.())
    this.#exchange.end(answer.status, { model: this.model, usage: this.answer?.usage, error })
    return answer
  }

  /** Aborted when the client has taken back its request. */
  get client(): AbortSignal {
    return this.#client
  }

  /** The reader has left. */
  leave(reason: unknown): void {
    this.#left = true
    void this.fail(reason)
  }

  /** Its engine has not ended, though all choices have: their reader need not wait for it, but the next in line does. */
  #dismissed(): Promise<void> {
    this.#late()
    this.#abort.abort(undefined)
    return this.#leave(undefined)
  }

  readonly #late = () => tellNotEnded(this.#service, `request ${this.#exchange.requestId}${this.#ofModel}`)

  async #leave(reason: unknown): Promise<void> {
    const left = await (this.#parts?.leave(reason) ?? (this.#acting && endedSoon(this.#acting)))
    if (left !== 'stuck') return
    const message = `The engine does not stop request ${this.#exchange.requestId}${this.#ofModel}, which is over. The next one gets its place in the queue.`
    this.#service.log({ type: 'fault', message })
  }

  get #ofModel(): string {
    return this.model === undefined ? '' : ` of ${this.model}`
  }

  async #record(outcome: UsageEvent['outcome']): Promise<void> {
    if (this.model === undefined) return
    const { ledger, onUsage, log, patience } = this.#service
    const { requestId, caller, project } = this.#exchange
    const usage = this.answer?.usage
    const event: UsageEvent = {
      time: Math.floor(Date.now() / 1000),
      requestId,
      caller: caller.id,
      project,
      model: this.model,
      outcome,
      promptTokens: usage?.promptTokens ?? 0,
      cachedTokens: usage?.cachedTokens ?? 0,
      completionTokens: usage?.completionTokens ?? 0,
    }
    try {
      await inTime(ledger.record(event), patience)
    } catch (error) {
      log({ type: 'fault', message: `The usage of request ${requestId} could not be stored.`, error })
    }
    try {
      onUsage?.(event)
    } catch (error) {
      log({ type: 'fault', message: 'onUsage threw an error.', error })
    }
  }
}

/** For whoever wrote the engine: its answers are told, but seconds later than they might be. */
export function tellNotEnded({ log }: Service, what: string): void {
  const message = `The engine did not end ${what} within ${LEAVE_MS} ms after all choices had finished, and is not waited for. Let 'generate' return after its last part.`
  log({ type: 'fault', message })
}

/** Why what stores something is not waited for. */
export const notStored = (ms: number) => new Error(`It did not settle within ${ms} ms, and is not waited for.`)

export function timedOut(timeoutMs: number): V1Error {
  // It would take as long again.
  const headers = { 'x-should-retry': 'false' }
  return new V1Error(504, `The request took longer than ${timeoutMs} ms.`, { code: 'timeout', headers })
}
