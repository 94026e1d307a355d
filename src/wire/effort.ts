import type { JsonObject } from '../platform/json.js'
import { anInteger, oneOf, optional } from './fields.js'

/** How long a model shall think, in the words of all endpoints. */
export const anEffort = oneOf(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])

const aTokenCount = anInteger(0, Number.MAX_SAFE_INTEGER)
/** Qwen's name for it, and vLLM's. */
export const BUDGET_FIELDS = ['thinking_budget', 'thinking_token_budget'] as const

/** The most tokens that an answer may think; there only where it is given. */
export function readThinkingBudget(body: JsonObject): { readonly thinkingBudget?: number } {
  for (const name of BUDGET_FIELDS) {
    const thinkingBudget = optional(body, name, '', aTokenCount)
    if (thinkingBudget !== undefined) return { thinkingBudget }
  }
  return {}
}

type Options = Readonly<Record<string, unknown>>

/** What chat templates of reasoning models ask for: Qwen's `enable_thinking`, the effort of others. What is given by name wins. */
export function withEffort(effort: ReturnType<typeof anEffort> | undefined, given: Options | undefined) {
  if (effort === undefined) return given
  return { reasoning_effort: effort, enable_thinking: effort !== 'none' && effort !== 'minimal', ...given }
}
