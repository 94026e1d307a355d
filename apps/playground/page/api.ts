/** `/v1`, as any client speaks it. Nothing in the page reaches past this file. */
import { eventData } from '../../../src/platform/event-stream.js'
import type { DecisionBody } from './decision-draft.js'

export const BASE = '/v1'

let onDevice: typeof fetch | undefined

/** By this from here on: the engine itself, past the network, or the server that the page came from. */
export function askBy(fetch: typeof onDevice): void {
  onDevice = fetch
}

export interface Model {
  readonly id: string
  readonly context_length?: number
  readonly capabilities?: {
    readonly chat?: boolean
    readonly tools?: boolean
    readonly thinking?: boolean
    readonly evidence?: boolean
    readonly embeddings?: boolean
    readonly rerank?: boolean
    readonly decisions?: boolean
    readonly logprobs?: boolean
  }
  /** It is in no list yet: a server serves it once somebody has it downloaded. */
  readonly offered?: true
  readonly metadata?: {
    readonly loaded?: boolean
    readonly device?: 'webgpu' | 'cpu'
    readonly device_name?: string
    readonly device_reason?: string
    readonly download_bytes?: number
    readonly kept?: boolean
    readonly kept_bytes?: number
    readonly memory_bytes?: number
    readonly does_not_fit?: string
  }
}

/**
 * Whether it says how sure it is of each value. Before anything of a model is here, and in the moment after, nobody knows
 * what it can: most that are loaded on this device do.
 */
export const tellsEvidence = ({ capabilities, metadata }: Pick<Model, 'capabilities' | 'metadata'> = {}): boolean =>
  capabilities ? capabilities.evidence === true : metadata?.loaded !== undefined

export interface LoadProgress {
  readonly phase: 'download' | 'read' | 'upload' | 'compile' | 'ready'
  readonly bytes_loaded: number
  readonly bytes_total: number
  readonly files_loaded?: number
  readonly files_total?: number
  readonly seconds_left?: number
}

export interface Message {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

/** Numbers, or what was written instead of one. */
export interface SamplingFields {
  readonly temperature?: number | string
  readonly top_p?: number | string
  readonly max_tokens?: number | string
  readonly seed?: number | string
}

export interface ChatBody extends SamplingFields {
  readonly model: string
  readonly messages: readonly Message[]
  /** What each value of the document rests on. */
  readonly evidence?: true
  readonly chat_template_kwargs?: { readonly enable_thinking: boolean }
  readonly response_format?: {
    readonly type: 'json_schema'
    readonly json_schema: { readonly name: string; readonly strict: true; readonly schema: unknown }
  }
}

export interface Usage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly prompt_tokens_details?: { readonly cached_tokens: number }
  readonly completion_tokens_details?: { readonly forced_tokens?: number }
}

/** What a value of a document rests on. */
export interface Evidence {
  readonly confidence: number
  readonly runner_up?: { readonly value: string | number | boolean | null; readonly probability: number }
  readonly p_null?: number
  readonly source?: { readonly message: number; readonly part: number; readonly start: number; readonly end: number }
}

export interface Chunk {
  readonly choices: readonly {
    readonly delta: { readonly content?: string | null; readonly reasoning_content?: string | null }
    readonly finish_reason: 'stop' | 'length' | 'tool_calls' | null
    /** There where the grammar decided the text. */
    readonly forced_tokens?: number
    /** Of the values that have just closed, by JSON pointer. */
    readonly evidence?: Readonly<Record<string, Evidence>>
  }[]
  readonly usage?: Usage | null
}

export interface UsageResult {
  readonly project_id: string | null
  readonly model: string | null
  readonly num_model_requests: number
  readonly input_tokens: number
  readonly output_tokens: number
}

interface ErrorBody {
  readonly message: string
  readonly code: string | null
  readonly param: string | null
}

/** An error as `/v1` words it. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string | null
  /** The field at fault. */
  readonly param: string | null

  constructor(status: number, { message, code, param }: ErrorBody) {
    super(message)
    this.status = status
    this.code = code
    this.param = param
  }
}

/** Nothing answers, or what did is gone. Of that browsers say no more than of a fault of this page: a `TypeError`. */
export class Unreachable extends Error {
  constructor() {
    super(`Nothing answers at ${location.host}: is the server still running?`)
  }
}

const unreachable = (error: unknown): never => {
  throw error instanceof TypeError ? new Unreachable() : error
}

/** What comes of `asked`, in which a `TypeError` can only be the network's. */
export const overNetwork = <T>(asked: Promise<T>): Promise<T> => asked.catch(unreachable)

/**
 * The connection ended, and what was asked for did not: the worker of another tab is there for it. What has cost several
 * workers their lives is refused instead, with a status.
 */
export const isBroken = (error: unknown): boolean =>
  error instanceof Unreachable ||
  (error instanceof ApiError && error.status === 200 && ['cut_off', 'host_lost'].includes(error.code ?? ''))

/** How often an answer may break off. */
const MOST_TRIES = 3

/** Reads an answer, and asks again where the tab that ran the model is closed in the middle: another one runs it then. */
export async function unbroken(read: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (let tried = 1; ; tried++) {
    try {
      return await read()
    } catch (error) {
      if (signal.aborted || !isBroken(error) || tried === MOST_TRIES) throw error
    }
  }
}

