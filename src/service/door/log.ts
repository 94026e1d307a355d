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
  if (event.type === 'request' && (event.status < 500 || event.status === 503)) return
  const message =
    event.type === 'fault' ? event.message : `${event.requestId} ${event.method} ${event.path} ${event.status}`
  const why = lasting(event.error)
  if (why === undefined) console.error(`local-v1: ${message}`, shown(event.error))
  else if (isNews(`${message.replace(IDS, '')} ${why}`)) {
    console.error(`local-v1: ${message} ${printableLines(why)} (this is not said again for ten minutes)`)
  }
}

/** What a disk or its owner has to mend: it is so with each request until then, and where it was found helps nobody. */
const LASTING = /^(?:ENOSPC|EDQUOT|EROFS|EACCES|EPERM)\b/
const IDS = /\b[a-z]+_[0-9a-f]{8,}/g
const QUIET_MS = 600_000
const MOST_KINDS = 100

/** When each kind was last told. */
const told = new Map<string, number>()

function lasting(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  return LASTING.test(error.message) ? error.message : lasting(error.cause)
}

function isNews(kind: string): boolean {
  const now = performance.now()
  if (now - (told.get(kind) ?? Number.NEGATIVE_INFINITY) < QUIET_MS) return false
  if (told.size >= MOST_KINDS) told.clear()
  told.set(kind, now)
  return true
}

/** As it is, unless it quotes what no terminal should be given. */
function shown(error: unknown): unknown {
  if (!(error instanceof Error)) return typeof error === 'string' ? printableLines(error) : (error ?? '')
  const text = `${error.stack ?? error}${error.cause === undefined ? '' : `\ncaused by ${String(shown(error.cause))}`}`
  const safe = printableLines(text)
  return safe === text ? error : safe
}
