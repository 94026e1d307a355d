export const LABEL_TYPES = ['openjev', 'lev', 'nimble', 'pplx-decider', 'lfm2-d1'] as const
export type LabelType = (typeof LABEL_TYPES)[number]

export const MADE_TYPES = [...LABEL_TYPES, 'kev'] as const
export type MadeType = LabelType | 'kev'

/** The configuration in the files of such a model. */
export interface MadeForm {
  readonly type: MadeType
  /** How a question is put to it. */
  readonly template: string
  /** By which scores are divided: for each kind of question, or for a kind and so many options (`choice.small`). */
  readonly temperatures: Readonly<Record<string, number>>
}
