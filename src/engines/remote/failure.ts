import { V1Error, type V1ErrorType } from '../../contract/index.js'
import { type Doing, STAGES } from '../../platform/index.js'

/** An error as plain data: of a clone only name and message would be left. */
export interface WireFailure {
  readonly name: string
  readonly message: string
  readonly stack?: string
  readonly v1?: {
    readonly status: number
    readonly type: V1ErrorType
    readonly param: string | null
    readonly code: string | null
    readonly retryAfter: number | undefined
    readonly headers: Readonly<Record<string, string>>
  }
}

export function wireFailure(error: unknown): WireFailure {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) }
  const { name, message, stack } = error
  if (!V1Error.is(error)) return { name, message, stack }
  const { status, type, param, code, retryAfter, headers } = error
  return { name, message, stack, v1: { status, type, param, code, retryAfter, headers: { ...headers } } }
}

/** The error as it was; its stack is that of the other side. */
export function receivedError({ name, message, stack, v1 }: WireFailure): Error {
  const error = v1
    ? new V1Error(v1.status, message, { ...v1, headers: { ...v1.headers } })
    : Object.assign(new Error(message), { name })
  if (stack !== undefined) error.stack = stack
  return error
}

/** A request to the other side, as errors and logs name it. */
export interface Culprit {
  readonly id: number
  readonly words: string
}

export function closed(): V1Error {
  return new V1Error(503, 'The engine is closed.', { code: 'engine_closed' })
}

export function workerLost(cause: unknown): V1Error {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new V1Error(503, `The worker that runs the models has stopped: ${why}`, {
    code: 'engine_lost',
    retryAfter: 1,
    cause,
  })
}

export function overDoing(doing: Doing | undefined): string {
  return `while ${doing ? STAGES[doing.stage] : 'doing something unknown'}`
}

/** For what was under way when the other side was ended because it computed without end. */
export function stood(seconds: number, doing: Doing | undefined, culprit: Culprit | undefined, job: number): V1Error {
  if (culprit?.id === job) {
    const message = `The request was ended: the engine was stuck on it for ${seconds} s, ${overDoing(doing)} (${culprit.words}).`
    // It would stand as long again.
    return new V1Error(500, message, { code: 'engine_stood', headers: { 'x-should-retry': 'false' } })
  }
  const message = `The worker that runs the models was ended: it was stuck on ${
    culprit ? 'another request' : 'an unknown request'
  } for ${seconds} s, ${overDoing(doing)}. It starts again: send your request again.`
  return new V1Error(503, message, { code: 'engine_lost', retryAfter: 1 })
}
