import { type ChatCall, type ChatMessage, textOf, V1Error } from '../../contract/index.js'
import type { BuiltInMessage } from './language-model.js'

const EFFORT = new Set(['reasoning_effort', 'enable_thinking'])

export interface BuiltInRequest {
  readonly initialPrompts: readonly BuiltInMessage[]
  readonly text: string
}

/** What the browser's model is asked; what it cannot do is refused by the name of its field. */
export function requestFor(call: ChatCall, mayBeWarm: boolean): BuiltInRequest {
  const { sampling, n } = call
  const cannot = (param: string, wanted: boolean, why: string) => {
    if (wanted) throw new V1Error(400, `The browser's built-in model ${why}.`, { param, code: 'unsupported_value' })
  }
  cannot('n', n > 1, 'gives one answer at a time: leave it out')
  cannot('prompt', call.prompt !== undefined, 'takes only messages')
  cannot('top_p', (sampling.topP ?? 1) !== 1, 'has no top_p: leave it out')
  cannot('presence_penalty', (sampling.presencePenalty ?? 0) !== 0, 'has no penalties: leave it out')
  cannot('frequency_penalty', (sampling.frequencyPenalty ?? 0) !== 0, 'has no penalties: leave it out')
  cannot('logit_bias', (sampling.logitBias?.size ?? 0) > 0, 'has no logit_bias: leave it out')
  cannot('temperature', (sampling.temperature ?? 1) !== 1 && !mayBeWarm, 'has no temperature in pages: leave it out')
  cannot('max_tokens', call.maxTokens !== undefined && isForm(call), 'cannot end a document early: leave it out')
  cannot('stop', call.stop.length > 0 && isForm(call), 'cannot end a document early: leave it out')
  // The two that an effort becomes are the service's to refuse.
  const variables = Object.keys(call.templateOptions ?? {}).filter((name) => !EFFORT.has(name))
  cannot('chat_template_kwargs', variables.length > 0, 'has no chat template arguments: leave it out')
  const messages = call.messages.map(builtIn)
  const last = messages.at(-1)
  if (last?.role !== 'user') {
    const message = "The last message must be the user's for the browser's built-in model."
    throw new V1Error(400, message, { param: `messages[${messages.length - 1}].role`, code: 'invalid_value' })
  }
  return { initialPrompts: messages.slice(0, -1), text: last.content }
}

export const isForm = ({ output }: ChatCall): boolean => output.type !== 'text'

function builtIn(message: ChatMessage, i: number): BuiltInMessage {
  const refuse = (param: string, why: string) =>
    new V1Error(400, `The browser's built-in model takes ${why}.`, { param, code: 'unsupported_value' })
  if (message.role === 'tool') throw refuse(`messages[${i}].role`, 'no tool results')
  if (message.role === 'system') {
    if (i > 0) throw refuse(`messages[${i}].role`, 'a system message only as the first')
    return { role: 'system', content: textOf(message.content) }
  }
  if (message.role === 'assistant') {
    if (message.toolCalls?.length) throw refuse(`messages[${i}].tool_calls`, 'no tool calls')
    return { role: 'assistant', content: message.content }
  }
  return { role: 'user', content: textOf(message.content) }
}

/** What the browser says no with, as `/v1` says it. */
export function promptError(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted || V1Error.is(error) || !(error instanceof Error)) return error
  const { name, message } = error
  if (name === 'QuotaExceededError') {
    const text = "The messages are longer than the context of the browser's built-in model."
    return new V1Error(400, text, { param: 'messages', code: 'context_length_exceeded', cause: error })
  }
  if (name === 'NotSupportedError') {
    const text = `The browser's built-in model does not support this: ${message}`
    return new V1Error(400, text, { param: 'response_format', code: 'unsupported_value', cause: error })
  }
  if (name === 'NotReadableError') {
    const text = `The browser withholds the answer of its built-in model: ${message}`
    return new V1Error(400, text, { code: 'content_filter', cause: error })
  }
  if (name === 'NotAllowedError') {
    const text = `The browser does not let this page use its model yet (the first load needs a click): ${message}`
    return new V1Error(503, text, { code: 'device_unavailable', cause: error })
  }
  return new V1Error(503, `The browser's built-in model failed: ${message}`, { code: 'engine_failed', cause: error })
}
