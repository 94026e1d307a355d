import type { ChatCall, Engine, GrammarSource, OutputGrammar, TokenizeCall } from '../../engine.js'
import { V1Error } from '../../errors.js'
import { inTurns } from '../../platform/turns.js'
import { fromSourceInSlices, GrammarCache } from '../../structured/index.js'
import { wireFailure } from './failure.js'
import type { Port } from './port.js'
import { type CallValue, type EngineCommand, type Told, type ValueAsked, WINDOW, type WireCall } from './protocol.js'

/** Of grammars that are kept with what was learned about them: clients send the same schema again and again. */
const KEPT_BYTES = 64 * 2 ** 20

/** Lets whoever holds the other end of `port` use `engine` as if it were there. */
export function serveEngine(engine: Engine, port: Port): void {
  const server = new EngineServer(engine, port)
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
  wake: () => void
}

class EngineServer {
  readonly #engine: Engine
  readonly #port: Port
  readonly #jobs = new Map<number, Job>()
  readonly #grammars = new GrammarCache({ maxBytes: KEPT_BYTES })
  #ready = false
  #told = ''

  constructor(engine: Engine, port: Port) {
    this.#engine = engine
    this.#port = port
    this.#tellModels()
    void Promise.resolve(engine.ready)
      .catch(() => {})
      .then(() => {
        this.#ready = true
        this.#tellModels()
      })
  }

  take(message: EngineCommand): void {
    if (message.type === 'abort') this.#jobs.get(message.id)?.aborter.abort(new Error('The call was left.'))
    else if (message.type === 'taken') {
      const job = this.#jobs.get(message.id)
      if (job === undefined) return
      job.unread -= message.parts
      job.wake()
    } else void this.#run(message)
  }

  /** Nobody is there any more: what runs is stopped. */
  leave(): void {
    for (const { aborter } of this.#jobs.values()) aborter.abort(new Error('The other end of the port is closed.'))
  }

  async #run(message: Exclude<EngineCommand, { type: 'abort' | 'taken' }>): Promise<void> {
    const { id } = message
    const job: Job = { aborter: new AbortController(), unread: 0, wake: () => {} }
    this.#jobs.set(id, job)
    try {
      await this.#do(message, job)
      this.#tellModels()
      this.#tell({ type: 'done', id })
    } catch (error) {
      this.#tellModels()
      this.#tell({ type: 'failed', id, failure: wireFailure(error) })
    } finally {
      this.#jobs.delete(id)
    }
  }

  async #do(message: Exclude<EngineCommand, { type: 'abort' | 'taken' }>, job: Job): Promise<void> {
    const { signal } = job.aborter
    const { id } = message
    switch (message.type) {
      case 'generate':
        return this.#generate(id, message.call, job)
      case 'value':
        return this.#tell({ type: 'value', id, value: await this.#value(message.asked, signal) })
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

  #value(asked: ValueAsked, signal: AbortSignal): Promise<CallValue> {
    const { embed, rank, decide, tokenize, detokenize } = this.#engine
    const engine = this.#engine
    if (asked.what === 'embed' && embed) return embed.call(engine, { ...asked.call, signal })
    if (asked.what === 'rank' && rank) return rank.call(engine, { ...asked.call, signal })
    if (asked.what === 'decide' && decide) return decide.call(engine, { ...asked.call, signal })
    if (asked.what === 'tokenize' && tokenize) return tokenize.call(engine, { ...asked.call, signal } as TokenizeCall)
    if (asked.what === 'detokenize' && detokenize) return detokenize.call(engine, { ...asked.call, signal })
    const message = `The model '${asked.call.model}' cannot ${asked.what} here.`
    throw new V1Error(400, message, { param: 'model', code: 'unsupported_model' })
  }

  async #generate(id: number, call: WireCall, job: Job): Promise<void> {
    const { signal } = job.aborter
    for await (const part of this.#engine.generate(await this.#callOf(call, signal))) {
      // Also an engine that does not look at its signal stops here.
      signal.throwIfAborted()
      this.#tell({ type: 'part', id, part })
      if (++job.unread < WINDOW) continue
      // A reader that does not read holds back the engine.
      await taken(job, signal)
    }
  }

  async #callOf({ grammar, toolGrammar, ...rest }: WireCall, signal: AbortSignal): Promise<ChatCall> {
    return {
      ...rest,
      signal,
      ...(grammar && { grammar: await this.#compiled(grammar, signal) }),
      ...(toolGrammar && { toolGrammar: await this.#compiled(toolGrammar, signal) }),
    }
  }

  #compiled(source: GrammarSource, signal: AbortSignal): Promise<OutputGrammar> {
    return inTurns(fromSourceInSlices(source, { cache: this.#grammars }), signal)
  }

  /** Whenever they may have changed: before the other side goes on, it knows. */
  #tellModels(): void {
    const { models } = this.#engine
    const text = JSON.stringify([this.#ready, models])
    if (text === this.#told) return
    this.#told = text
    this.#tell({ type: 'models', models: [...models], ready: this.#ready })
  }

  #tell(message: Told): void {
    this.#port.post(message)
  }
}

function taken(job: Job, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason)
    if (signal.aborted) return leave()
    signal.addEventListener('abort', leave, { once: true })
    job.wake = () => {
      if (job.unread >= WINDOW) return
      job.wake = () => {}
      signal.removeEventListener('abort', leave)
      resolve()
    }
    job.wake()
  })
}
