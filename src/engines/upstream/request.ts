import {
  type ChatCall,
  type ChatMessage,
  type Content,
  type OutputFormat,
  onTheWire,
  type ToolSpec,
  textsJoined,
  V1Error,
} from '../../contract/index.js'

/** A call in the words of the wire. */
export function requestBody(call: ChatCall, model: string, maxTokensField: string): Record<string, unknown> {
  const { sampling, tools, toolChoice, n, stop, maxTokens, topLogprobs, templateOptions } = call
  return {
    model,
    ...(call.prompt === undefined
      ? { messages: call.messages.map(call.evidence ? apart : wireMessage) }
      : { prompt: call.prompt, ...(call.suffix !== undefined && { suffix: call.suffix }) }),
    stream: true,
    stream_options: { include_usage: true },
    ...(n > 1 && { n }),
    ...(maxTokens !== undefined && { [maxTokensField]: maxTokens }),
    ...(stop.length > 0 && { stop }),
    ...(call.minTokens !== undefined && { min_tokens: call.minTokens }),
    ...(call.stopTokens && { stop_token_ids: call.stopTokens }),
    ...(call.ignoreEnds && { ignore_eos: true }),
    ...(call.returnTokens && { return_token_ids: true }),
    ...(call.tokensAsIds && { return_tokens_as_token_ids: true }),
    ...onTheWire(sampling),
    ...(sampling.seed !== undefined && { seed: sampling.seed }),
    ...(sampling.logitBias && { logit_bias: Object.fromEntries(sampling.logitBias) }),
    ...(topLogprobs !== undefined && wireLogprobs(call.prompt, topLogprobs)),
    ...wireForm(call.output),
    ...('quote' in call.output && call.output.quote && { quote: true }),
    ...(call.evidence && { evidence: true }),
    ...(tools.length > 0 && {
      tools: tools.map(wireTool),
      tool_choice: typeof toolChoice === 'string' ? toolChoice : { type: 'function', function: toolChoice },
      parallel_tool_calls: call.parallelToolCalls,
    }),
    ...(templateOptions && { chat_template_kwargs: templateOptions }),
    ...(call.thinkingBudget !== undefined && { thinking_token_budget: call.thinkingBudget }),
  }
}

/** The older form has one number for both. */
const wireLogprobs = (prompt: ChatCall['prompt'], top: number) =>
  prompt === undefined ? { logprobs: true, ...(top > 0 && { top_logprobs: top }) } : { logprobs: top }

/** In the parts that it came in, by which sources are told. */
function apart(message: ChatMessage): Record<string, unknown> {
  const wire = wireMessage(message)
  if (!message.joined || typeof wire.content !== 'string') return wire
  return { ...wire, content: textsJoined(wire.content, message.joined).map((text) => ({ type: 'text', text })) }
}

function wireMessage(message: ChatMessage): Record<string, unknown> {
  if (message.role === 'tool') return { role: 'tool', content: message.content, tool_call_id: message.toolCallId }
  const { role, name } = message
  const named = name === undefined ? undefined : { name }
  if (message.role !== 'assistant') return { role, content: wireContent(message.content), ...named }
  const { content, reasoning } = message
  const thought = reasoning === undefined ? undefined : { reasoning_content: reasoning }
  if (!message.toolCalls) return { role, content, ...thought, ...named }
  const calls = message.toolCalls.map(({ id, name, arguments: text }) => ({
    id,
    type: 'function',
    function: { name, arguments: text },
  }))
  return { role, content: content === '' ? null : content, ...thought, tool_calls: calls, ...named }
}

export function wireContent(content: Content): unknown {
  if (typeof content === 'string') return content
  return content.map((part) => {
    if (part.type === 'text') return part
    if (part.type === 'audio') return { type: 'input_audio', input_audio: { data: part.data, format: part.format } }
    return {
      type: 'image_url',
      image_url: { url: part.url, ...(part.detail !== undefined && { detail: part.detail }) },
    }
  })
}

/** What has no name in OpenAI's words has one in vLLM's; whether it was kept to is judged by the answer. */
function wireForm(output: OutputFormat): Record<string, unknown> {
  if (output.type === 'text') return {}
  if (output.type !== 'grammar') return { response_format: wireFormat(output) }
  const { source } = output
  if ('regex' in source) return { structured_outputs: { regex: source.regex } }
  if ('choice' in source) return { structured_outputs: { choice: source.choice } }
  if ('gbnf' in source) return { structured_outputs: { grammar: source.gbnf } }
  if ('lark' in source) return { structured_outputs: { grammar: source.lark } }
  if ('structuralTag' in source) return { structured_outputs: { structural_tag: JSON.stringify(source.structuralTag) } }
  throw new V1Error(400, 'This grammar cannot be sent to another server.', { param: 'response_format' })
}

function wireFormat(output: Exclude<OutputFormat, { readonly type: 'grammar' }>): unknown {
  if (output.type === 'json_object') {
    const { quote: _, ...form } = output
    return form
  }
  if (output.type !== 'json_schema') return output
  const { name, description, strict, schema } = output
  return { type: 'json_schema', json_schema: { name, description, strict, schema } }
}

function wireTool({ name, description, parameters, strict }: ToolSpec): unknown {
  return { type: 'function', function: { name, description, parameters, ...(strict && { strict }) } }
}
