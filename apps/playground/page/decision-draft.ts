/** What is asked, as it stands in the fields, and as `/v1` takes it. */
export type DecisionKind = 'predicate' | 'choice' | 'score'

export interface DraftQuestion {
  readonly kind: DecisionKind
  readonly text: string
  /** Choices or levels as they are written: `tech: the app fails` has a description. A predicate has none. */
  readonly options: readonly string[]
}

export interface DecisionDraft {
  readonly name: string
  readonly text: string
  readonly questions: readonly DraftQuestion[]
  /** Under every order of the options, and the mean. */
  readonly average: boolean
}

export interface DecisionBody {
  readonly model: string
  readonly input: string
  readonly order?: 'average'
  readonly questions: readonly BodyQuestion[]
}

export type BodyQuestion =
  | { readonly type: 'predicate'; readonly instructions: string }
  | {
      readonly type: 'choice'
      readonly instructions: string
      readonly choices: readonly { readonly value: string; readonly description?: string }[]
    }
  | {
      readonly type: 'score'
      readonly instructions: string
      readonly levels: readonly { readonly label: string; readonly description?: string }[]
    }

export const KINDS: readonly DecisionKind[] = ['predicate', 'choice', 'score']

export interface WrittenOption {
  readonly name: string
  readonly description?: string
}

/** `tech: the app fails` is `tech`, and what it means. */
export function optionOf(written: string): WrittenOption {
  const [, name, description] = /^(.+?):\s+(.+)$/s.exec(written.trim()) ?? []
  return name === undefined || description === undefined ? { name: written.trim() } : { name, description }
}

/** As it is asked, or what is still missing. */
export function questionOf({ kind, text, options }: DraftQuestion): BodyQuestion | string {
  const instructions = text.trim()
  if (instructions === '') return kind === 'predicate' ? 'Write a statement.' : 'Write a question.'
  if (kind === 'predicate') return { type: kind, instructions }
  const filled = options.map(optionOf).filter(({ name }) => name !== '')
  const names = filled.map(({ name }) => name)
  const twice = names.find((name, i) => names.indexOf(name) < i)
  if (twice !== undefined) return `“${twice}” is listed twice.`
  if (filled.length < 2) return 'Add at least two options.'
  const described = (description: string | undefined) => (description === undefined ? {} : { description })
  return kind === 'choice'
    ? {
        type: kind,
        instructions,
        choices: filled.map(({ name, description }) => ({ value: name, ...described(description) })),
      }
    : {
        type: kind,
        instructions,
        levels: filled.map(({ name, description }) => ({ label: name, ...described(description) })),
      }
}

/** What of a link's contents is what it should be. Whoever made the link may have written anything. */
export function asDecisionDraft(value: unknown): DecisionDraft | undefined {
  const { name, text, questions, average } = (value ?? {}) as Record<string, unknown>
  if (typeof name !== 'string' || typeof text !== 'string' || !Array.isArray(questions)) return undefined
  if (questions.length === 0 || questions.length > 400) return undefined
  const read = questions.map(asQuestion)
  const whole = read.filter((question) => question !== undefined)
  return whole.length < read.length ? undefined : { name, text, questions: whole, average: average === true }
}

function asQuestion(value: unknown): DraftQuestion | undefined {
  const { kind, text, options } = (value ?? {}) as Record<string, unknown>
  const known = KINDS.find((each) => each === kind)
  if (!known || typeof text !== 'string' || !Array.isArray(options) || options.length > 255) return undefined
  return options.every((option) => typeof option === 'string') ? { kind: known, text, options } : undefined
}
