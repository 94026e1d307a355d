import { type ChatCall, type Engine, modelCannot, type OutputGrammar, V1Error } from '../../contract/index.js'
import { inTurns, isSmall, smallParts, whenTurnEnds } from '../../platform/index.js'
import { Demands } from './demands.js'
import { wireFailure } from './failure.js'
import type { Port } from './port.js'
import {
  CALLS,
  type EngineCommand,
  type EngineReply,
  type PartReply,
  unspelled,
  type ValueName,
  WINDOW,
  type WireCall,
  type Work,
} from './protocol.js'

/** Lets whoever holds the other end of `port` use `engine` as if it were there; `busy` hears whether that one waits. */
export function serveEngine(engine: Engine, port: Port, busy?: (busy: boolean) => void): void {
  const server = new EngineServer(engine, port, busy)
  // A worker may be sent other things too.
  port.listen((message) => isCommand(message) && server.take(message))
  port.whenGone(() => server.leave())
}

function isCommand(message: unknown): message is EngineCommand {
  return (
    typeof (message as Partial<EngineCommand> | null)?.id === 'number' &&
    typeof (message as EngineCommand).type === 'string'
  )
}

interface Job {
  readonly aborter: AbortController
  /** Parts sent and not yet taken. */
  unread: number
  /** Pieces of lists that are under way: one at a time. */
  pieces: number
  wake: () => void
}

class EngineServer {
  readonly #engine: Engine
  readonly #port: Port
  readonly #jobs = new Map<number, Job>()
  readonly #demands: Demands
  readonly #busy: (busy: boolean) => void
  #ready = false
  #sent = ''
  /** Parts of this turn of the event loop, which go out together. */
  #parts: PartReply[] = []

  constructor(engine: Engine, port: Port, busy: (busy: boolean) => void = () => {}) {
    this.#engine = engine
    this.#port = port
    this.#busy = busy
    this.#demands = new Demands(engine)
    this.#tellModels()
    void Promise.resolve(engine.ready)
      .catch(() => {})
      .then(() => {
        this.#ready = true
        this.#tellModels()
        this.#rest()
      })
  }

  take(message: EngineCommand): void {
    if (message.type === 'abort') this.#jobs.get(message.id)?.aborter.abort(new Error('The call was left.'))
    else if (message.type === 'taken') {
      const job = this.#jobs.get(message.id)
      if (job === undefined) return
      job.unread -= message.parts
      job.wake()
    } else if (message.type === 'got') {
      const job = this.#jobs.get(message.id)
      if (job === undefined) return
      job.pieces--
      job.wake()
    } else void this.#run(message)
  }

