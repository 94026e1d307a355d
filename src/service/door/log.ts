import { printableLines, type Usage } from '../../contract/index.js'

/** One event per request, when it has ended, and one for each fault that no request shows. */
export type LogEvent = RequestEvent | FaultEvent

export interface RequestEvent {
  readonly type: 'request'
  readonly requestId: string
  readonly method: string
  readonly path: string
  /** 499: the client left before the end. A stream that failed half-way has the status of its error. */
  readonly status: number
  readonly durationMs: number
  readonly caller?: string
  readonly project?: string | null
  readonly model?: string
  readonly usage?: Usage
  /** What was thrown; for a 5xx with its cause, which the client never sees. */
  readonly error?: unknown
}

export interface FaultEvent {
  readonly type: 'fault'
  readonly message: string
  readonly error?: unknown
}

export type Log = (event: LogEvent) => void

/** Faults only: those of the service, not those of its clients. */
export const logFaults: Log = (event) => {
  if (event.type === 'fault') console.error(`local-v1: ${event.message}`, shown(event.error))
  else if (event.status >= 500 && event.status !== 503) {
    console.error(`local-v1: ${event.requestId} ${event.method} ${event.path} ${event.status}`, shown(event.error))
  }
}

/** As it is, unless it quotes what no terminal should be given. */
function shown(error: unknown): unknown {
  if (!(error instanceof Error)) return typeof error === 'string' ? printableLines(error) : (error ?? '')
  const text = `${error.stack ?? error}${error.cause === undefined ? '' : `\ncaused by ${String(shown(error.cause))}`}`
  const safe = printableLines(text)
  return safe === text ? error : safe
}
