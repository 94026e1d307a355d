import { V1Error, type V1ErrorType } from '../../errors.js'

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
export function failureOf({ name, message, stack, v1 }: WireFailure): Error {
  const error = v1
    ? new V1Error(v1.status, message, { ...v1, headers: { ...v1.headers } })
    : Object.assign(new Error(message), { name })
  if (stack !== undefined) error.stack = stack
  return error
}
