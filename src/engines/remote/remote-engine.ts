import type {
  ChatCall,
  ConstrainCall,
  Constrained,
  ConstrainedAnswer,
  Engine,
  LoadProgress,
  ModelInfo,
  Part,
} from '../../contract/index.js'
import { atMost, type Doing, type Pulse } from '../../platform/index.js'
import { closed, overDoing, stood, workerLost } from './failure.js'
import { FarGrammar } from './far-grammar.js'
import type { Port } from './port.js'
import type { CallName, WireConstraint } from './protocol.js'
import { type Errand, Session } from './session.js'
import { Watch } from './watch.js'

/** A worker or whatever else holds the engine, and its line. */
export interface Far {
  readonly port: Port
  /** Settles with the reason once the other side is gone; never rejects. */
  readonly gone: Promise<unknown>
  /** Where it shows that it lives: one that shows none for long is ended. */
  readonly pulse?: Pulse
  /** Whether it must keep the process alive. */
  hold?(hold: boolean): void
  /** Ends it for good; `silent`: it shows no life. */
  end(silent: boolean): void
}

export interface RemoteOptions {
  /** Begins the other side: at once, and again for the request that follows its death. */
  readonly start: () => Far
  /** What is listed until the other side has told. */
  readonly models?: readonly ModelInfo[]
  /** Begins the other side with the first thing that is asked of it: `models` are all there are. */
  readonly lazily?: boolean
  /** Begins another in its place, from then on, where it never came to life. */
  readonly instead?: (cause: unknown) => Far
  /**
   * How long the other side may show no life while it has something to do, in milliseconds of a processor.
   * @default 10000
   */
  readonly standsMs?: number
  /** Hears of what was ended, and why. */
  readonly log?: (message: string) => void
}

/** How long a closing engine may take to free what it holds. */
const CLOSE_MS = 5000
/** How long a look around there is good for: of hundreds who ask for the list at once, one has it looked around. */
const SURVEYED_MS = 1000
/** How long the list waits for it, where nothing is known from before or nothing is under way: who computes hears nothing. */
const SURVEY_MS = 100
const STANDS_MS = 10_000

interface Running {
  readonly far: Far
  readonly session: Session
  readonly watch: Watch | undefined
  /** Settles once it has told its models, with undefined, or is gone before, with why. */
  readonly begun: Promise<unknown>
}

/** An engine that runs on the other side of a port: in a worker, mostly. */
export class RemoteEngine implements Engine {
  readonly version = 2
  readonly ready: Promise<void>
  readonly #options: RemoteOptions
  #start: () => Far
  #models: readonly ModelInfo[]
  #running: Running | undefined
  /** Models that the other side has looked at. */
  readonly #learned = new Set<string>()
  #markReady = () => {}
  #closed = false
  #surveying: Promise<void> | undefined
  #surveyed = Number.NEGATIVE_INFINITY

  constructor(options: RemoteOptions) {
    this.#options = options
    this.#start = options.start
    this.#models = options.models ?? []
    this.ready = new Promise((resolve) => {
      this.#markReady = resolve
    })
    if (options.lazily) {
      this.#markReady()
      return
    }
    try {
      this.#run()
    } catch {
      // The first request tries again, and is told.
      this.#markReady()
    }
  }

  get models(): readonly ModelInfo[] {
    return this.#models
  }

  readonly embed = this.#method('embed')
  readonly rank = this.#method('rank')
  readonly classify = this.#method('classify')
  readonly decide = this.#method('decide')
  readonly point = this.#method('point')
  readonly tokenize = this.#method('tokenize')
  readonly detokenize = this.#method('detokenize')
  readonly tokenizerInfo = this.#method('tokenizerInfo')

