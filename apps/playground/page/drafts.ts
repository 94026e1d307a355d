import { keepValue, keptValue } from './kept.js'

/** What stands in the fields of the structured view. */
export interface Draft {
  readonly name: string
  readonly instructions: string
  readonly text: string
  readonly schema: string
}

const CURRENT = 'local-v1 playground draft'
const ASIDE = 'local-v1 playground aside'

/** Edits outlive a reload, and what an example or a link takes the place of can be brought back. */
export class Drafts {
  #edited: boolean
  current: Draft | undefined

  constructor() {
    const kept = keptValue<{ draft: Draft; edited: boolean }>(CURRENT)
    this.current = kept?.draft
    this.#edited = kept?.edited ?? false
  }

  get aside(): Draft | undefined {
    return keptValue<Draft>(ASIDE)
  }

  keep(draft: Draft): void {
    this.current = draft
    this.#edited = true
    this.#write()
  }

  /** Takes the place of what is there. Edits go aside; an example that nobody touched is not worth it. */
  replace(draft: Draft): void {
    if (this.#edited && this.current) keepValue(ASIDE, this.current)
    this.current = draft
    this.#edited = false
    this.#write()
  }

  /** What was put aside, in the place of what is there now. */
  bringBack(): Draft | undefined {
    const { aside } = this
    if (!aside) return undefined
    keepValue(ASIDE, undefined)
    this.current = aside
    this.#edited = true
    this.#write()
    return aside
  }

  letGo(): void {
    keepValue(ASIDE, undefined)
  }

  #write(): void {
    keepValue(CURRENT, { draft: this.current, edited: this.#edited })
  }
}
