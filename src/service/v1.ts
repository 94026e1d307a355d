import { type Engine, type LoadProgress, V1Error } from '../contract/index.js'
import { Constraints, type Formats, type LayoutOption } from '../grammar/index.js'
import { assertOptions, Entrance, type OptionNames } from '../platform/index.js'
import { memoryUsage, type UsageEvent, type UsageLedger } from '../usage/index.js'
import { Bodies } from './answer/bodies.js'
import { Loader, waitFor } from './answer/loader.js'
import { notStored, timedOut } from './answer/run.js'
import type { EndpointEntry, EndpointSet, Service } from './answer/service.js'
import { authenticator, isSoleCaller, type Keys, lineOf, PROJECT_HEADERS, Projects } from './door/auth.js'
import { type Log, logFaults } from './door/log.js'
import { Metrics } from './door/metrics.js'
import { basePathOf, type ConnectionInfo, hostList, originList, pathOf, pathUnder } from './door/origin.js'
import { Admission } from './door/queue.js'
import { Conversations } from './endpoints/responses/store/conversations.js'
import { memoryResponses } from './endpoints/responses/store/shelved.js'
import type { ResponseStore } from './endpoints/responses/store/store.js'
import { telling } from './endpoints/responses/store/telling.js'
import { ENDPOINTS } from './endpoints.js'
import { Router, respond } from './respond.js'
import { Deadlines, LEAVE_MS } from './stream/abort.js'

export interface V1Options {
  /** What runs the models. */
  engine: Engine
  /**
   * Other names for models, each with the id of its model: `{ 'gpt-4o-mini': 'local-v1/nano' }`. A model's name without
   * the namespace works without an alias if only one model has that name.
   * @default none
   */
  aliases?: Readonly<Record<string, string>>
  /**
   * Who may send requests: a list of keys, a function that knows them, or `'none'` to let everyone in. Use `'none'` in a
   * page or a service worker: only the page's own origin can send requests there, and it could also read a key. It has
   * no default, so that no server is open by mistake.
   */
  keys: Keys
  /**
   * The path of the service; the `baseURL` of clients ends with it.
   * @default '/v1'
   */
  basePath?: string
  /**
   * How many requests the engine runs at once. If there is more than one key and this is two or more, the last place is
   * reserved for a caller who has no running request. A request for `n` answers counts as `n`.
   * @default 8
   */
  maxInFlight?: number
  /**
   * How many more may wait. Callers take turns. A request beyond that gets a 429, or, if its caller has few waiting, the
   * last request of the caller with the most waiting ones gets it.
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
   * How long a client may stop reading a streamed answer before it counts as having left, in milliseconds.
   * `Infinity`: for ever.
   * @default 30000
   */
  stallMs?: number
  /**
   * How long a request waits for its model to be loaded before it gets a 503 (try again later), in milliseconds.
   * @default 60000
   */
  loadWaitMs?: number
  /**
   * The largest body, in bytes.
   * @default 1048576
   */
  bodyLimit?: number
  /**
   * The most bytes of all request bodies together while they arrive, or wait for a model to be loaded. Beyond that, the
   * oldest of these of the caller with the most bytes gets a 503. The bodies of waiting requests have the same limit; beyond
   * that the queue is full.
   * @default 67108864, or twice `bodyLimit` if that is more
   */
  bodiesLimit?: number
  /**
   * Origins whose pages may send requests: `['https://app.example']`, or `['*']` for all.
   * @default none
   */
  cors?: readonly string[]
  /**
   * The host names under which requests are answered, against DNS rebinding; `'any'`: all.
   * @default any; for connections from this machine (see `info` of `fetch`) only `localhost`, names that end in
   * `.localhost` and loopback addresses
   */
  hosts?: readonly string[] | 'any'
  /**
   * The headers that name the project a request is counted for, as `<team>/<project>`.
   * @default ['openai-project', 'compat-project']
   */
  projectHeaders?: readonly string[]
  /**
   * How many projects a caller may name while the service runs; those that `keys` list for a caller are not counted.
   * Usage is stored for each, and anybody with a key can invent names.
   * @default 1000
   */
  maxProjects?: number
  /**
   * Where usage is stored: `memoryUsage()`, `fileUsage(path)`, `indexedDbUsage()`, or your own.
   * @default memoryUsage()
   */
  usage?: UsageLedger
  /**
   * Where responses and conversations are stored: `memoryResponses()`, `folderResponses(path)`, `indexedDbResponses()`, or
   * your own. With it, every response is stored unless its request says `store: false`, as at OpenAI; without it, only
   * those whose request says `store: true`, in memory. Conversations are always stored.
   * @default memoryResponses(), for requests with `store: true`
   */
  responses?: ResponseStore
  /**
   * Called for every counted request when it ends.
   * @default none
   */
  onUsage?: (event: UsageEvent) => void
  /**
   * Called for every request when it ends, and for faults.
   * @default faults go to console.error
   */
  log?: Log
  /**
   * Whether engines may describe the schema in the prompt, in a form that suits the model. Answers become better and
   * prompts longer.
   * @default true
   */
  describeSchema?: boolean
  /**
   * Whether decisions use the fitted temperature of a model that has one, if the request does not say.
   * @default false
   */
  calibrated?: boolean
  /**
   * How JSON content is written: compact, with a space after `:` and `,`, or indented like
   * `JSON.stringify(value, null, indent)`, which takes more tokens; or as the model chooses, with a limit of bytes of white
   * space in a row. Arguments of tools are always compact.
   * @default 'compact'
   */
  layout?: LayoutOption
  /**
   * Your own names for `format`, which come before the known ones: the pattern that a text must match, or `true` for a
   * name without a rule.
   * @default none: strict schemas with unknown formats are refused
   */
  formats?: Formats
  /**
   * Whether admins may load, unload and remove models over HTTP: `POST models/<id>/load` and `/unload`, and
   * `DELETE models/<id>`. With `keys: 'none'` everyone is an admin.
   * @default false
   */
  manageModels?: boolean
  /**
   * Other interfaces than OpenAI's: `[messages()]` of `local-v1/messages` is Anthropic's, `[ollama()]` of
   * `local-v1/ollama` is Ollama's.
   * @default none
   */
  endpoints?: readonly EndpointSet[]
  /**
   * Counts requests, tokens and times for Prometheus, at `GET {basePath}/metrics`, with a key.
   * @default false
   */
  metrics?: boolean
}

