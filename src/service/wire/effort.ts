import { isRecord, type JsonObject } from '../../platform/index.js'
import { anInteger, anObject, at, hint, oneOf, optional } from './fields.js'

/** How long a model shall think, in the words of all endpoints. */
export const anEffort = oneOf(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])

const aTokenCount = anInteger(0, Number.MAX_SAFE_INTEGER)
/** Qwen's name for it, and vLLM's. */
export const BUDGET_FIELDS = ['thinking_budget', 'thinking_token_budget'] as const

/** What local servers' words ask of thoughts; each is there only where it is given. */
export interface Thinking {
  /** The most tokens that an answer may think. */
  readonly thinkingBudget?: number
  /** The field that asks for thoughts: errors name what the client wrote. */
  readonly thinkingField?: string
}

export function readThinking(body: JsonObject): Thinking {
  const given = optional(body, 'chat_template_kwargs', '', anObject)
  const switched = [
    given?.enable_thinking === true && { thinkingField: 'chat_template_kwargs.enable_thinking' },
    isRecord(body.thinking) && body.thinking.type === 'enabled' && { thinkingField: 'thinking' },
  ].find(Boolean)
  for (const name of BUDGET_FIELDS) {
    const thinkingBudget = optional(body, name, '', aTokenCount)
    if (thinkingBudget !== undefined) return { thinkingBudget, thinkingField: name, ...switched }
  }
  return { ...switched }
}

const aSwitch = oneOf(['enabled', 'disabled'])

/** Anthropic's words for it, which DeepSeek's, Moonshot's and Z.ai's servers take of chats. `adaptive` is the model's own way. */
export function readSwitch(body: JsonObject, ignored: string[]): Options | undefined {
  const read = (value: unknown, param: string) => {
    const { type } = anObject(value, param)
    return type === 'adaptive' ? type : aSwitch(type, at(param, 'type'))
  }
  const type = hint(body, 'thinking', '', read, ignored)
  return type === undefined || type === 'adaptive' ? undefined : { enable_thinking: type === 'enabled' }
}

type Options = Readonly<Record<string, unknown>>

/** What chat templates of reasoning models ask for: Qwen's `enable_thinking`, the effort of others. What is given by name wins. */
export function withEffort(effort: ReturnType<typeof anEffort> | undefined, given: Options | undefined) {
  if (effort === undefined) return given
  return { reasoning_effort: effort, enable_thinking: effort !== 'none' && effort !== 'minimal', ...given }
}
