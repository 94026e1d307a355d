import { type ChatCall, V1Error } from '../../contract/index.js'
import type { Slices } from '../../platform/index.js'
import { thoughtWish } from '../thinking.js'
import type { ToolFormat } from '../tools/format.js'
import type { Guard } from './guard.js'
import { type Habits, messagesOf, toolsOf } from './messages.js'
import type { ChatTemplate } from './template.js'
import { withWords } from './words-beside.js'

/**
 * A conversation as its template writes it. Where a template does not take its tools, calls or results, whatever is tried
 * (Hermes', for one, goes round for ever over a list among the parameters), they are told in words.
 */
export function* conversationText(
  call: ChatCall,
  guard: Guard,
  template: ChatTemplate,
  format: ToolFormat,
  habits: Habits,
): Slices<string> {
  const options = { ...guard.protectAll(call.templateOptions ?? {}), ...switchOf(call) }
  const tools = format.native && call.toolChoice !== 'none' ? toolsOf(call.tools, guard) : []
  try {
    const given = yield* messagesOf(call, guard, format, habits)
    const { messages, finished } = withWords(given, habits.wordsPlace, format, guard)
    return finished(yield* template.renderInSlices({ messages, tools, options }))
  } catch (cause) {
    if (!V1Error.is(cause) || !format.native || !hasTools(call)) throw cause
    try {
      const messages = yield* messagesOf(call, guard, format, habits, true)
      return yield* template.renderInSlices({ messages, tools: [], options })
    } catch {
      throw cause
    }
  }
}

function hasTools({ tools, messages }: ChatCall): boolean {
  return tools.length > 0 || messages.some((message) => message.role === 'tool' || 'toolCalls' in message)
}

/** Templates have two names for the switch; what a caller has said by name stands. */
function switchOf(call: ChatCall): Record<string, boolean> {
  const wish = thoughtWish(call)
  if (wish === 'as it likes') return {}
  const enabled = wish === 'think'
  return { enable_thinking: enabled, thinking: enabled }
}
