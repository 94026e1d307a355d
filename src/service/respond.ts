import { V1Error } from '../contract/index.js'
import { byteLength, decodedPart, type Entrance, wholeTexts } from '../platform/index.js'
import {
  type Dialect,
  type EndpointEntry,
  type Exchange,
  errorHeaders,
  type Method,
  type RouteResponse,
  requestError,
  type Service,
} from './answer/service.js'
import type { Authenticate, Caller, Projects } from './door/auth.js'
import {
  type ConnectionInfo,
  checkOrigin,
  corsHeaders,
  type OriginRules,
  pathOf,
  pathUnder,
  preflightHeaders,
  type RequestUrl,
  requestUrlOf,
} from './door/origin.js'
import { inTime } from './stream/abort.js'
import { newId } from './wire/ids.js'

/** What stands before the routes. */
export interface Door {
  readonly base: string
  readonly router: Router
  readonly authenticate: Authenticate
  readonly entrance: Entrance
  /** In which line of the entrance a request waits. */
  readonly lineOf: (request: Request) => string
  readonly projects: Projects
  readonly origins: OriginRules
}

/** From a request to its answer: whatever happens on the way, the answer is one. */
export async function respond(
  service: Service,
  door: Door,
  request: Request,
  info: ConnectionInfo | undefined,
): Promise<Response> {
  const began = performance.now()
  // First of all: what is done for one is little, and three hundred may have come at once.
  const turn = door.entrance.enter(door.lineOf(request))
  if (turn) await turn
  const id = newId('req_')
  const url = requestUrlOf(request.url)
  const path = url?.pathname ?? pathOf(request.url) ?? ''
  const line = logLine(service, { requestId: id, method: request.method, path }, began)
  const toResponse = ({ status, body: given, headers }: RouteResponse) => {
    // What is still to be spelled comes of a route, which only a known caller reaches.
    const body = typeof given === 'function' ? given(line.caller!.id) : given
    // What is whole says how long it is: servers send it in one piece, and clients know when they have all of it.
    const sent: Record<string, string> = {
      'x-request-id': id,
      'openai-processing-ms': String(Math.round(performance.now() - began)),
    }
    if (line.dialect) sent[line.dialect.requestIdHeader] = id
    if (typeof body === 'string') sent['content-length'] = String(byteLength(body))
    Object.assign(sent, corsHeaders(request, door.origins.cors))
    for (const name in headers) sent[name] = headers[name]!
    if (request.method === 'HEAD') return new Response(null, { status, headers: sent })
    const response = new Response(body, { status, headers: sent })
    if (typeof body === 'string') wholeTexts.set(response, body)
    return response
  }
  try {
    // Of hundreds that waited many may have gone, and nothing is begun for nobody.
    if (turn) request.signal.throwIfAborted()
    const answered = await answer(service, door, request, url, id, info, line)
    const response = toResponse(answered)
    if (!answered.streams) line.write(answered.status)
    return response
  } catch (error) {
    // What breaks because its reader has gone is no fault of ours; what was refused before stays what it is.
    const shown = requestError(error, request.signal.aborted && !V1Error.is(error))
    line.write(shown.status, { error })
    try {
      const body = JSON.stringify(line.dialect?.error(shown, id, request.headers.get('user-agent') ?? '') ?? shown)
      return toResponse({ status: shown.status, body, headers: errorHeaders(shown) })
    } catch (cause) {
      // An error of somebody else's making, with a status or a header that no answer can have.
      const plain = requestError(cause, false)
      return new Response(JSON.stringify(plain), { status: plain.status, headers: errorHeaders(plain) })
    }
  }
}

