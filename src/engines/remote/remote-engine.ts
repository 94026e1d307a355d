import type {
  ChatCall,
  DecideCall,
  Decided,
  DetokenizeCall,
  EmbedCall,
  Embeddings,
  Engine,
  LoadProgress,
  ModelInfo,
  Part,
  RankCall,
  Ranking,
  TokenizeCall,
  TokenizedText,
} from '../../engine.js'
import { V1Error } from '../../errors.js'
import { atMost } from '../../platform/wait.js'
import type { Port } from './port.js'
import type { ValueAsked } from './protocol.js'
import { Session } from './session.js'

/** A worker or whatever else holds the engine, and its line. */
export interface Far {
  readonly port: Port
  /** Settles with the reason once the other side is gone; never rejects. */
  readonly gone: Promise<unknown>
  /** Whether it must keep the process alive. */
  hold?(hold: boolean): void
  /** Ends it for good. */
  end(): void
}

export interface RemoteOptions {
  /** Begins the other side: at once, and again for the request that follows its death. */
  readonly start: () => Far
  /** What is listed until the other side has told. */
  readonly models?: readonly ModelInfo[]
}

/** How long a closing engine may take to free what it holds. */
const CLOSE_MS = 5000

interface Running {
  readonly far: Far
  readonly session: Session
}

/** An engine that runs on the other side of a port: in a worker, mostly. */
export class RemoteEngine implements Engine {
  readonly version = 2
  readonly ready: Promise<void>
  readonly #start: () => Far
  #models: readonly ModelInfo[]
  #running: Running | undefined
  /** Models that the other side has looked at. */
  readonly #learned = new Set<string>()
  #markReady = () => {}
  #closed = false

  constructor({ start, models = [] }: RemoteOptions) {
    this.#start = start
    this.#models = models
    this.ready = new Promise((resolve) => {
      this.#markReady = resolve
    })
    try {
      this.#session()
    } catch {
      // The first request tries again, and is told.
      this.#markReady()
    }
  }

  get models(): readonly ModelInfo[] {
    return this.#models
  }

  async *generate(call: ChatCall): AsyncGenerator<Part> {
    call.signal.throwIfAborted()
    yield* this.#session().generate(call)
  }

  async embed({ signal, ...call }: EmbedCall): Promise<Embeddings> {
    return (await this.#session().value({ what: 'embed', call }, signal)) as Embeddings
  }

  async rank({ signal, ...call }: RankCall): Promise<Ranking> {
    return (await this.#session().value({ what: 'rank', call }, signal)) as Ranking
  }

  async learn(model: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const session = this.#session()
    if (this.#learned.has(model)) return
    await session.question('learn', model, signal)
    this.#learned.add(model)
  }

  async decide({ signal, ...call }: DecideCall): Promise<Decided> {
    return (await this.#session().value({ what: 'decide', call }, signal)) as Decided
  }

  async tokenize({ signal, ...call }: TokenizeCall): Promise<TokenizedText> {
    return (await this.#session().value({ what: 'tokenize', call } as ValueAsked, signal)) as TokenizedText
  }

  async detokenize({ signal, ...call }: DetokenizeCall): Promise<string> {
    return (await this.#session().value({ what: 'detokenize', call }, signal)) as string
  }

  async load(model: string, onProgress: (progress: LoadProgress) => void, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await this.#session().question('load', model, signal, onProgress)
  }

  async unload(model: string): Promise<void> {
    // Nothing is loaded where nothing runs.
    await this.#running?.session.question('unload', model)
  }

  async remove(model: string): Promise<void> {
    await this.#session().question('remove', model)
  }

  async survey(): Promise<void> {
    // The list must be shown whatever has become of the other side.
    await this.#running?.session.question('survey', '').catch(() => {})
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const running = this.#running
    if (running === undefined) return
    const asked = running.session.question('close', '').catch(() => {})
    await atMost(CLOSE_MS, asked)
    this.#end(running, closed())
  }

  #session(): Session {
    if (this.#closed) throw closed()
    if (this.#running !== undefined) return this.#running.session
    let far: Far
    try {
      far = this.#start()
    } catch (cause) {
      throw lost(cause)
    }
    // Whoever waits for `ready`, and for nothing else, must not see the process end.
    let held = { busy: false, starting: true }
    const hold = (change: Partial<typeof held>) => {
      held = { ...held, ...change }
      far.hold?.(held.busy || held.starting)
    }
    const session = new Session(far.port, {
      models: (models, ready) => {
        this.#models = models
        if (!ready) return
        this.#markReady()
        hold({ starting: false })
      },
      busy: (busy) => hold({ busy }),
    })
    const running = { far, session }
    this.#learned.clear()
    this.#running = running
    hold({})
    void far.gone.then((cause) => this.#end(running, lost(cause)))
    return session
  }

  /** What ran fails with `error`; the next request starts anew. */
  #end(running: Running, error: V1Error): void {
    if (this.#running !== running) return
    this.#running = undefined
    running.session.die(error)
    running.far.end()
    this.#models = this.#models.map(unloaded)
    this.#markReady()
  }
}

/** What an engine says of a model that it has loaded no longer holds. */
function unloaded(model: ModelInfo): ModelInfo {
  return model.metadata?.loaded === true ? { ...model, metadata: { ...model.metadata, loaded: false } } : model
}

function lost(cause: unknown): V1Error {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new V1Error(503, `The worker that runs the models has stopped: ${why}`, {
    code: 'engine_lost',
    retryAfter: 1,
    cause,
  })
}

function closed(): V1Error {
  return new V1Error(503, 'The engine is closed.', { code: 'engine_closed' })
}
