import { useCallback, useMemo, useState } from 'react'
import type { ValueEvidence } from '../client/evidence.js'
import { valueAt, withValueAt } from '../client/pointer.js'
import type { UsedObject } from './use-object.js'

/** A value in a JSON document that is not a list or an object. */
export type ReviewValue = string | number | boolean | null

export interface ReviewOptions {
  /**
   * Values of which the model is less sure are doubtful: from 0 to 1.
   * @default 0.9
   */
  readonly threshold?: number
}

export interface ReviewField extends ValueEvidence {
  readonly pointer: string
  /** As a person edited it, else as the model wrote it. */
  readonly value: ReviewValue
  readonly written: ReviewValue
  /** The words of the text that say it. */
  readonly said: string | undefined
  /** Less sure than the threshold. */
  readonly doubtful: boolean
  readonly state: 'open' | 'accepted' | 'edited'
}

export interface Review<Document> {
  /** The least certain first; accepting or editing does not change the order. */
  readonly fields: readonly ReviewField[]
  /** How many doubtful fields are not decided yet. */
  readonly open: number
  /** The document with all edits, once it is complete. */
  readonly document: Document | undefined
  /** The value is right. */
  accept(pointer: string): void
  edit(pointer: string, value: ReviewValue): void
  /** Undoes the decision. */
  reopen(pointer: string): void
}

/** What was decided, by pointer: undefined is that it is right. */
type Decisions = ReadonlyMap<string, ReviewValue | undefined>

const NONE: Decisions = new Map()

/** The values that a person should review, in a document that `useObject` has extracted with `evidence: true`. */
export function useReview<Document>(
  used: UsedObject<unknown, Document>,
  { threshold = 0.9 }: ReviewOptions = {},
): Review<Document> {
  const { text, partial, document, evidence, run } = used
  const [decided, setDecided] = useState<{ readonly run: number; readonly decisions: Decisions }>()
  // What was decided of one document says nothing of the next.
  const decisions = decided?.run === run ? decided.decisions : NONE

  const decide = useCallback(
    (change: (decisions: Map<string, ReviewValue | undefined>) => void) =>
      setDecided((before) => {
        const decisions = new Map(before?.run === run ? before.decisions : NONE)
        change(decisions)
        return { run, decisions }
      }),
    [run],
  )
  const accept = useCallback((pointer: string) => decide((all) => all.set(pointer, undefined)), [decide])
  const edit = useCallback((pointer: string, value: ReviewValue) => decide((all) => all.set(pointer, value)), [decide])
  const reopen = useCallback((pointer: string) => decide((all) => all.delete(pointer)), [decide])

  const fields = useMemo(() => {
    const entries = Object.entries<ValueEvidence | undefined>(evidence ?? {})
    const found = entries.flatMap(([pointer, one]) => {
      const written = valueAt(document ?? partial, pointer)
      if (!one || written === undefined) return []
      const change = decisions.get(pointer)
      const { confidence, source } = one
      const field: ReviewField = {
        ...one,
        ...{
          pointer,
          written: written as ReviewValue,
          value: (change === undefined ? written : change) as ReviewValue,
        },
        said: source && text?.slice(source.start, source.end),
        doubtful: confidence < threshold,
        state: change !== undefined ? 'edited' : decisions.has(pointer) ? 'accepted' : 'open',
      }
      return [field]
    })
    return found.sort((a, b) => a.confidence - b.confidence)
  }, [evidence, document, partial, text, decisions, threshold])

  const edited = useMemo(() => {
    if (document === undefined) return undefined
    const edits = [...decisions].filter((each) => each[1] !== undefined)
    return edits.reduce((made, [pointer, value]) => withValueAt(made, pointer, value), document)
  }, [document, decisions])

  const open = fields.filter(({ doubtful, state }) => doubtful && state === 'open').length
  return { fields, open, document: edited, accept, edit, reopen }
}
