import type { Engine } from '../../contract/index.js'
import type { Constraints } from '../../grammar/index.js'
import type { UsageEvent, UsageLedger } from '../../usage/index.js'
import type { Caller } from '../auth.js'
import type { Log } from '../log.js'
import type { Admission } from '../queue.js'
import type { Conversations } from '../responses/conversations.js'
import type { Owner, ResponseStore } from '../responses/store.js'
import type { Deadlines } from '../stream/abort.js'
import type { Bodies } from './bodies.js'
import { Json } from './json.js'
import type { Loader } from './loader.js'
import type { Metrics } from './metrics.js'
import type { BackgroundResponse } from './responses/background.js'

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

/** An answer before the headers that all answers share. */
export interface Answered {
  readonly status: number
  readonly body: string | ReadableStream<Uint8Array> | Json | null
  readonly headers: Readonly<Record<string, string>>
  /** It goes on after the handler has returned, and ends the exchange itself. */
  readonly streams?: boolean
}

export type Route = (service: Service, exchange: Exchange) => Answered | Promise<Answered>

const JSON_TYPE = { 'content-type': 'application/json' }

export function jsonAnswer(body: unknown, headers?: Readonly<Record<string, string>>): Answered {
  return { status: 200, body: new Json(body), headers: headers ? { ...JSON_TYPE, ...headers } : JSON_TYPE }
}
