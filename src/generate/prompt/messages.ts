import { type ChatCall, type ChatMessage, type OutputGrammar, type ToolSpec, textOf } from '../../contract/index.js'
import type { Slices } from '../../platform/index.js'
import { describeSchema } from '../schema-prompt.js'
import { type ToolFormat, together } from '../tools/format.js'
import type { Guard } from './guard.js'

/**
 * Where the words of a turn with calls go: `content` as they are, the `plan` that Cohere's templates know, in `front` of the
 * calls in the finished text, `apart` in a turn of their own.
 */
export type WordsPlace = 'content' | 'plan' | 'front' | 'apart'

/** A message as chat templates know it. */
export interface TemplateMessage {
  readonly role: string
  readonly content: string
  /** What it thought, under the names that templates look for; they keep it or leave it out. */
  readonly reasoning_content?: string
  readonly reasoning?: string
  readonly thinking?: string
  readonly name?: string
  readonly tool_call_id?: string
  /** What it means to do by its calls, in the templates that know this. */
  readonly tool_plan?: string
  /** Of a system message, as JSON. */
  readonly tools?: string
  readonly tool_calls?: readonly {
    readonly id: string
    readonly type: 'function'
    readonly function: { readonly name: string; readonly arguments: unknown }
  }[]
}

export interface TemplateTool {
  readonly type: 'function'
  readonly function: { readonly name: string; readonly description: string; readonly parameters: unknown }
}

/** What a template does with calls and tools. */
export interface Habits {
  /** It writes the calls of a message so that they can be read again. */
  readonly writesCalls: boolean
  /** It finds tools in a system message, and nowhere else. */
  readonly readsSystemTools: boolean
  /** Where it keeps what is said beside calls. */
  readonly wordsPlace: WordsPlace
}

/** Everything in a call that a caller wrote and a template may print. */
export function* callerTexts(call: ChatCall): Iterable<string> {
  yield JSON.stringify(call.tools)
  for (const message of call.messages) yield JSON.stringify(message)
  yield JSON.stringify(call.templateOptions ?? null)
  if (call.output.type === 'json_schema') yield JSON.stringify(call.output.schema)
}

/** The arguments of all calls that were made. */
export function* callArguments({ messages }: ChatCall): Iterable<string> {
  for (const message of messages) {
    if (message.role === 'assistant') for (const call of message.toolCalls ?? []) yield call.arguments
  }
}

/** Messages between two pauses. */
const SLICE = 256

/** The call's messages with the schema's description in the system message, where small models heed it best. */
export function* messagesOf(
  call: ChatCall,
  guard: Guard,
  format: ToolFormat,
  { writesCalls, readsSystemTools }: Pick<Habits, 'writesCalls' | 'readsSystemTools'>,
  inWords = !format.native,
): Slices<TemplateMessage[]> {
  const names = toolNames(call.messages)
  const plain = inWords ? format : undefined
  const messages: TemplateMessage[] = []
  for (const message of inCallOrder(call.messages)) {
    messages.push(convert(message, guard, names, format, writesCalls, inWords))
    if (messages.length % SLICE === 0) yield
  }
  const notes: string[] = []
  if (plain && call.tools.length > 0 && call.toolChoice !== 'none') {
    const only = onlyTool(call)
    notes.push(only ? guard.protect(describeCall(only), false) : describeTools(call.tools, guard, plain))
  }
  if (call.describeSchema) for (const line of describeOutput(call)) notes.push(guard.protect(line, false))
  const hasTools = !inWords && call.tools.length > 0 && call.toolChoice !== 'none'
  const isOpened = messages[0]?.role === 'system'
  if (hasTools && format.opening !== undefined && !isOpened) notes.unshift(format.opening)
  const noted = notes.length === 0 ? messages : withSystemNote(messages, notes.join('\n\n'))
  const inSystem = readsSystemTools && hasTools
  return inSystem
    ? withSystemTools(noted, JSON.stringify(toolsOf(call.tools, guard).map((tool) => tool.function)))
    : noted
}

