import type { ChatCall } from '../contract/index.js'
import { CHANNELS } from './channels.js'
import type { Tokenizer } from './tokenizer/tokenizer.js'

/** Whether a call wants thoughts, wants none, or leaves that to the template. */
export type ThoughtWish = 'think' | 'be brief' | 'as it likes'

/** Tokens that an effort may cost; of those that are not here there is no limit but room. */
const BUDGETS: ReadonlyMap<unknown, number> = new Map([
  ['low', 512],
  ['medium', 2048],
  ['high', 8192],
])
/** Of an answer, where nobody said how long a thought may be: as much is left to what is said. */
const LEFT_TO_SAY = 1 / 4

/** An answer that must have a form thinks only where that is asked for: it could otherwise not begin at once. */
export function thoughtWish(call: ChatCall): ThoughtWish {
  const { enable_thinking: enabled, thinking, reasoning_effort: effort } = call.templateOptions ?? {}
  const switched = enabled ?? thinking
  if (switched === false || call.thinkingBudget === 0) return 'be brief'
  if (switched === true || call.thinkingBudget !== undefined) return 'think'
  if (effort === 'none' || effort === 'minimal') return 'be brief'
  if (effort !== undefined) return 'think'
  return mustHaveForm(call) || asksForForm(call) ? 'be brief' : 'as it likes'
}

/** A prompt that is only counted comes without its grammars. */
const asksForForm = ({ output, toolChoice }: ChatCall) =>
  output.type !== 'text' || (toolChoice !== 'auto' && toolChoice !== 'none')

/** The answer, after its thoughts, begins with what a grammar says. */
export function mustHaveForm(call: ChatCall): boolean {
  const mustCall = call.toolGrammar !== undefined && call.toolChoice !== 'auto' && call.toolChoice !== 'none'
  return call.grammar !== undefined || mustCall
}

/**
 * The tokens that a thought may have. `limit`: those of the whole answer; `rest`: the fewest that must be left for the
 * end of the thought and what is said after it.
 */
export function thoughtBudget(call: ChatCall, limit: number, rest: number): number {
  const budget = call.thinkingBudget
  if (budget !== undefined) return Math.max(0, Math.min(budget, limit - rest))
  if (thoughtWish(call) === 'as it likes') return Number.POSITIVE_INFINITY
  const reserve = Math.max(rest, Math.ceil(limit * LEFT_TO_SAY))
  return Math.max(0, Math.min(BUDGETS.get(call.templateOptions?.reasoning_effort) ?? Infinity, limit - reserve))
}

/** How a family of models marks its thoughts. */
export interface ThoughtMarks {
  readonly open: string
  readonly close: string
  /** Blanks between the close and the answer. */
  readonly gap: string
  /** Other families end whole messages by the close: what tells of thoughts is the open. */
  readonly shared?: true
}

const MARKS: readonly ThoughtMarks[] = [
  // Qwen 3 and 3.5, DeepSeek R1 and what was distilled from it, SmolLM3, OLMo 3, LFM2.5, Phi-4 reasoning.
  { open: '<think>\n', close: '</think>', gap: '\n\n' },
  // Magistral and Ministral 3.
  { open: '[THINK]', close: '[/THINK]', gap: '' },
  // Gemma 4.
  { open: '<|channel>thought\n', close: '<channel|>', gap: '' },
  // gpt-oss.
  { open: CHANNELS.open + CHANNELS.thought + CHANNELS.close, close: '<|end|>', gap: '', shared: true },
]

/** Those that the chat template or, where it leaves thoughts to the model, the tokenizer knows; undefined: it never thinks. */
export function thoughtMarksOf(template: string, tokenizer: Tokenizer): ThoughtMarks | undefined {
  const byClose = MARKS.filter(({ shared }) => !shared)
  return (
    byClose.find(({ close }) => template.includes(close)) ??
    MARKS.find(({ open }) => template.includes(open.trimEnd())) ??
    byClose.find((marks) => /\b(enable_)?thinking\b/.test(template) && tokenizer.idOf(marks.close) !== undefined)
  )
}

/** Where a rendered prompt leaves the model: within a thought that the template has opened, or not. */
export function endsInThought(prompt: string, { open }: ThoughtMarks): boolean {
  return prompt.trimEnd().endsWith(open.trimEnd())
}
