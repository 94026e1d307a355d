/** What a part's process tells the one that started it. */
import type { BenchReport } from '../../src/bench/report.js'
import type { Profile } from '../profile/profile.js'
import type { MachineBound } from '../profile/table.js'
import type { Subject, TunedRow } from './tuned.js'

/** In place of an error, where nothing is wrong but that time was short. */
export const NO_TIME = 'There was no time left.'

export interface Tried {
  readonly name: string
  readonly state: 'pass' | 'fail' | 'skip'
  readonly milliseconds: number
  readonly error?: string
}

/** The adapter as it presents itself. */
export interface Adapter {
  readonly name: string
  readonly software: boolean
  readonly info: Readonly<Record<string, unknown>>
  readonly features: readonly string[]
  /** Those that its subgroups multiply. */
  readonly matrices?: readonly string[]
  readonly limits: Readonly<Record<string, number>>
}

export type Message =
  | { readonly kind: 'adapter'; readonly adapter: Adapter | undefined }
  | { readonly kind: 'bound'; readonly bound: MachineBound }
  | { readonly kind: 'tried'; readonly tried: Tried }
  | { readonly kind: 'tuned'; readonly subject: Subject; readonly row: TunedRow }
  | { readonly kind: 'report'; readonly report: BenchReport }
  | { readonly kind: 'profile'; readonly profile: Profile }

export function tell(message: Message): void {
  process.send?.(message)
}