async function answer(
  service: Service,
  door: Door,
  request: Request,
  url: RequestUrl | undefined,
  id: string,
  info: ConnectionInfo | undefined,
  line: LogLine,
): Promise<RouteResponse> {
  if (url === undefined) throw invalidHost()
  checkOrigin(request, url, door.origins, info)
  // Below the base path, or where nothing else took the path, as it stands: some clients leave the base path out, and
  // others ask a server of open models for what lies beside it (`/tokenize`, `/health`).
  const found = door.router.find(pathUnder(door.base, url.pathname) ?? url.pathname)
  if (!found) throw unknownPath(request.method, url.pathname, door)
  const { allow } = found
  line.dialect = found.dialect
  if (request.method === 'OPTIONS') return options(request, allow, door.origins.cors)
  const endpoint = found.endpoints.get((request.method === 'HEAD' ? 'GET' : request.method) as Method)
  if (!endpoint) throw wrongMethod(request, url.pathname, allow)
  line.endpoint = endpoint.path
  if (service.admission.closed) throw closing()
  const { deadlines } = service
  const { signal } = request
  const caller = endpoint.open ? NOBODY : await inTime(door.authenticate(request), deadlines, signal)
  line.caller = caller
  // Bun ends what says nothing for ten seconds, and a model may read a prompt for longer.
  if (typeof info?.timeout === 'function') info.timeout(request, 0)
  const project = endpoint.open ? null : door.projects.of(request, caller)
  line.project = project
  if (endpoint.admin && !caller.admin) throw adminOnly()
  const exchange: Exchange = {
    request,
    requestId: id,
    path: url.pathname,
    query: url.search,
    named: found.named,
    caller,
    project,
    end: line.write,
  }
  return inTime(endpoint.route(service, exchange), deadlines, signal, () => exchange.runs === true)
}

/** Who asks for what is open to all. */
const NOBODY: Caller = { id: 'anonymous' }

function options(request: Request, allow: string, cors: readonly string[]): RouteResponse {
  const preflight = request.headers.get('access-control-request-method') !== null
  const granted = preflight && 'access-control-allow-origin' in corsHeaders(request, cors)
  return { status: 204, body: null, headers: { allow, ...(granted && preflightHeaders(request, allow)) } }
}

function invalidHost(): V1Error {
  return new V1Error(400, "The 'Host' header of your request is not a host name.", { code: 'invalid_host' })
}

function unknownPath(method: string, written: string, { base, router }: Door): V1Error {
  const path = written.slice(0, 200)
  const message = `Invalid URL (${method.slice(0, 20)} ${path}).${baseAdvice(path, base, router)} Under '${base || '/'}' there are: ${router.summary}.`
  return new V1Error(404, message, { code: 'unknown_url' })
}

/** Of a path that ends like one of ours: which base URL its client should have. */
function baseAdvice(path: string, base: string, router: Router): string {
  const within = pathUnder(base, path)
  const under = within ?? path
  for (const [ends, interfaces] of ADDED)
    if (ends.test(under) && !router.find(under.replace('/v1', ''))) return interfaces
  const isOurs = [...path.matchAll(/\/(?=.)/g)].some(({ index }) => router.find(path.slice(index)))
  if (!isOurs) return ''
  const address = (start: string) => (start === '' ? 'address' : `address followed by '${start}'`)
  if (!base.endsWith('/v1') || !within?.startsWith('/v1/')) {
    return ` The base URL of your client must be this server's ${address(base)}.`
  }
  return ` Your client writes '/v1' itself, as Anthropic's do: its base URL must be this server's ${address(base.slice(0, -3))}, without '/v1'.`
}

/** What a service may have beside OpenAI's interface. */
const ADDED = [
  [/^(\/v1)?\/messages(\/count_tokens)?$/, " Anthropic's interface is added by 'endpoints: [messages()]'."],
  [/^(\/v1)?\/api\/(chat|generate|tags|show|embed|ps)$/, " Ollama's interface is added by 'endpoints: [ollama()]'."],
] as const

function adminOnly(): V1Error {
  return new V1Error(403, 'Only an admin may load, unload and remove models.', { code: 'admin_only' })
}

function wrongMethod({ method, headers }: Request, path: string, allow: string): V1Error {
  if (headers.get('upgrade')?.toLowerCase() === 'websocket') {
    const message = `There are no WebSockets on ${path.slice(0, 200)}: send a POST with 'stream' set to true.`
    return new V1Error(405, message, { code: 'websocket_not_supported', headers: { allow } })
  }
  return new V1Error(405, `Not allowed to ${method.slice(0, 20)} on ${path.slice(0, 200)}. Allowed: ${allow}.`, {
    code: 'method_not_allowed',
    headers: { allow },
  })
}

function closing(): V1Error {
  return new V1Error(503, 'The service is closing and takes no new requests.', { code: 'closing', retryAfter: 5 })
}

