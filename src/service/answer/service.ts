import { type Engine, V1Error } from '../../contract/index.js'
import type { Constraints } from '../../grammar/index.js'
import { inTurns, isSmall, keptError, missingFlag, type Slices, spelled, textOfJson } from '../../platform/index.js'
import type { UsageEvent, UsageLedger } from '../../usage/index.js'
import type { Caller } from '../door/auth.js'
import type { Log } from '../door/log.js'
import type { Metrics } from '../door/metrics.js'
import type { Admission } from '../door/queue.js'
import type { BackgroundResponse } from '../endpoints/responses/store/background.js'
import type { Conversations } from '../endpoints/responses/store/conversations.js'
import type { Owner, ResponseStore } from '../endpoints/responses/store/store.js'
import type { Deadlines } from '../stream/abort.js'
import { readableOf } from '../stream/sse.js'
import { MOST_NAMED } from '../wire/fields.js'
import type { Bodies } from './bodies.js'
import type { Loader } from './loader.js'

/** What all requests of one service share. */
export interface Service {
  readonly engine: Engine
  /** Other names of models, each with the id that it stands for. */
  readonly aliases: ReadonlyMap<string, string>
  readonly admission: Admission
  readonly loader: Loader
  readonly constraints: Constraints
  readonly ledger: UsageLedger
  /** Kept only where somebody asks for them. */
  readonly metrics: Metrics | undefined
  readonly onUsage: ((event: UsageEvent) => void) | undefined
  readonly log: Log
  readonly bodyLimit: number
  readonly bodies: Bodies
  readonly deadlines: Deadlines
  /** For an engine that has finished all choices, and has not returned, and for what stores how an answer ended. */
  readonly patience: Deadlines
  readonly stallMs: number | undefined
  readonly describeSchema: boolean
  /** Whether decisions are told by a fitted temperature where a request does not say. */
  readonly calibrated: boolean
  /** Whether admins may load, unload and remove models. */
  readonly manages: boolean
  readonly responses: Responses
  readonly conversations: Conversations
  /** Fingerprints by model, as their last answers named them. */
  readonly fingerprints: Map<string, string>
}

/** What later requests may refer to. */
export interface Responses {
  readonly store: ResponseStore
  /** Whether a response is kept where its request does not say. */
  readonly always: boolean
  /** By id: those that are being made without anybody waiting. */
  readonly background: Map<string, BackgroundResponse>
}

/** One request on its way to its answer. */
export interface Exchange {
  readonly request: Request
  readonly requestId: string
  readonly path: string
  readonly query: string
  /** What the route's pattern left open, decoded: the id of a model, of a response. */
  readonly named: Readonly<Record<string, string>>
  readonly caller: Caller
  /** Known once it has been read. */
  bodyBytes?: number
  /** A run has it, which ends by itself once its client has gone or the time is up. */
  runs?: true
  readonly project: string | null
  /** Writes the request's line into the log, once. A stream calls it at its end. */
  end(status: number, details?: { model?: string; usage?: RequestUsage; error?: unknown }): void
}

/** Whose a response is that this request keeps or asks for. */
export const ownerOf = ({ caller, project }: Exchange): Owner => ({
  caller: caller.id,
  ...(caller.projectsApart && project !== null && { project }),
})

export interface RequestUsage {
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
}

/** A response before the headers that all responses share. */
export interface RouteResponse {
  readonly status: number
  /** A function: a document that is still to be spelled, for this caller. */
  readonly body: string | ReadableStream<Uint8Array> | null | ((caller: string) => string | ReadableStream<Uint8Array>)
  readonly headers: Readonly<Record<string, string>>
  /** It goes on after the handler has returned, and ends the exchange itself. */
  readonly streams?: boolean
}

export type Route = (service: Service, exchange: Exchange) => RouteResponse | Promise<RouteResponse>

const JSON_TYPE = { 'content-type': 'application/json' }