export function toolsOf(tools: readonly ToolSpec[], guard: Guard): TemplateTool[] {
  return tools.map((tool) => ({
    type: 'function',
    function: guard.protectAll({ name: tool.name, description: tool.description ?? '', parameters: tool.parameters }),
  }))
}

/** For templates that refuse a system message (Gemma, early Mistral): the first user message carries it. */
export function foldSystem(messages: readonly TemplateMessage[]): TemplateMessage[] {
  const system = messages.filter((message) => message.role === 'system').map((message) => message.content)
  const rest = messages.filter((message) => message.role !== 'system')
  const first = rest.findIndex((message) => message.role === 'user')
  if (system.length === 0) return rest
  // Where nobody else speaks it is what is asked.
  if (first < 0) return [{ role: 'user', content: system.join('\n\n') }, ...rest]
  return rest.map((message, i) =>
    i === first ? { ...message, content: [...system, message.content].join('\n\n') } : message,
  )
}

const COPIED = 'Copy every string of the JSON word for word.'

/** Schemas in words, with what they were made from, by their grammars: clients ask for the same again and again. */
const described = new WeakMap<OutputGrammar, { readonly source: string; readonly words: string }>()

function describeOutput({ output, grammar }: ChatCall): string[] {
  const form = output.type === 'json_schema' ? [inWords(output.schema, grammar)] : []
  return 'quote' in output && output.quote ? [...form, COPIED] : form
}

function inWords(schema: Parameters<typeof describeSchema>[0], grammar: OutputGrammar | undefined): string {
  if (!grammar) return describeSchema(schema)
  // One grammar may serve schemas that tell their fields in other words.
  const source = JSON.stringify(schema)
  const known = described.get(grammar)
  if (known?.source === source) return known.words
  const words = describeSchema(schema)
  described.set(grammar, { source, words })
  return words
}

function withSystemNote(messages: readonly TemplateMessage[], note: string): TemplateMessage[] {
  const first = messages[0]
  if (first?.role !== 'system') return [{ role: 'system', content: note }, ...messages]
  const content = [first.content, note].filter(Boolean).join('\n\n')
  return [{ ...first, content }, ...messages.slice(1)]
}

function withSystemTools(messages: readonly TemplateMessage[], tools: string): TemplateMessage[] {
  const [first, ...others] = withSystemNote(messages, '')
  return [{ ...first!, tools }, ...others]
}

/** Results in the order of the calls that they are of: most templates write no ids, and models tell them apart by it. */
function* inCallOrder(messages: readonly ChatMessage[]): Iterable<ChatMessage> {
  let places: ReadonlyMap<string, number> = new Map()
  for (let i = 0; i < messages.length; ) {
    const results: { readonly message: ChatMessage; readonly place: number }[] = []
    for (let message = messages[i]; message?.role === 'tool'; message = messages[++i])
      results.push({ message, place: places.get(message.toolCallId) ?? Number.MAX_SAFE_INTEGER })
    for (const { message } of results.sort((a, b) => a.place - b.place)) yield message
    const message = messages[i++]
    if (message) yield message
    if (message?.role === 'assistant') places = new Map(message.toolCalls?.map(({ id }, place) => [id, place]))
  }
}

function toolNames(messages: readonly ChatMessage[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const message of messages) {
    if (message.role === 'assistant') for (const call of message.toolCalls ?? []) names.set(call.id, call.name)
  }
  return names
}

