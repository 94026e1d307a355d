import { oneOf } from './fields.js'

/** How long a model shall think, in the words of all endpoints. */
export const anEffort = oneOf(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])

type Options = Readonly<Record<string, unknown>>

/** What chat templates of reasoning models ask for: Qwen's `enable_thinking`, the effort of others. What is given by name wins. */
export function withEffort(effort: ReturnType<typeof anEffort> | undefined, given: Options | undefined) {
  if (effort === undefined) return given
  return { reasoning_effort: effort, enable_thinking: effort !== 'none' && effort !== 'minimal', ...given }
}