/** The request's line in the log: filled in on the way, written once. */
interface LogLine {
  caller?: Caller
  project?: string | null
  /** As the table has it; what is not there is counted as none. */
  endpoint: string
  /** Of the endpoint, where it has one. */
  dialect?: Dialect | undefined
  readonly write: Exchange['end']
}

function logLine(service: Service, about: { requestId: string; method: string; path: string }, began: number): LogLine {
  let written = false
  const line: LogLine = {
    endpoint: 'none',
    write(status, details) {
      if (written) return
      written = true
      const durationMs = performance.now() - began
      const { caller, project, endpoint } = line
      service.metrics?.ended({ endpoint, status, seconds: durationMs / 1000, usage: details?.usage })
      try {
        service.log({ type: 'request', ...about, status, durationMs, caller: caller?.id, project, ...details })
      } catch (error) {
        console.error('local-v1: log threw an error.', error)
      }
    },
  }
  return line
}

/** What lies at one path: an endpoint for each method that it takes. */
interface RoutePlace {
  readonly endpoints: ReadonlyMap<Method, EndpointEntry>
  /** The methods as `Allow` names them. */
  readonly allow: string
  /** In which all of them tell what every endpoint tells, where that is not as OpenAI does. */
  readonly dialect: Dialect | undefined
}

interface FoundRoute extends RoutePlace {
  /** What stood in the path for each name in braces, decoded. */
  readonly named: Readonly<Record<string, string>>
}

const NOTHING_NAMED = {}

interface Pattern extends RoutePlace {
  /** The path as far as it is fixed. */
  readonly start: string
  /** What may follow it, decoded. */
  readonly rest: RegExp
  /** How many characters stand beside its names: of two patterns that fit, the one with more is meant. */
  readonly literals: number
}

/** Finds endpoints by their paths. */
export class Router {
  readonly #fixed = new Map<string, FoundRoute>()
  readonly #patterns: Pattern[] = []
  /** Every endpoint as people write it. */
  readonly summary: string

  constructor(endpoints: readonly EndpointEntry[]) {
    this.summary = endpoints.map(({ method, path }) => `${method} ${path || '/'}`).join(', ')
    for (const path of new Set(endpoints.map((each) => each.path))) {
      const place = placeOf(endpoints.filter((each) => each.path === path))
      const open = path.indexOf('{')
      if (open === -1) this.#fixed.set(path, { ...place, named: NOTHING_NAMED })
      else {
        const literals = path.replace(NAME, '').length
        this.#patterns.push({ ...place, start: path.slice(0, open), rest: restOf(path.slice(open)), literals })
      }
    }
    this.#patterns.sort((a, b) => b.literals - a.literals)
  }

  find(written: string): FoundRoute | undefined {
    // Some clients write a slash at the end; no id and no path of ours ends in one.
    const path = written.endsWith('/') ? written.slice(0, -1) : written
    const place = this.#fixed.get(path)
    if (place !== undefined) return place
    // An id whose slash is escaped is the same id; one that cannot be read is nobody's.
    for (const { start, rest, endpoints, allow, dialect } of this.#patterns) {
      const found = path.startsWith(start) ? rest.exec(decodedPart(path.slice(start.length))) : null
      if (found) return { endpoints, allow, dialect, named: found.groups! }
    }
    return undefined
  }
}

function placeOf(endpoints: readonly EndpointEntry[]): RoutePlace {
  const byMethod = new Map(endpoints.map((endpoint) => [endpoint.method, endpoint]))
  const allowed = [
    ...(byMethod.has('GET') ? ['GET', 'HEAD'] : []),
    ...(['POST', 'DELETE'] as const).filter((method) => byMethod.has(method)),
    'OPTIONS',
  ]
  return { endpoints: byMethod, allow: allowed.join(', '), dialect: endpoints.find((each) => each.dialect)?.dialect }
}

const NAME = /\{(\w+)\}/g

/** The id of a model has one slash: what comes after another is no part of it where something must follow. */
function restOf(rest: string): RegExp {
  if (rest === '{model}') return /(?<model>.*)/s
  return new RegExp(`^${rest.replace(NAME, (_, name) => `(?<${name}>[^/]+${name === 'model' ? '/[^/]+' : ''})`)}$`)
}