/** What a model or a store gives back may be many megabytes: it is sent whole where it is short, else as it is spelled. */
export function jsonResponse(value: unknown, headers?: Readonly<Record<string, string>>): RouteResponse {
  const body = (caller: string) => (isSmall(value) ? textOfJson(value) : streamOf(spelled(value), caller))
  return { status: 200, body, headers: headers ? { ...JSON_TYPE, ...headers } : JSON_TYPE }
}

/** As a stream, each piece in a turn of its own. */
export function streamOf(
  pieces: Generator<string, void, void>,
  caller: string | undefined,
): ReadableStream<Uint8Array> {
  return readableOf({
    pull: () => inTurns(nextOf(pieces), undefined, caller),
    cancel: () => void pieces.return(),
  })
}

/** Also the first in a turn of its own: hundreds may be read at once. */
export function* nextOf(pieces: Generator<string, void, void>): Slices<string | undefined> {
  yield
  return pieces.next().value ?? undefined
}

export type Method = 'GET' | 'POST' | 'DELETE'

/** One thing that can be asked for, under the base path. */
export interface EndpointEntry {
  readonly method: Method
  /** `{model}` stands for the id of a model, which holds a slash; any other name in braces for one segment. */
  readonly path: string
  readonly route: Route
  /** Answered without a key. */
  readonly open?: true
  /** For admins, and there only with `manageModels`. */
  readonly admin?: true
  /** There only with the option of this name. */
  readonly option?: 'metrics'
  /** A POST that takes no body. */
  readonly bare?: true
  /** How it tells what every endpoint tells, where that is not as OpenAI does. */
  readonly dialect?: Dialect
}

/** The words of another interface. */
export interface Dialect {
  /** The body of an error, for a client that names itself so. */
  error(error: V1Error, requestId: string, agent: string): object
  /** The header in which its clients look for the request's id. */
  readonly requestIdHeader: string
}

/** Endpoints that come as an entry point of their own, such as `messages()` of `local-v1/messages`. */
export interface EndpointSet {
  readonly endpoints: readonly object[]
}

const MAX_LENGTH = 80

/** What the answer has to say about the request: fields that were ignored, demands that nothing enforces. */
export function noticeHeaders(
  ignored: readonly string[],
  notEnforced: readonly string[],
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  if (ignored.length > 0) headers['x-ignored-fields'] = listOf(ignored)
  if (notEnforced.length > 0) headers['x-not-enforced'] = listOf(notEnforced)
  return headers
}

/** Names come from the request: only what a header may hold is repeated. */
function listOf(names: readonly string[]): string {
  const shown = names
    .slice(0, MOST_NAMED)
    .map((name) => name.slice(0, MAX_LENGTH).replace(/[^\x21-\x2b\x2d-\x7e]/g, '?'))
  return shown.join(', ') + (names.length > MOST_NAMED ? ', ...' : '')
}

/** One for all, without a place: six hundred may leave at once, and nobody is there to read it. The log wants to know. */
const LEFT = keptError(new V1Error(499, 'The client closed the request.', { code: 'client_closed_request' }))

/** The error to answer with; what is not ours to tell becomes a 500 that says nothing of it. */
export function requestError(error: unknown, clientLeft: boolean): V1Error {
  if (clientLeft) return LEFT
  if (V1Error.is(error)) return error
  const flag = missingFlag(error)
  if (flag !== undefined) {
    // Not in the words of the runtime, which name folders and variables.
    const message = `The service may not do what this request needs: start it with ${flag}.`
    return new V1Error(500, message, { code: 'not_permitted', headers: { 'x-should-retry': 'false' }, cause: error })
  }
  return new V1Error(500, 'The server had an error while processing your request.', { cause: error })
}

/** The headers that an error brings along, beside those of every answer. */
export function errorHeaders(error: V1Error): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/json', ...error.headers }
  if (error.status === 429 || error.status === 503) {
    const seconds = error.retryAfter ?? 1
    headers['retry-after'] = String(Math.ceil(seconds))
    headers['retry-after-ms'] = String(Math.round(seconds * 1000))
    headers['x-should-retry'] ??= 'true'
  }
  return headers
}
