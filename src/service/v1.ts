import { type Engine, type LoadProgress, V1Error } from '../contract/index.js'
import { Constraints, type Formats, type LayoutOption } from '../grammar/index.js'
import { memoryUsage, type UsageEvent, type UsageLedger } from '../usage/index.js'
import { Bodies } from './answer/bodies.js'
import { Loader } from './answer/loader.js'
import { timedOut } from './answer/run.js'
import type { EndpointEntry, EndpointSet, Service } from './answer/service.js'
import { authenticator, isSoleCaller, type Keys, lineOf } from './door/auth.js'
import { Entrance } from './door/entrance.js'
import { type Log, logFaults } from './door/log.js'
import { Metrics } from './door/metrics.js'
import { type ConnectionInfo, hostList, originList } from './door/origin.js'
import { PROJECT_HEADERS, Projects } from './door/project.js'
import { Admission } from './door/queue.js'
import { basePathOf, pathOf, pathUnder } from './door/request-url.js'
import { memoryResponses } from './endpoints/responses/store/shelved.js'
import type { ResponseStore } from './endpoints/responses/store/store.js'
import { Conversations } from './endpoints/responses/store/store.js'
import { ENDPOINTS } from './endpoints.js'
import { respond } from './respond.js'
import { Router } from './router.js'
import { Deadlines } from './stream/abort.js'

export interface V1Options {
  /** What runs the models. */
  engine: Engine
  /**
   * Other names under which models may be asked for, each with the id of its model: `{ 'gpt-4o-mini': 'local-v1/nano' }`.
   * A model's name without the namespace needs none where no other model has it.
   * @default none
   */
  aliases?: Readonly<Record<string, string>>
  /**
   * Who may ask: a list of keys, a function that knows them, or `'none'` to let everyone in. In a page or a service
   * worker that is the right choice: only the page's own origin can ask, and could read a key as well. It has no default,
   * so that no server is open by oversight.
   */
  keys: Keys
  /**
   * The path under which everything lies; clients are given it as the end of their `baseURL`.
   * @default '/v1'
   */
  basePath?: string
  /**
   * How many requests the engine is given at once. Of two or more the last is kept for a caller who has none running,
   * where there is more than one key. A request of `n` answers counts as so many.
   * @default 8
   */
  maxInFlight?: number
  /**
   * How many more may wait. Callers take turns; one request more is answered with 429, and so is the last of the
   * longest line when somebody else comes.
   * @default 100
   */
  maxQueue?: number
  /**
   * The longest that a request may take, from its first byte to the last of its answer, in milliseconds. `Infinity`: no
   * limit.
   * @default 600000, as long as OpenAI's clients wait
   */
  timeoutMs?: number
  /**
   * How long a client may read nothing of a streamed answer before it is taken to have left, in milliseconds.
   * `Infinity`: for ever.
   * @default 30000
   */
  stallMs?: number
  /**
   * How long a request waits for its model to be loaded before it is told to come back later, in milliseconds.
   * @default 60000
   */
  loadWaitMs?: number
  /**
   * The largest body, in bytes.
   * @default 1048576
   */
  bodyLimit?: number
  /**
   * The most bytes that bodies may hold together while they arrive. Beyond it the oldest unfinished body of the caller
   * who holds the most is answered with 503. As many may then wait in line; beyond it the line is full.
   * @default 67108864, or twice `bodyLimit` if that is more
   */
  bodiesLimit?: number
  /**
   * Origins whose pages may ask from a browser: `['https://app.example']`, or `['*']` for all.
   * @default none
   */
  cors?: readonly string[]
  /**
   * Host names that requests may be addressed to, against DNS rebinding; `'any'` lets all through.
   * @default any, but for connections from this machine, as `info` of `fetch` tells them, only `localhost`, names below
   * it and loopback addresses
   */
  hosts?: readonly string[] | 'any'
  /**
   * The headers that name the project a request is counted for, as `<team>/<project>`.
   * @default ['openai-project', 'compat-project']
   */
  projectHeaders?: readonly string[]
  /**
   * How many projects a caller may name while the service runs; those that `keys` list for a caller are not counted.
   * Usage is kept for each, and anybody with a key may invent names.
   * @default 1000
   */
  maxProjects?: number
  /**
   * Where usage is kept: `memoryUsage()`, `fileUsage(path)`, `indexedDbUsage()`, or your own.
   * @default memoryUsage()
   */
  usage?: UsageLedger
  /**
   * Where responses and conversations are kept: `memoryResponses()`, `folderResponses(path)`, `indexedDbResponses()`, or your own. With it
   * every response is kept unless its request says `store: false`, as OpenAI does; without it only those whose request
   * says `store: true`, in memory. Conversations are kept in any case.
   * @default memoryResponses(), for those that ask
   */
  responses?: ResponseStore
  /**
   * Hears of every request that was counted, as it ends.
   * @default nobody does
   */
  onUsage?: (event: UsageEvent) => void
  /**
   * Hears of every request as it ends, and of faults.
   * @default faults go to console.error
   */
  log?: Log
  /**
   * Whether engines may put a requested schema into the prompt, in words that suit the model. It makes answers better
   * and prompts longer.
   * @default true
   */
  describeSchema?: boolean
  /**
   * Whether decisions are told by a model's fitted temperature, where it has one and the request does not say.
   * @default false
   */
  calibrated?: boolean
  /**
   * How JSON content is laid out: on one line, with a space after `:` and `,`, or indented as
   * `JSON.stringify(value, null, indent)` writes it, which takes more tokens; or as the model likes, with at most so many
   * bytes of white space in a row. Arguments of tools are always compact.
   * @default 'compact'
   */
  layout?: LayoutOption
  /**
   * What names of `format` mean that are your own, before those that are known: the pattern that a text matches, or
   * `true` where the name only describes.
   * @default none: strict schemas with formats that nobody knows are refused
   */
  formats?: Formats
  /**
   * Whether admins may load, unload and remove models over HTTP: `POST models/<id>/load` and `/unload`, and
   * `DELETE models/<id>`. Who asks without a key, where none is needed, counts as one.
   * @default false
   */
  manageModels?: boolean
  /**
   * More than OpenAI's interface has: `[messages()]`, of `local-v1/messages`, is Anthropic's, and `[ollama()]`, of
   * `local-v1/ollama`, Ollama's.
   * @default none
   */
  endpoints?: readonly EndpointSet[]
  /**
   * Count requests, tokens and times, and tell them to Prometheus at `GET {basePath}/metrics`, with a key.
   * @default false
   */
  metrics?: boolean
}