export interface V1 {
  /**
   * Answers a request; never rejects. It works without its object:
   * `Deno.serve({ hostname: '127.0.0.1' }, v1.fetch)`, `Bun.serve({ hostname: '127.0.0.1', fetch: v1.fetch })`. A server
   * must pass what it knows of the connection as `info`, as these do. Without `info` only `hosts` is checked, and without
   * `hosts` there is no protection against DNS rebinding.
   */
  fetch(request: Request, info?: ConnectionInfo | object): Promise<Response>
  /** The path of the service, without a slash at its end. */
  readonly basePath: string
  /** Whether the request's path is below the base path. */
  match(request: { readonly url: string }): boolean
  /** Loads a model before its first request. */
  load(model: string, onProgress?: (progress: LoadProgress) => void, signal?: AbortSignal): Promise<void>
  /** Calls the listener for every load, whoever started it, until the returned function is called. */
  watchLoads(listener: (progress: LoadProgress) => void): () => void
  /** Frees a model; its next request loads it again. */
  unload(model: string): Promise<void>
  /**
   * Refuses new requests, lets running ones end, then closes the ledger and the engine. Once `cut` aborts, whoever still
   * waits for an answer gets an error instead, and what was made of it is counted. It rejects if ledger or engine cannot be
   * closed, or take longer than `timeoutMs` for it.
   */
  close(cut?: AbortSignal): Promise<void>
}

/**
 * The service: a handler of Fetch requests under `/v1`, which an engine answers.
 *
 * ```ts
 * const v1 = createV1({ engine: webgpu({ models: [nano] }), keys: ['a-key-of-yours'] })
 * const response = await v1.fetch(new Request('http://device/v1/models'))
 * ```
 */
