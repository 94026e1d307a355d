import { CHANNELS } from '../channels.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'

/** How a family of models marks its thoughts. */
export interface ThoughtMarks {
  readonly open: string
  readonly close: string
  /** What stands between the close and what is said. */
  readonly gap: string
  /** Other families end whole messages by the close: what tells of thoughts is the open. */
  readonly shared?: true
}

const FAMILIES: readonly ThoughtMarks[] = [
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
  const byClose = FAMILIES.filter(({ shared }) => !shared)
  return (
    byClose.find(({ close }) => template.includes(close)) ??
    FAMILIES.find(({ open }) => template.includes(open.trimEnd())) ??
    byClose.find((marks) => /\b(enable_)?thinking\b/.test(template) && tokenizer.idOf(marks.close) !== undefined)
  )
}

/** Where a rendered prompt leaves the model: within a thought that the template has opened, or not. */
export function endsInThought(prompt: string, { open }: ThoughtMarks): boolean {
  return prompt.trimEnd().endsWith(open.trimEnd())
}
