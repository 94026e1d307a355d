import { V1Error, type V1ErrorType } from '../../src/contract/errors.js'
import { eventData } from '../../src/platform/event-stream.js'

/** Any `/v1`: its address, and how to reach it if not over the network. */
export interface Endpoint {
  readonly baseURL: string
  /** @default none is sent */
  readonly apiKey?: string
  /** @default the global one */
  readonly fetch?: (input: string, init?: RequestInit) => Promise<Response>
}

/**
 * What answers: a service of `createV1` in this process, the result of `install` of `local-v1/service-worker`, or any `/v1`
 * by its address.
 */
export type Target = ServiceTarget | DeviceTarget | Endpoint

/** The part of a service that is used here. */
export interface ServiceTarget {
  readonly basePath: string
  fetch(request: Request): Promise<Response>
}

/** The part of the result of `install` that is used here. */
export interface DeviceTarget {
  readonly client: { readonly baseURL: string }
  readonly fetch: (input: string, init?: RequestInit) => Promise<Response>
}

export type OpenEndpoint = Endpoint & Required<Pick<Endpoint, 'fetch'>>

/** One of these is in each kind of target. */
const NAMED = ['basePath', 'client', 'baseURL']

export function endpointOf(target: Target): OpenEndpoint {
  if (!NAMED.some((name) => typeof target === 'object' && name in target)) {
    const message = "Name what answers: a service of 'createV1', the result of 'install', or '{ baseURL }' of a /v1."
    throw new V1Error(400, message, { code: 'invalid_value', param: 'from' })
  }
  if ('basePath' in target) {
    // The name is that of this machine: nobody listens there, and the service takes it for itself.
    const baseURL = `http://localhost${target.basePath}`
    return { baseURL, fetch: (input, init) => target.fetch(new Request(input, init)) }
  }
  if ('client' in target) return { baseURL: target.client.baseURL, fetch: target.fetch }
  const given = target.fetch ?? ((input: string, init?: RequestInit) => fetch(input, init))
  return { ...target, baseURL: target.baseURL.replace(/\/+$/, ''), fetch: given }
}

export interface ClientRequest {
  readonly method?: 'GET' | 'POST' | 'DELETE'
  readonly body?: object
  readonly signal?: AbortSignal | undefined
  /** Beside those that every request has. */
  readonly headers?: Readonly<Record<string, string | undefined>>
}

/** The answer, if it is a good one; else the error that it tells of. */
export async function sendRequest(endpoint: OpenEndpoint, path: string, asking: ClientRequest = {}): Promise<Response> {
  const { body, signal, method = body === undefined ? 'GET' : 'POST', headers: more = {} } = asking
  const headers = {
    ...Object.fromEntries(Object.entries(more).filter((each): each is [string, string] => each[1] !== undefined)),
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(endpoint.apiKey !== undefined && { authorization: `Bearer ${endpoint.apiKey}` }),
  }
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }), ...(signal && { signal }) }
  const response = await endpoint.fetch(endpoint.baseURL + path, init)
  if (response.ok) return response
  throw errorOf(response.status, await response.json().catch(() => undefined))
}

/** The events of a stream, as JSON, to its end. */
export async function* events<T>(response: Response): AsyncGenerator<T> {
  if (!response.body) return
  let ended = false
  for await (const data of eventData(response.body)) {
    ended ||= data.trim() === '[DONE]'
    if (!ended) yield eventOf<T>(data)
  }
  if (!ended) throw new V1Error(502, 'The answer ended before it was complete.', { code: 'cut_off' })
}

function eventOf<T>(data: string): T {
  const event = JSON.parse(data) as T
  if (typeof event === 'object' && event !== null && 'error' in event && event.error) throw errorOf(500, event)
  return event
}

function errorOf(status: number, body: unknown): V1Error {
  const { error } = (body ?? {}) as { error?: { message?: string; type?: V1ErrorType; code?: string; param?: string } }
  const {
    message = `The answer has status ${status} and is not from a /v1: check the base URL.`,
    type,
    code,
    param,
  } = error ?? {}
  return new V1Error(status, message, { ...(type && { type }), ...(code && { code }), ...(param && { param }) })
}

/** What a list of models says of one; services that are not ours say no `capabilities`. */
interface ListedModel {
  readonly id: string
  readonly capabilities?: { readonly decisions?: boolean }
}

/** The model that is meant where none is named: the first that suits, else the first. */
export async function firstModel(
  endpoint: OpenEndpoint,
  signal?: AbortSignal,
  suits: (model: ListedModel) => boolean = () => true,
): Promise<string> {
  const { data } = (await (await sendRequest(endpoint, '/models', { signal })).json()) as {
    data: readonly ListedModel[]
  }
  const model = data.find(suits) ?? data[0]
  if (model) return model.id
  throw new V1Error(404, 'This /v1 offers no model.', { code: 'model_not_found', param: 'model' })
}
