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
  if ('baseURL' in target && typeof target.baseURL !== 'string') {
    const message = "Invalid 'from.baseURL': it must be the address of a /v1, such as 'http://localhost:8080/v1'."
    throw new V1Error(400, message, { code: 'invalid_value', param: 'from.baseURL' })
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
  const response = await reached(endpoint, path, init)
  if (response.ok) return response
  throw errorOf(response.status, await response.json().catch(() => undefined), endpoint.baseURL)
}

async function reached({ baseURL, fetch }: OpenEndpoint, path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(baseURL + path, init)
  } catch (cause) {
    if (init.signal?.aborted || V1Error.is(cause)) throw cause
    // Runtimes say "fetch failed", and why below.
    const { message, cause: below } = cause as Error & { cause?: { code?: string; message?: string } }
    const why = below?.code ?? below?.message ?? message
    throw new V1Error(
      503,
      `${baseURL} cannot be reached (${why}): check the address, and that the server runs ('local-v1 serve' prints its own). A page also needs to be among the origins that the server allows (--cors).`,
      { code: 'v1_unreachable', cause },
    )
  }
}

/** What is answered, as JSON: where something else stands at the address, it is a page as a rule. */
export async function askJson<T>(endpoint: OpenEndpoint, path: string, asking?: ClientRequest): Promise<T> {
  const response = await sendRequest(endpoint, path, asking)
  try {
    const answer: unknown = await response.json()
    if (typeof answer === 'object' && answer !== null) return answer as T
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw noV1(response.status, endpoint.baseURL)
}

const noV1 = (status: number, baseURL: string) =>
  new V1Error(
    status < 400 ? 502 : status,
    `What answers at ${baseURL} (status ${status}) is not a /v1: check the base URL, which ends in '/v1' as a rule.`,
    { code: 'v1_unreachable' },
  )

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

function errorOf(status: number, body: unknown, baseURL = ''): V1Error {
  const { error } = (body ?? {}) as { error?: { message?: string; type?: V1ErrorType; code?: string; param?: string } }
  const { message, type, code, param } = error ?? {}
  if (message === undefined) return noV1(status, baseURL)
  return new V1Error(status, message, { ...(type && { type }), ...(code && { code }), ...(param && { param }) })
}

/** The same error, in the words of who asked. */
export function inOtherWords(error: unknown, words: (text: string) => string): unknown {
  if (!V1Error.is(error)) return error
  const { status, type, code, param, headers, cause, message } = error
  return new V1Error(status, words(message), { type, code, param: param && words(param), headers, cause })
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
  const { data } = await askJson<{ data?: readonly ListedModel[] }>(endpoint, '/models', { signal })
  if (!Array.isArray(data)) throw noV1(200, endpoint.baseURL)
  const model = data.find(suits) ?? data[0]
  if (model) return model.id
  throw new V1Error(404, 'This /v1 offers no model.', { code: 'model_not_found', param: 'model' })
}
