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
    // Much of it quotes the request, and it is logged.
    super(printable(message), options.cause === undefined ? undefined : { cause: options.cause })
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

/** Control characters, line ends of every kind, and those that turn the direction of text. */
const UNPRINTABLE = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu
const BUT_LINES = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`

/**
 * The text on one line, for whoever prints it: clients put into their requests what rewrites a terminal's screen or adds
 * a line of its own to a log.
 */
export const printable = (text: string): string => text.replace(UNPRINTABLE, escaped)

/** As `printable`, for texts of several lines. */
export const printableLines = (text: string): string => text.replace(BUT_LINES, escaped)

/** How many ids an error names. */
const MOST_NAMED = 5

/** The one answer to an id that is nobody's: it says what there is. */
export function modelNotFound(id: string, offered: readonly { readonly id: string }[]): V1Error {
  const named = offered.slice(0, MOST_NAMED).map((each) => `'${each.id}'`)
  const more = offered.length > MOST_NAMED ? `, and ${offered.length - MOST_NAMED} more: GET /models lists them` : ''
  const there = offered.length === 0 ? 'No model is offered here.' : `Offered here: ${named.join(', ')}${more}.`
  const message = `The model '${id.slice(0, 200)}' does not exist. ${there}`
  return new V1Error(404, message, { param: 'model', code: 'model_not_found' })
}

/** For whoever asks a model for what it is not made for. */
export function modelCannot(id: string, reason: string): V1Error {
  return new V1Error(400, `The model '${id}' ${reason}.`, { param: 'model', code: 'unsupported_model' })
}

/** For whoever had asked before: a client that tried again by itself would have it downloaded once more. */
export function modelDeleted(id: string): V1Error {
  const message = `The model '${id}' was deleted meanwhile. To have it downloaded once more, send the request again.`
  return new V1Error(503, message, { param: 'model', code: 'model_deleted', headers: { 'x-should-retry': 'false' } })
}
