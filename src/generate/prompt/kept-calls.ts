import type { Slices } from '../../platform/index.js'
import type { ToolFormat } from '../tools/format.js'
import { UNKNOWN } from '../tools/hermes.js'
import { beginningOf, wordsPlaceOf } from './conversation.js'
import { Guard, guarded } from './guard.js'
import type { Habits } from './messages.js'
import type { ChatTemplate, TemplateInput } from './template.js'

const NAME = 'a_call_to_be_read'
const ARGUMENTS = { city: 'Bern', days: 3 }
const properties = {
  city: { type: 'string', description: 'A city.' },
  days: { type: 'integer', description: 'Some days.' },
}
const TOOL = { name: NAME, description: 'A call.', parameters: { type: 'object', properties } }

/**
 * Whether a template writes calls so that who reads the family's calls finds the same again. Some lose quotes or commas,
 * or make a text of a number: a model that reads its own calls so soon writes them so.
 */
export function* keepsCalls(template: ChatTemplate, format: ToolFormat): Slices<boolean> {
  if (!template.writesCalls || !format.native) return template.writesCalls
  try {
    const text = yield* template.renderInSlices(conversation(format))
    // Of a family that nobody here knows, the template knows more than we do, unless it writes nothing of them.
    if (format === UNKNOWN) return text.includes(NAME) && text.includes(ARGUMENTS.city)
    return beginnings(text, format).some((rest) => isRead(rest, format))
  } catch {
    return format === UNKNOWN
  }
}

function conversation({ callId }: ToolFormat): TemplateInput {
  const id = callId?.('call_012345678') ?? 'call_012345678'
  const call = { id, type: 'function' as const, function: { name: NAME, arguments: ARGUMENTS } }
  return {
    tools: [{ type: 'function', function: TOOL }],
    options: {},
    messages: [
      { role: 'user', content: 'Call.' },
      { role: 'assistant', content: '', tool_calls: [call] },
      { role: 'tool', content: 'Called.', tool_call_id: id, name: NAME },
    ],
  }
}

/** The text from wherever a call may begin. */
function beginnings(text: string, format: ToolFormat): string[] {
  // Where nothing opens a call, what it begins with belongs to it.
  const isOpened = format.open.trim() !== ''
  const words = beginningOf(format)
  const mark = new RegExp(words.map((word) => word.replace(/[^\w<>]/g, '\\$&')).join('\\s*'), 'g')
  return [...text.matchAll(mark)].map(({ 0: { length }, index }) => text.slice(isOpened ? index + length : index))
}

function isRead(text: string, format: ToolFormat): boolean {
  const reader = format.reader([{ ...TOOL, strict: false }])
  let name: string | undefined
  let json = ''
  for (const letter of text) {
    const delta = reader.push(letter)
    if (!delta) continue
    name ??= delta.name
    json += delta.arguments
    if (name !== undefined && name !== NAME) return false
    // What stands behind them, an id say, is not looked at.
    if (json.replace(/\s+/g, '').startsWith(JSON.stringify(ARGUMENTS))) return true
  }
  return false
}

export function* habitsOf(template: ChatTemplate, format: ToolFormat): Slices<Habits> {
  const writesCalls = yield* keepsCalls(template, format)
  const { readsSystemTools } = template
  const guard = new Guard(NONCHARACTER, guarded([], []))
  const wordsPlace = writesCalls ? yield* wordsPlaceOf(template, format, guard) : 'content'
  return { writesCalls, readsSystemTools, wordsPlace }
}

const NONCHARACTER = '\ufdef'
