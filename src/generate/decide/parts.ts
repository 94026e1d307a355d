import type { Slices } from '../../platform/index.js'
import { headOf } from '../channels.js'
import type { ChatText } from '../chat-text.js'
import { sentinelFor } from '../prompt/guard.js'
import { endsInThought } from '../thinking.js'

/** A rendered conversation around the place of a question. */
export interface TextAround {
  /** Control tokens and texts before the text that the state ends in. */
  readonly before: readonly (number | string)[]
  readonly section: string
  /** Behind the question: a text, which may be empty, then control tokens and texts. */
  readonly after: readonly [string, ...(number | string)[]]
  /** The text of a question, cut at the tokens that stand for themselves there too. */
  sections(text: string): readonly (number | string)[]
  /** A section as it is encoded. */
  reveal(section: string): string
}

/** In place of the question; what callers write is looked through for it. */
const PLACE = '\uFDD0'

/**
 * `state` is all that stands before the question. The model is at its answer then: it thinks no more. `questions`: all
 * texts that will be put there.
 */
export function* partsAround(
  text: ChatText,
  system: string,
  state: string,
  questions: readonly string[],
): Slices<TextAround> {
  const { tokenizer } = text
  const shown = state.replaceAll(PLACE, '\uFFFD')
  const guard = text.guard(yield* sentinelFor([shown, PLACE, ...questions]))
  const messages = [
    { role: 'system', content: system },
    { role: 'user', content: guard.protect(shown, false) + PLACE },
  ]
  const rendered = (thinking: boolean) =>
    text.template.renderInSlices({ messages, tools: [], options: { enable_thinking: thinking, thinking } })
  const [head, tail, ...more] = (yield* closed(text, yield* rendered(false), () => rendered(true))).split(PLACE)
  if (tail === undefined || more.length > 0)
    throw new Error('The chat template does not write each message exactly once.')
  const before = tokenizer.sections(head!)
  const section = before.pop()
  if (typeof section !== 'string') throw new Error('The chat template changes the text of messages.')
  const after = tokenizer.sections(tail)
  const first = typeof after[0] === 'string' ? (after.shift() as string) : ''
  return {
    before,
    section,
    after: [first, ...after],
    sections: (each) => tokenizer.sections(guard.protect(each, false)),
    reveal: (each) => guard.reveal(each),
  }
}

/** A thought that a template opens whatever it is told is closed; where it knows no switch, an empty one is written. */
function* closed(
  { thoughtMarks: marks, channels }: ChatText,
  brief: string,
  thinking: () => Slices<string>,
): Slices<string> {
  if (channels) return brief + headOf(channels)
  if (!marks) return brief
  if (endsInThought(brief, marks)) return `${brief.trimEnd()}\n\n${marks.close}${marks.gap}`
  return brief === (yield* thinking()) ? `${brief}${marks.open}\n\n${marks.close}${marks.gap}` : brief
}
