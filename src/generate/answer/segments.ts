import type { OutputGrammar } from '../../contract/index.js'
import { headOf } from '../channels.js'
import { mustHaveForm, thoughtBudget, thoughtWish } from '../thinking/plan.js'
import type { Markers } from './markers.js'
import type { AnswerPlan } from './plan.js'

/** What an answer is made of, one after the other. A call may be followed by further calls, free text by a call. */
export type Segment =
  /** Written in the model's place, and shown to nobody. */
  | { readonly kind: 'literal'; readonly text: string }
  /**
   * Free text that is no part of what is said. It ends at its mark, or with its budget of tokens. `lead`: what of the mark
   * that opens it may still come; `said`: what of its text is there already.
   */
  | { readonly kind: 'thought'; readonly budget: number; readonly lead?: string; readonly said?: string }
  | { readonly kind: 'document'; readonly grammar: OutputGrammar }
  /** `written`: what of its marker is there already. */
  | { readonly kind: 'call'; readonly written?: string }
  /** After a call: whether another one follows. */
  | { readonly kind: 'between' }
  | { readonly kind: 'text' }
  /** The head of a message, after which it is known what the message is; `again`: not of the first. */
  | { readonly kind: 'channel'; readonly again?: boolean }

/** The segments of an answer to `call`, from where its prompt ends. */
export function segmentsOf({ call, text, limit, opened, shortest }: AnswerPlan, { mustOpen }: Markers): Segment[] {
  const channels = call.prompt === undefined ? text.channels : undefined
  const said: Segment[] = mustOpen
    ? [{ kind: 'call' }]
    : call.grammar !== undefined
      ? [...literals(channels && headOf(channels)), { kind: 'document', grammar: call.grammar }]
      : [{ kind: channels ? 'channel' : 'text' }]
  const marks = text.thoughtMarks
  if (marks === undefined || call.prompt !== undefined) return said
  const again = channels?.again ?? ''
  const ending = text.tokenizer.encodeMarker(`\n${marks.close}${marks.gap}${again}`).length
  if (opened) return [{ kind: 'thought', budget: thoughtBudget(call, limit, ending + shortest) }, ...said]
  // Free text finds the mark by itself, where the model writes it.
  if (!mustHaveForm(call) || thoughtWish(call) !== 'think') return said
  const opening = text.tokenizer.encodeMarker(marks.open).length
  const budget = thoughtBudget(call, limit, opening + ending + shortest)
  return budget < 1
    ? said
    : [{ kind: 'literal', text: marks.open }, { kind: 'thought', budget }, ...literals(again), ...said]
}

const literals = (text = ''): Segment[] => (text === '' ? [] : [{ kind: 'literal', text }])
