import { type ChatCall, V1Error } from '../../contract/index.js'
import type { Slices } from '../../platform/index.js'
import { thoughtWish } from '../thinking.js'
import type { ToolFormat } from '../tools/format.js'
import { UNKNOWN } from '../tools/hermes.js'
import type { Guard } from './guard.js'
import { type Habits, messagesOf, type TemplateMessage, toolsOf, type WordsPlace } from './messages.js'
import type { ChatTemplate, TemplateInput } from './template.js'

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
    const { messages, words } = withWords(given, habits.wordsPlace, guard)
    const text = yield* template.renderInSlices({ messages, tools, options })
    return words ? inFront(text, words, format, guard) : text
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

interface Placed {
  readonly messages: readonly TemplateMessage[]
  /** What could not go through the template, by its marks: see `inFront`. */
  readonly words?: readonly string[]
}

/**
 * What a model says beside the calls of its turn. Many templates write the calls alone: there the words go where the family
 * has a place for them, so that none is dropped.
 */
function withWords(messages: readonly TemplateMessage[], place: WordsPlace, guard: Guard): Placed {
  if (place === 'content' || !messages.some(isBoth)) return { messages }
  if (place === 'plan') {
    return { messages: messages.map((each) => (isBoth(each) ? { ...each, tool_plan: each.content } : each)) }
  }
  if (place === 'apart') return { messages: messages.flatMap((each) => (isBoth(each) ? apart(each) : each)) }
  const words: string[] = []
  const marked = messages.map((message) => {
    if (!isBoth(message)) return message
    const [first, ...others] = message.tool_calls!
    const name = guard.mark(words.push(message.content) - 1) + first!.function.name
    return { ...message, content: '', tool_calls: [{ ...first!, function: { ...first!.function, name } }, ...others] }
  })
  return { messages: marked, words }
}

const isBoth = ({ content, tool_calls: calls }: TemplateMessage): boolean => content.trim() !== '' && !!calls?.length

function apart(message: TemplateMessage): TemplateMessage[] {
  const { tool_calls: _, ...spoken } = message
  const { reasoning: __, reasoning_content: ___, ...calls } = message
  return [spoken, { ...calls, content: '' }]
}

/** Each mark stands at the name of a turn's first call: before it is what opens calls, and before that go the words. */
function inFront(text: string, words: readonly string[], format: ToolFormat, guard: Guard): string {
  const [opening] = beginningOf(format)
  const parts: string[] = []
  let from = 0
  for (const [i, each] of words.entries()) {
    const mark = guard.mark(i)
    const at = text.indexOf(mark, from)
    if (at < 0) continue
    const open = text.lastIndexOf(opening!, at)
    const place = open < from ? at : open
    parts.push(text.slice(from, place), each, format.between ?? '', text.slice(place, at))
    from = at + mark.length
  }
  return parts.join('') + text.slice(from)
}

/** What a call begins with, word by word: what opens it, or where nothing does, its own beginning. */
export function beginningOf({ open, bare = '', past = open }: ToolFormat): string[] {
  return (past.trim() || bare.trim()).split(/\s+/)
}

const WORDS = ['words_beside_a_call', 'words_beside_another']
const CITIES = ['Bern', 'Chur']

/** Where a template keeps them, found out by having it write some. */
export function* wordsPlaceOf(template: ChatTemplate, format: ToolFormat, guard: Guard): Slices<WordsPlace> {
  if (!template.writesCalls) return 'content'
  const isMarked = format.native && format !== UNKNOWN && beginningOf(format).join('') !== ''
  // Where nothing opens a call, it is all of a turn.
  const front: WordsPlace[] =
    !isMarked || format.past !== undefined
      ? ['apart']
      : format.open.trim() === ''
        ? ['apart', 'front']
        : ['front', 'apart']
  const places: readonly WordsPlace[] = ['content', 'plan', ...front]
  for (const place of places) if (yield* keeps(template, place, format, guard)) return place
  return 'content'
}

function* keeps(template: ChatTemplate, place: WordsPlace, format: ToolFormat, guard: Guard): Slices<boolean> {
  const input = conversation(format)
  const { messages, words } = withWords(input.messages, place, guard)
  try {
    const rendered = yield* template.renderInSlices({ ...input, messages })
    const text = words ? inFront(rendered, words, format, guard) : rendered
    let from = 0
    return WORDS.every((words, i) => {
      const place = text.indexOf(words, from)
      from = text.indexOf(CITIES[i]!, Math.max(place, 0))
      return place >= 0 && from >= 0
    })
  } catch {
    return false
  }
}

function conversation({ callId }: ToolFormat): TemplateInput {
  const city = { type: 'string', description: 'A city.' }
  const tool = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: { city } } }
  const called = (i: number): TemplateMessage[] => {
    const id = callId?.(`call_01234567${i}`) ?? `call_01234567${i}`
    const call = { id, type: 'function' as const, function: { name: 'look', arguments: { city: CITIES[i] } } }
    return [
      { role: 'assistant', content: WORDS[i]!, tool_calls: [call] },
      { role: 'tool', content: 'Seen.', tool_call_id: id, name: 'look' },
    ]
  }
  const reply = { role: 'assistant', content: 'It is there.' }
  const user = { role: 'user', content: 'Look.' }
  return {
    tools: [{ type: 'function', function: tool }],
    options: {},
    messages: [user, ...called(0), reply, user, ...called(1)],
  }
}
