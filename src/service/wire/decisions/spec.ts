/** What both forms of a decision's request have in common. */
import type { DecideCall } from '../../../contract/index.js'
import type { JsonObject } from '../../../platform/index.js'
import { anEffort } from '../effort.js'
import { aBoolean, anObject, noteUnknown, oneOf, optional } from '../fields.js'

type Said = Pick<DecideCall, 'model' | 'state' | 'order' | 'calibrated' | 'thinkingBudget'>

export interface DecideSpec extends Omit<Said, 'calibrated'> {
  /** Absent: as the server says. */
  readonly calibrated?: boolean
  /** The name under which the state was given. */
  readonly stateField: string
  /** And that of a question. */
  questionField(index: number): string
  /** Where images stand. */
  readonly images: readonly string[]
  readonly ignored: readonly string[]
}

/** Ours, in either form. */
const EXTRAS = new Set(['order', 'calibrated', 'reasoning', 'user'])
const anOrder = oneOf(['given', 'average'])
/** Tokens that an effort may cost, as for answers in words. */
const BUDGETS = { none: 0, minimal: 0, low: 512, medium: 2048, high: 8192, xhigh: 8192, max: 8192 } as const

export function readExtras(body: JsonObject, known: ReadonlySet<string>, ignored: string[]) {
  noteUnknown(body, new Set([...known, ...EXTRAS]), '', ignored)
  const reasoning = optional(body, 'reasoning', '', anObject)
  const effort = reasoning && optional(reasoning, 'effort', 'reasoning', anEffort)
  const thinkingBudget = effort === undefined ? 0 : BUDGETS[effort]
  const calibrated = optional(body, 'calibrated', '', aBoolean)
  return {
    order: optional(body, 'order', '', anOrder) ?? ('given' as const),
    ...(calibrated !== undefined && { calibrated }),
    ...(thinkingBudget > 0 && { thinkingBudget }),
  }
}