export interface V1 {
  /**
   * Answers a request; never rejects. It may be passed on by itself:
   * `Deno.serve({ hostname: '127.0.0.1' }, v1.fetch)`, `Bun.serve({ hostname: '127.0.0.1', fetch: v1.fetch })`. A server
   * must pass what it knows of the connection, as those do: without `info` only `hosts` is looked at, and DNS rebinding
   * is not kept off where `hosts` is not set.
   */
  fetch(request: Request, info?: ConnectionInfo | object): Promise<Response>
  /** The path under which everything lies, without a slash at its end. */
  readonly basePath: string
  /** Whether the request's path lies under the base path. */
  match(request: { readonly url: string }): boolean
  /** Loads a model ahead of its first request. */
  load(model: string, onProgress?: (progress: LoadProgress) => void, signal?: AbortSignal): Promise<void>
  /** Hears of every load, whoever asked for it, until the returned function is called. */
  watchLoads(listener: (progress: LoadProgress) => void): () => void
  /** Frees a model; its next request loads it again. */
  unload(model: string): Promise<void>
  /** Refuses new requests, lets running ones end, then closes the ledger and the engine. */
  close(): Promise<void>
}

/**
 * The service: a handler of Fetch requests under `/v1`, over an engine.
 *
 * ```ts
 * const v1 = createV1({ engine: webgpu({ models: [nano] }), keys: ['a-key-of-yours'] })
 * const response = await v1.fetch(new Request('http://device/v1/models'))
 * ```
 */