function convert(
  message: ChatMessage,
  guard: Guard,
  names: ReadonlyMap<string, string>,
  format: ToolFormat,
  writesCalls: boolean,
  inWords: boolean,
): TemplateMessage {
  const idOf = (id: string) => guard.protect(format.callId?.(id) ?? id, false)
  const trusted = message.role === 'assistant' || message.role === 'system'
  const content = guard.protect(textOf(message.content), trusted)
  if (message.role === 'tool') {
    if (inWords) return asUserTurn(content)
    const name = guard.protect(names.get(message.toolCallId) ?? '', false)
    return { role: 'tool', content, tool_call_id: idOf(message.toolCallId), ...(name && { name }) }
  }
  const named = {
    ...(message.name !== undefined && { name: guard.protect(message.name, false) }),
    ...(message.role === 'assistant' && message.reasoning && thoughtOf(guard.protect(message.reasoning, false))),
    ...thinkingOf(message, guard, format),
  }
  if (message.role !== 'assistant' || !message.toolCalls?.length) return { role: message.role, content, ...named }
  const spelled = (call: { readonly name: string; readonly arguments: string }) =>
    format.spell(call.name, guard.holdNumbers(call.arguments))
  if (inWords && !format.native) {
    const calls = message.toolCalls.map((call) => format.open + spelled(call) + format.close)
    return {
      role: 'assistant',
      content: [content, ...calls.map((call) => guard.protect(call, true))].filter(Boolean).join('\n'),
      ...named,
    }
  }
  if (inWords || !writesCalls) {
    // Their marks are the model's own control tokens; what they say is guarded.
    const calls = message.toolCalls.map((call) => guard.protect(spelled(call), true))
    return { role: 'assistant', content: content + together(format, calls), ...named }
  }
  const calls = message.toolCalls.map((call) => ({
    id: idOf(call.id),
    type: 'function' as const,
    function: guard.protectAll({ name: call.name, arguments: parsed(guard.holdNumbers(call.arguments)) }),
  }))
  return { role: 'assistant', content, tool_calls: calls, ...named }
}

/** What came of a call, for templates that know no such message. */
export function asUserTurn(result: string): TemplateMessage {
  return { role: 'user', content: `<tool_response>\n${result}\n</tool_response>` }
}

/** Results that do not stand right behind the calls of a turn, which other turns have come between. */
export function lateAsUserTurns(messages: readonly TemplateMessage[]): readonly TemplateMessage[] {
  let called: ReadonlySet<string> = new Set()
  return messages.map((message) => {
    if (message.role !== 'tool') called = new Set(message.tool_calls?.map(({ id }) => id))
    else if (!called.has(message.tool_call_id ?? '')) {
      return asUserTurn(message.name === undefined ? message.content : `${message.name}:\n${message.content}`)
    }
    return message
  })
}

function thinkingOf(message: ChatMessage, guard: Guard, { thinking }: ToolFormat): Pick<TemplateMessage, 'thinking'> {
  if (!thinking || message.role !== 'assistant' || !message.reasoning) return {}
  const isBeside = message.toolCalls?.length && message.content !== ''
  return isBeside ? {} : { thinking: guard.protect(message.reasoning, false) }
}

const thoughtOf = (text: string) => ({ reasoning_content: text, reasoning: text })

/** Templates print arguments with `tojson`, which would quote a string once more. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return json
  }
}

/** The one that is called whatever the model thinks. */
function onlyTool({ tools, toolChoice }: ChatCall): ToolSpec | undefined {
  if (typeof toolChoice === 'object') return tools.find(({ name }) => name === toolChoice.name)
  return toolChoice === 'required' && tools.length === 1 ? tools[0] : undefined
}

/** Small models copy what a form of calls spells; this one has to be filled in, and its marks come by themselves. */
function describeCall({ name, description, parameters }: ToolSpec): string {
  return `Fill in the arguments of ${name}${description ? `: ${description}` : '.'}\n\n${describeSchema(parameters)}`
}

function describeTools(tools: readonly ToolSpec[], guard: Guard, format: ToolFormat): string {
  const lines = tools.map((tool) =>
    JSON.stringify({ name: tool.name, description: tool.description, parameters: tool.parameters }),
  )
  return `You can call these functions:\n${guard.protect(lines.join('\n'), false)}\nTo call one, answer with\n${format.open}${format.form}${format.close}`
}