  /** Nobody is there any more: what runs is stopped. */
  leave(): void {
    for (const { aborter } of this.#jobs.values()) aborter.abort(new Error('The other end of the port is closed.'))
  }

  async #run(message: Work): Promise<void> {
    const { id } = message
    const job: Job = { aborter: new AbortController(), unread: 0, pieces: 0, wake: () => {} }
    this.#jobs.set(id, job)
    if (this.#jobs.size === 1) this.#busy(true)
    try {
      await this.#do(message, job)
      this.#tellModels()
      this.#tell({ type: 'done', id })
    } catch (error) {
      this.#tellModels()
      this.#tell({ type: 'failed', id, failure: wireFailure(error) })
    } finally {
      this.#jobs.delete(id)
      this.#rest()
    }
  }

  #rest(): void {
    if (this.#ready && this.#jobs.size === 0) this.#busy(false)
  }

  async #do(message: Work, job: Job): Promise<void> {
    const { signal } = job.aborter
    const { id } = message
    switch (message.type) {
      case 'generate':
        return this.#generate(id, message.call, job)
      case 'value':
        return this.#tellValue(id, await this.#value(message.what, message.call, signal), job)
      case 'load':
        return this.#engine.load?.(message.model, (progress) => this.#tell({ type: 'progress', id, progress }), signal)
      case 'unload':
        return this.#engine.unload?.(message.model)
      case 'remove':
        if (this.#engine.remove) return this.#engine.remove(message.model)
        throw new V1Error(409, `The model '${message.model}' cannot be removed.`, { code: 'not_downloaded' })
      case 'learn':
        return this.#engine.learn?.(message.model, signal)
      case 'survey':
        return this.#engine.survey?.()
      case 'close':
        return this.#engine.close?.()
    }
  }

  async #value(name: ValueName, call: WireCall, signal: AbortSignal): Promise<unknown> {
    const whole = await this.#whole(call, signal)
    if (name === 'constrain') return this.#demands.compiled(whole as never)
    if (name === 'check') return this.#demands.faultOf(whole as never)
    const ask = CALLS.includes(name)
      ? (this.#engine[name] as ((call: unknown) => Promise<unknown>) | undefined)
      : undefined
    if (ask) return ask.call(this.#engine, whole)
    // What no engine points at is written.
    if (name === 'point') return undefined
    throw modelCannot(call.about.model, `cannot ${name} here`)
  }

  async #generate(id: number, call: WireCall, job: Job): Promise<void> {
    const { signal } = job.aborter
    for await (const part of this.#engine.generate((await this.#whole(call, signal)) as unknown as ChatCall)) {
      // Also an engine that does not look at its signal stops here.
      signal.throwIfAborted()
      const isLong = part.type === 'prompt' || part.type === 'finish'
      this.#tellPart({ type: 'part', id, part: isLong ? await this.#withoutLists(id, part, job) : part })
      if (++job.unread < WINDOW) continue
      // A reader that does not read holds back the engine.
      await until(() => job.unread < WINDOW, job)
    }
  }

  /** The call as it was, with a signal of this side and grammars that are compiled here. */
  async #whole(
    { about, rest: sent, grammars, spelled }: WireCall,
    signal: AbortSignal,
  ): Promise<Record<string, unknown>> {
    const compiled: Record<string, OutputGrammar> = {}
    const { caller } = sent as { readonly caller?: string }
    const rest = { ...sent }
    for (const [name, list] of Object.entries(spelled)) rest[name] = await inTurns(unspelled(list), signal, caller)
    const of = about.request ?? about.model
    const whose = { of, signal, ...(caller !== undefined && { caller }) }
    for (const [name, text] of Object.entries(grammars)) {
      compiled[name] = await this.#demands.grammar(text, name, whose)
    }
    if (Object.keys(compiled).length > 0) this.#demands.begun(of)
    return { ...rest, ...compiled, signal }
  }

  /** Whenever they may have changed: before the other side goes on, it knows. */
  #tellModels(): void {
    const { models } = this.#engine
    const text = JSON.stringify([this.#ready, models])
    if (text === this.#sent) return
    this.#sent = text
    this.#tell({ type: 'models', models: [...models], ready: this.#ready })
  }

  async #tellValue(id: number, value: unknown, job: Job): Promise<void> {
    const isList = typeof value === 'object' && value !== null && !Array.isArray(value)
    this.#tell({ type: 'value', id, value: isList ? await this.#withoutLists(id, value, job) : value })
  }

  /** Sends long lists ahead of what has them, piece by piece, each once the other side has the one before it. */
  async #withoutLists<T extends object>(id: number, value: T, job: Job): Promise<T> {
    if (isSmall(value)) return value
    const rest: Record<string, unknown> = {}
    for (const [list, items] of Object.entries(value)) {
      if (!Array.isArray(items) || isSmall(items)) {
        rest[list] = items
        continue
      }
      rest[list] = []
      for (const piece of smallParts(items)) {
        this.#tell({ type: 'piece', id, list, items: piece })
        job.pieces++
        await until(() => job.pieces === 0, job)
      }
    }
    return rest as T
  }

  #tell(message: EngineReply): void {
    this.#tellParts()
    this.#port.post([message])
  }

  /** A step of a model has a part for each answer: as messages of their own they would wake the other side for each. */
  #tellPart(part: PartReply): void {
    this.#parts.push(part)
    if (this.#parts.length === 1) whenTurnEnds(() => this.#tellParts())
  }

  #tellParts(): void {
    const parts = this.#parts
    if (parts.length === 0) return
    this.#parts = []
    try {
      this.#port.post(parts)
    } catch {
      // One of them cannot be cloned: the answers of the others go on.
      for (const part of parts) this.#tellAlone(part)
    }
  }

  #tellAlone(part: PartReply): void {
    try {
      this.#port.post([part])
    } catch (error) {
      this.#port.post([{ type: 'failed', id: part.id, failure: wireFailure(error) }])
      this.#jobs.get(part.id)?.aborter.abort(error)
    }
  }
}

function until(holds: () => boolean, job: Job): Promise<void> {
  const { signal } = job.aborter
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason)
    if (signal.aborted) return leave()
    signal.addEventListener('abort', leave, { once: true })
    job.wake = () => {
      if (!holds()) return
      job.wake = () => {}
      signal.removeEventListener('abort', leave)
      resolve()
    }
    job.wake()
  })
}