export function createV1(options: V1Options): V1 {
  const { engine, usage = memoryUsage() } = expectEngine(options)
  const base = basePathOf(options.basePath ?? '/v1')
  const log = options.log ?? logFaults
  const loader = new Loader(engine, positive('loadWaitMs', options.loadWaitMs ?? 60_000), (error) =>
    log({ type: 'fault', message: 'A listener to loads threw an error.', error }),
  )
  const bodyLimit = positive('bodyLimit', options.bodyLimit ?? 2 ** 20)
  const bodiesLimit = positive('bodiesLimit', options.bodiesLimit ?? Math.max(2 ** 26, 2 * bodyLimit), bodyLimit)
  const admission = new Admission({
    maxInFlight: positive('maxInFlight', options.maxInFlight ?? 8),
    maxQueue: positive('maxQueue', options.maxQueue ?? 100, 0),
    maxWaitingBytes: bodiesLimit,
    soleCaller: isSoleCaller(options.keys),
  })
  const store = options.responses ?? memoryResponses()
  const service: Service = {
    engine,
    aliases: aliasesOf(options.aliases),
    admission,
    loader,
    ledger: usage,
    constraints: new Constraints(options.layout, options.formats),
    metrics: options.metrics ? new Metrics() : undefined,
    onUsage: options.onUsage,
    log,
    bodyLimit,
    bodies: new Bodies(bodiesLimit),
    deadlines: new Deadlines(timeLimit('timeoutMs', options.timeoutMs ?? 600_000), timedOut),
    stallMs: timeLimit('stallMs', options.stallMs ?? 30_000),
    describeSchema: options.describeSchema ?? true,
    calibrated: options.calibrated ?? false,
    manages: options.manageModels ?? false,
    responses: {
      store,
      always: options.responses !== undefined,
      background: new Map(),
    },
    conversations: new Conversations(store.conversations ?? memoryResponses().conversations!),
    fingerprints: new Map(),
  }
  const door = {
    base,
    authenticate: authenticator(options.keys),
    entrance: new Entrance(),
    lineOf: lineOf(options.keys),
    router: new Router(
      [...ENDPOINTS, ...endpointsOf(options)].filter(
        ({ admin, option }) => (!admin || options.manageModels) && (option === undefined || options[option]),
      ),
    ),
    projects: new Projects(
      (options.projectHeaders ?? PROJECT_HEADERS).map((name) => name.toLowerCase()),
      positive('maxProjects', options.maxProjects ?? 1000),
    ),
    origins: { cors: originList(options.cors ?? []), hosts: hostList(options.hosts) },
  }
  void openLedger(service)
  let closing: Promise<void> | undefined
  const close = async () => {
    loader.close()
    await admission.close()
    await usage.close?.()
    await service.responses.store.close?.()
    await engine.close?.()
  }
  return {
    fetch: (request, info) => respond(service, door, request, info),
    basePath: base,
    match({ url }) {
      const path = pathOf(url)
      return path !== undefined && pathUnder(base, path) !== undefined
    },
    load: (model, onProgress, signal) => loader.load(model, onProgress, signal),
    watchLoads: (listener) => loader.watch(listener),
    unload: (model) => loader.unload(model),
    close() {
      closing ??= close()
      return closing
    },
  }
}

/** What could not be kept is better known before the first request than after it. */
async function openLedger({ ledger, log }: Service): Promise<void> {
  try {
    await ledger.open?.()
  } catch (error) {
    log({ type: 'fault', message: 'The usage of requests cannot be kept.', error })
  }
}

/** JavaScript is told as well as TypeScript is, and before the first request. */
function expectEngine(options: V1Options): V1Options {
  const { engine } = (options ?? {}) as Partial<V1Options>
  if (Array.isArray(engine?.models) && typeof engine.generate === 'function') {
    if ((engine.version ?? 1) <= 2) return options
    throw new TypeError(
      `createV1: 'engine' needs version ${engine.version} of the engine contract; this version of local-v1 supports up to 2. Update local-v1.`,
    )
  }
  throw new TypeError(
    "createV1: 'engine' must be an engine, as in createV1({ engine: webgpu({ models: ['local-v1/nano'] }) }).",
  )
}

/** They are ours, whatever their type shows. */
const endpointsOf = ({ endpoints = [] }: V1Options): EndpointEntry[] =>
  endpoints.flatMap((set) => set.endpoints as readonly EndpointEntry[])

function aliasesOf(given: V1Options['aliases'] = {}): ReadonlyMap<string, string> {
  for (const [alias, id] of Object.entries(given)) {
    if (typeof id === 'string' && alias !== '') continue
    throw new TypeError(`createV1: 'aliases' must give the id of a model for each name: '${alias}' has none.`)
  }
  return new Map(Object.entries(given))
}

function positive(name: string, value: number, least = 1): number {
  // A number that is none would switch the limit off without a word.
  if (!(value >= least)) throw new V1Error(500, `createV1: '${name}' must be a number of at least ${least}.`)
  return value
}

/** More than a timer can wait for, three weeks and a half, is no limit. */
function timeLimit(name: string, value: number): number | undefined {
  return positive(name, value) > 2 ** 31 - 1 ? undefined : value
}
