/** What one chat request came to. */
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

/** Where usage is kept. */
export interface UsageLedger {
  /** Called once at the start: rejects where nothing could be kept, so that this is not found at the first request. */
  open?(): void | Promise<void>
  /** Settles once the event is safe: the answer it belongs to ends only then. */
  record(event: UsageEvent): void | Promise<void>
  /** The rows that start in `[from, to)`, in no particular order. */
  rows(from: number, to: number): readonly UsageRow[] | Promise<readonly UsageRow[]>
  close?(): void | Promise<void>
}