export async function listModels(): Promise<readonly Model[]> {
  const { data } = (await (await ask('/models')).json()) as { data: Model[] }
  return data
}

export async function* loadModel(id: string): AsyncGenerator<LoadProgress> {
  yield* events<LoadProgress>(await ask(`/models/${id}/load`, { method: 'POST' }))
}

export const unloadModel = (id: string) => ask(`/models/${id}/unload`, { method: 'POST' })

export const removeModel = (id: string) => ask(`/models/${id}`, { method: 'DELETE' })

/** When the last answer of this page began, in seconds, by the clock of who counts it. */
let answeredAt: number | undefined

/** A streamed answer, with what the grammar decided told beside the text. */
export async function* chat(body: ChatBody, project: string, signal: AbortSignal): AsyncGenerator<Chunk> {
  const began = Date.now()
  const response = await ask('/chat/completions', {
    method: 'POST',
    headers: headersFor(project),
    body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true, include_forced: true } }),
    signal,
  })
  yield* events<Chunk>(response)
  answeredAt = (Date.parse(response.headers.get('date') ?? '') || began) / 1000
}

/** An answer of `/decisions`, in the order of its questions. */
export type DecisionAnswer = (
  | { readonly type: 'predicate'; readonly probability: number }
  | {
      readonly type: 'choice'
      readonly confidence: number
      readonly probabilities: readonly { readonly probability: number }[]
    }
  | {
      readonly type: 'score'
      readonly score: number
      readonly confidence: number
      readonly probabilities: readonly { readonly probability: number }[]
    }
  | { readonly type: 'refusal'; readonly option_mass?: undefined }
) & { readonly option_mass?: number }

export interface Decisions {
  readonly answers: readonly DecisionAnswer[]
  readonly usage: {
    readonly input_tokens: number
    readonly input_tokens_details: { readonly cached_tokens: number }
  }
}

export async function decide(body: DecisionBody, project: string, signal: AbortSignal): Promise<Decisions> {
  const response = await ask('/decisions', {
    method: 'POST',
    headers: headersFor(project),
    body: JSON.stringify(body),
    signal,
  })
  return (await response.json()) as Decisions
}

const headersFor = (project: string) => ({
  'content-type': 'application/json',
  ...(project !== '' && { 'openai-project': project }),
})

/** The last 31 days, one result per project and model. */
export async function usage(): Promise<readonly UsageResult[]> {
  const sums = new Map<string, UsageResult>()
  for (const result of await usageSince(Date.now() / 1000 - 30 * 86_400, 'bucket_width=1d&limit=31')) {
    const key = JSON.stringify([result.project_id, result.model])
    const sum = sums.get(key)
    sums.set(key, sum ? added(sum, result) : result)
  }
  return [...sums.values()]
}

/** Whether the last answer is counted nowhere: where that can be stored, it is before it ends. */
export const isUncounted = async (): Promise<boolean> =>
  answeredAt !== undefined && (await usageSince(answeredAt, 'bucket_width=1m&limit=1440')).length === 0

async function usageSince(seconds: number, buckets: string): Promise<readonly UsageResult[]> {
  // It is kept by minutes.
  const query = `start_time=${Math.floor(seconds / 60) * 60}&${buckets}&group_by=project_id,model`
  const page = await (await ask(`/organization/usage/completions?${query}`)).json()
  return (page as { data: { results: UsageResult[] }[] }).data.flatMap(({ results }) => results)
}

function added(a: UsageResult, b: UsageResult): UsageResult {
  return {
    ...a,
    num_model_requests: a.num_model_requests + b.num_model_requests,
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
  }
}

export const ask = (path: string, init?: RequestInit): Promise<Response> => send(BASE + path, init)

/** Beside `/v1`, where a server has more for its page; `body` is posted. */
export function askAt(path: string, body?: object, signal?: AbortSignal): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return send(path, body && { method: 'POST', headers, body: JSON.stringify(body), signal })
}

async function send(path: string, init?: RequestInit): Promise<Response> {
  if (!onDevice) throw new Error('The worker that runs the model has not started yet.')
  const response = await onDevice(path, init)
  if (response.ok) return response
  const body = (await response.json().catch(() => undefined)) as { error?: ErrorBody } | undefined
  const unknown = {
    message: `The server's answer is not from a /v1 (status ${response.status}).`,
    code: null,
    param: null,
  }
  throw new ApiError(response.status, body?.error ?? unknown)
}

export async function* events<T>(response: Response): AsyncGenerator<T> {
  let done = false
  // Read to its very end: leaving earlier would look like a reader who left.
  try {
    for await (const data of eventData(response.body!)) {
      if (data === '[DONE]') done = true
      if (done) continue
      const event = JSON.parse(data) as T | { error: ErrorBody }
      if (typeof event === 'object' && event !== null && 'error' in event) throw new ApiError(200, event.error)
      yield event as T
    }
  } catch (error) {
    unreachable(error)
  }
  if (!done) throw new ApiError(200, { message: 'The answer was cut off.', code: 'cut_off', param: null })
}