  async *generate(call: ChatCall): AsyncGenerator<Part> {
    call.signal.throwIfAborted()
    yield* (await this.#session()).generate(call)
  }

  readonly constrain = async (call: ConstrainCall): Promise<Constrained> => {
    const session = await this.#session()
    const { judged, grammar, toolGrammar, ...rest } = (await session.value('constrain', call)) as WireConstraint
    return {
      ...rest,
      ...(grammar && { grammar: new FarGrammar(grammar) }),
      ...(toolGrammar && { toolGrammar: new FarGrammar(toolGrammar) }),
      faultOf: judged ? (answer) => this.#check(call, answer) : () => undefined,
    }
  }

  async learn(model: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#learned.has(model) && this.#running) return
    await (await this.#session()).question('learn', model, signal)
    this.#learned.add(model)
  }

  async load(model: string, onProgress: (progress: LoadProgress) => void, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await (await this.#session()).question('load', model, signal, onProgress)
  }

  async unload(model: string): Promise<void> {
    // Nothing is loaded where nothing runs.
    await this.#running?.session.question('unload', model)
  }

  async remove(model: string): Promise<void> {
    await (await this.#session()).question('remove', model)
  }

  /** The list must be shown whatever has become of the other side. */
  async survey(): Promise<void> {
    if (!this.#running && !this.#options.lazily) return
    if (performance.now() - this.#surveyed < SURVEYED_MS) return
    const busy = this.#running?.session.busy && this.#surveyed > Number.NEGATIVE_INFINITY
    this.#surveying ??= this.#settled('survey').finally(() => {
      this.#surveying = undefined
    })
    // What is found while it works is for the next list.
    if (!busy) await atMost(SURVEY_MS, this.#surveying)
    this.#surveyed = performance.now()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const running = this.#running
    if (running === undefined) return
    const closes = running.session.question('close', '').catch(() => {})
    const silent = (await atMost(CLOSE_MS, closes)) !== 'ended'
    this.#end(running, () => closed(), silent)
  }

  async #settled(question: Errand): Promise<void> {
    try {
      await (await this.#session()).question(question, '')
    } catch {
      // What cannot be asked has nothing to say.
    }
  }

  async #check(call: ConstrainCall, answer: ConstrainedAnswer): Promise<string | undefined> {
    const request = { ...call, answer }
    return (await (await this.#session()).value('check', request)) as string | undefined
  }

  #method<Name extends CallName>(name: Name): Required<Engine>[Name] {
    const ask = async (call: { readonly model: string; readonly signal: AbortSignal }) => {
      call.signal.throwIfAborted()
      return (await this.#session()).value(name, call)
    }
    // What comes back is what the contract says of this method.
    return ask as unknown as Required<Engine>[Name]
  }

  /** The line to the other side, which is begun if it must be; to what is taken in its place, if it cannot. */
  async #session(): Promise<Session> {
    const running = this.#run()
    const { instead } = this.#options
    if (!instead || this.#start !== this.#options.start) return running.session
    const cause = await running.begun
    if (cause === undefined) return running.session
    // Of all who wait, the first.
    if (this.#start === this.#options.start) this.#start = () => instead(cause)
    return this.#run().session
  }

  #run(): Running {
    if (this.#closed) throw closed()
    if (this.#running !== undefined) return this.#running
    const { instead } = this.#options
    let far: Far
    try {
      far = this.#start()
    } catch (cause) {
      if (!instead || this.#start !== this.#options.start) throw workerLost(cause)
      this.#start = () => instead(cause)
      return this.#run()
    }
    let began: (cause: unknown) => void
    const begun = new Promise<unknown>((resolve) => {
      began = resolve
    })
    const watch =
      far.pulse &&
      new Watch({
        pulse: far.pulse,
        standsMs: this.#options.standsMs ?? STANDS_MS,
        stands: (doing, ms) => this.#stood(running, doing, Math.round(ms / 1000)),
      })
    // Whoever waits for `ready`, and for nothing else, must not see the process end.
    let held = { busy: false, starting: true }
    const hold = (change: Partial<typeof held>) => {
      held = { ...held, ...change }
      const holds = held.busy || held.starting
      far.hold?.(holds)
      if (holds) watch?.begin()
      else watch?.end()
    }
    const session = new Session(far.port, {
      models: (models, ready) => {
        this.#models = models
        began(undefined)
        if (!ready) return
        this.#markReady()
        hold({ starting: false })
      },
      busy: (busy) => hold({ busy }),
    })
    const running: Running = { far, session, watch, begun }
    this.#learned.clear()
    this.#running = running
    hold({})
    void far.gone.then((cause) => {
      this.#end(running, () => workerLost(cause))
      began(cause)
    })
    return running
  }

  /** It computes without end: whoever it was for is told so, the others that they may ask again. */
  #stood(running: Running, doing: Doing | undefined, seconds: number): void {
    const culprit = running.session.culprit(doing)
    this.#options.log?.(
      `local-v1 ended its worker, which was stuck for ${seconds} s ${overDoing(doing)}${culprit ? ` (${culprit.words})` : ''}.`,
    )
    this.#end(running, (job) => stood(seconds, doing, culprit, job), true)
    // Who asks next finds it on its way.
    if (!this.#closed && !this.#running) void this.#session().catch(() => {})
  }

  /** What ran fails with its error; the next request starts anew. */
  #end(running: Running, errorOf: Parameters<Session['die']>[0], silent = false): void {
    if (this.#running !== running) return
    this.#running = undefined
    running.watch?.end()
    running.session.die(errorOf)
    running.far.end(silent)
    this.#models = this.#models.map(unloaded)
    this.#markReady()
  }
}

/** What an engine says of a model that it has loaded no longer holds. */
function unloaded(model: ModelInfo): ModelInfo {
  return model.metadata?.loaded === true ? { ...model, metadata: { ...model.metadata, loaded: false } } : model
}
