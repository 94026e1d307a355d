/** The usage of one request. */
export interface UsageEvent {
  /** Seconds since 1970, when it ended. */
  readonly time: number
  readonly requestId: string
  /** The caller's id, `api_key_id` on the wire. */
  readonly caller: string
  readonly project: string | null
  readonly model: string
  readonly outcome: 'ok' | 'error' | 'aborted'
  readonly promptTokens: number
  readonly cachedTokens: number
  readonly completionTokens: number
}

/** The sums of a minute (or of an hour or a day, once it is old) for one caller, project and model. */
export interface UsageRow {
  /** Seconds since 1970. */
  readonly start: number
  readonly caller: string
  readonly project: string | null
  readonly model: string
  readonly requests: number
  readonly errors: number
  readonly aborts: number
  readonly promptTokens: number
  readonly cachedTokens: number
  readonly completionTokens: number
}

/** Where usage is stored. */
export interface UsageLedger {
  /** Called once at the start; rejects if nothing can be stored. */
  open?(): void | Promise<void>
  /** Settles when the event is stored: only then does its answer end, or once it was waited for five seconds. */
  record(event: UsageEvent): void | Promise<void>
  /** The rows that start in `[from, to)`, in no particular order. */
  rows(from: number, to: number): readonly UsageRow[] | Promise<readonly UsageRow[]>
  close?(): void | Promise<void>
}
