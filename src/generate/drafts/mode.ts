/** `gaining`: as far as guesses gain more than they cost; `always`: as far as a step has room for them. */
export type DraftMode = 'gaining' | 'always' | 'never'

const MODES: ReadonlySet<unknown> = new Set<DraftMode>(['gaining', 'always', 'never'])

/** Refuses what code without types may say; `engine`: whose option it is. */
export function assertDraftMode(engine: string, drafts: unknown): void {
  if (drafts === undefined || MODES.has(drafts)) return
  throw new TypeError(`${engine}: 'drafts' can be 'gaining', 'always' or 'never'; this one is "${String(drafts)}".`)
}