export function createV1(options: V1Options): V1 {
  expectRequest()
  const { engine, usage = memoryUsage() } = expectEngine(options)
  const base = basePathOf(options.basePath ?? '/v1')
  const log = options.log ?? logFaults
  const loader = new Loader(engine, timeLimit('loadWaitMs', options.loadWaitMs ?? 60_000), (error) =>
    log({ type: 'fault', message: 'A listener for model loading threw an error.', error }),
  )
  const bodyLimit = positive('bodyLimit', options.bodyLimit ?? 2 ** 20)
  const bodiesLimit = positive('bodiesLimit', options.bodiesLimit ?? Math.max(2 ** 26, 2 * bodyLimit), bodyLimit)
  const admission = new Admission({
    maxInFlight: positive('maxInFlight', options.maxInFlight ?? 8),
    maxQueue: positive('maxQueue', options.maxQueue ?? 100, 0),
    maxWaitingBytes: bodiesLimit,
    soleCaller: isSoleCaller(options.keys),
  })
  const timeoutMs = timeLimit('timeoutMs', options.timeoutMs ?? 600_000)
  const store = telling(options.responses ?? memoryResponses())
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
    deadlines: new Deadlines(timeoutMs, timedOut),
    patience: new Deadlines(LEAVE_MS, notStored),
    stallMs: timeLimit('stallMs', options.stallMs ?? 30_000),
    describeSchema: options.describeSchema ?? true,
    calibrated: options.calibrated ?? false,
    manages: options.manageModels ?? false,
    responses: {
      store,
      always: options.responses !== undefined,
      background: new Map(),
    },
    conversations: new Conversations(store.conversations, (id, error) => {
      log({
        type: 'fault',
        message: `The conversation ${id} stands as it was written late: its last change is lost.`,
        error,
      })
    }),
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
  // Whoever asks is told of it; before that it would end the process.
  Promise.resolve(engine.ready).catch((error: unknown) =>
    log({ type: 'fault', message: 'The engine is not ready.', error }),
  )
  let closing: Promise<void> | undefined
  const close = async () => {
    loader.close()
    await admission.close()
    // How they ended is written after their places are free.
    await Promise.all([...service.responses.background.values()].map((each) => each.ended()))
    // What one of them cannot close keeps none of the others open.
    const failed: unknown[] = []
    for (const [name, part] of Object.entries({ usage, responses: store, engine })) {
      await closed(name, part, timeoutMs).catch((error: unknown) => failed.push(error))
    }
    if (failed.length > 0) throw failed[0]
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
    close(cut) {
      const end = () => service.deadlines.endAll(cutOff())
      closing ??= close()
      if (cut?.aborted) end()
      else cut?.addEventListener('abort', end, { once: true })
      return closing
    },
  }
}

/** As long as a request may take: whose engine or store it is, nobody knows, nor whether that ever ends. */
async function closed(name: string, part: { close?(): void | Promise<void> }, ms: number | undefined): Promise<void> {
  const message = `'${name}' took longer than ${ms} ms to close, and is not waited for: something of it may still be open.`
  const late = () => new V1Error(504, message, { code: 'timeout' })
  await waitFor(Promise.resolve(part.close?.()), undefined, ms, late)
}

function cutOff(): V1Error {
  const message = 'The service was stopped before the answer was finished. Send the request again.'
  return new V1Error(503, message, { code: 'closing', retryAfter: 5 })
}

/** What could not be kept is better known before the first request than after it. */
async function openLedger({ ledger, log }: Service): Promise<void> {
  try {
    await ledger.open?.()
  } catch (error) {
    log({ type: 'fault', message: 'The usage of requests cannot be stored.', error })
  }
}

/**
 * A Cloudflare Worker ends what a request has open with it, also where others wait for that. Outside of requests it gives
 * no random numbers, which every other runtime does.
 */
function expectRequest(): void {
  try {
    crypto.getRandomValues(new Uint8Array(1))
  } catch (cause) {
    const message =
      'createV1: in a Cloudflare Worker, call it inside fetch, with each request; requests cannot share it.'
    throw new TypeError(message, { cause })
  }
}

const OPTIONS: OptionNames<V1Options> = {
  engine: true,
  aliases: true,
  keys: true,
  basePath: true,
  maxInFlight: true,
  maxQueue: true,
  timeoutMs: true,
  stallMs: true,
  loadWaitMs: true,
  bodyLimit: true,
  bodiesLimit: true,
  cors: true,
  hosts: true,
  projectHeaders: true,
  maxProjects: true,
  usage: true,
  responses: true,
  onUsage: true,
  log: true,
  describeSchema: true,
  calibrated: true,
  layout: true,
  formats: true,
  manageModels: true,
  endpoints: true,
  metrics: true,
}

/** JavaScript is told as well as TypeScript is, and before the first request. */
function expectEngine(options: V1Options): V1Options {
  assertOptions('createV1', options, OPTIONS)
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
