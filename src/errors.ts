/** The one error that crosses every boundary of the library, and its wire form. */

export type V1ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found_error'
  | 'rate_limit_error'
  | 'server_error'
  | 'service_unavailable'

export interface V1ErrorOptions {
  /**
   * The request field at fault, in OpenAI's dotted form: `messages[0].content`.
   * @default null
   */
  param?: string | null
  /**
   * A stable machine-readable code: `model_not_found`, `context_length_exceeded`, ...
   * @default null
   */
  code?: string | null
  /**
   * What kind of error it is, in OpenAI's words.
   * @default what goes with the status
   */
  type?: V1ErrorType
  /**
   * Seconds after which a retry makes sense. Only 429 and 503 carry it.
   * @default not said
   */
  retryAfter?: number
  /**
   * Sent with the answer.
   * @default none
   */
  headers?: Record<string, string>
  /**
   * Logged, never sent.
   * @default none
   */
  cause?: unknown
}

export interface ErrorBody {
  error: { message: string; type: string; param: string | null; code: string | null }
}

const BRAND = Symbol.for('local-v1.V1Error')

const TYPE_OF_STATUS: Record<number, V1ErrorType> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
  500: 'server_error',
  503: 'service_unavailable',
}

export class V1Error extends Error {
  readonly status: number
  readonly type: V1ErrorType
  readonly param: string | null
  readonly code: string | null
  readonly retryAfter: number | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, message: string, options: V1ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'V1Error'
    this.status = status
    this.type = options.type ?? TYPE_OF_STATUS[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error')
    this.param = options.param ?? null
    this.code = options.code ?? null
    this.retryAfter = options.retryAfter
    this.headers = options.headers ?? {}
    // Branded, not `instanceof`: the application and an engine may hold two copies of this package.
    Object.defineProperty(this, BRAND, { value: true })
  }

  static is(value: unknown): value is V1Error {
    return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[BRAND] === true
  }

  toJSON(): ErrorBody {
    return { error: { message: this.message, type: this.type, param: this.param, code: this.code } }
  }
}
