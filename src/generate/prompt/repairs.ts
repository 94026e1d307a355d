/**
 * The same conversation for templates that refuse it as it is: some families demand turns that alternate, one call a turn,
 * or no system message. Everything that was said stays in it, in its order.
 */
import { foldSystem, type TemplateMessage } from './messages.js'

export type Written = Omit<TemplateMessage, 'content'> & { readonly content: string | readonly object[] }
type Messages = readonly TemplateMessage[]
/** The same list where there is nothing for it to do. */
type Repair = (messages: Messages) => Messages

const REPAIRS: readonly Repair[] = [
  (messages) => (messages.some(({ role }) => role === 'system') ? foldSystem(messages) : messages),
  oneCallATurn,
  argumentsAsText,
  answeredResults,
  wordsWithResults,
  beganByUser,
  oneTurnEach,
]

/** What may be tried, the smallest change first; undefined: a pause. */
export function* repairs(messages: Messages): Iterable<Messages | undefined> {
  const found: { steps: number; messages: Messages }[] = [{ steps: 0, messages }]
  for (const step of REPAIRS) {
    for (const { steps, messages: before } of [...found]) {
      const after = step(before)
      if (after !== before) found.push({ steps: steps + 1, messages: after })
      yield
    }
  }
  const all = found.sort((a, b) => a.steps - b.steps).map((each) => each.messages)
  yield* all.slice(1)
  for (const each of all) yield listed(each)
}

/** Those that know images too may go through a message's parts without asking whether it has some. */
export function parted(messages: Messages): Written[] {
  return messages.map((message) => ({ ...message, content: [{ type: 'text', text: message.content }] }))
}

/** To Python what is not there is an empty list as well, which some templates go through without asking. */
function listed(messages: Messages): Messages {
  return messages.map((message) => ({ tool_calls: [], ...message }))
}

/** Neighbours of one role become one message. */
function oneTurnEach(messages: Messages): Messages {
  const out: TemplateMessage[] = []
  for (const message of messages) {
    const last = out.at(-1)
    const isMore = last?.role === message.role && message.role !== 'tool' && !last.tool_calls?.length
    if (!last || !isMore) out.push(message)
    else
      out[out.length - 1] = {
        ...last,
        ...message,
        content: both(last.content, message.content),
        ...thoughtsOf(last, message),
      }
  }
  return out.length === messages.length ? messages : out
}

function thoughtsOf(one: TemplateMessage, other: TemplateMessage): Partial<TemplateMessage> {
  const thought = both(one.reasoning ?? '', other.reasoning ?? '')
  return thought === '' ? {} : { reasoning: thought, reasoning_content: thought }
}

/** Not by `join`, which writes both anew: of five thousand neighbours each time all that stand before. */
const both = (one: string, other: string): string => (one && other ? `${one}\n\n${other}` : one || other)

/** Calls that were made at once, each with its result behind it. */
export function oneCallATurn(messages: Messages): Messages {
  if (!messages.some(({ tool_calls: calls }) => (calls?.length ?? 0) > 1)) return messages
  const out: TemplateMessage[] = []
  for (let i = 0; i < messages.length; ) {
    const message = messages[i++]!
    const { tool_calls: calls = [] } = message
    if (calls.length < 2) {
      out.push(message)
      continue
    }
    // Looked up by their calls: of thousands each would be compared with all.
    const results = new Map<string | undefined, TemplateMessage[]>(calls.map(({ id }) => [id, []]))
    const others: TemplateMessage[] = []
    for (; messages[i]?.role === 'tool'; i++) (results.get(messages[i]!.tool_call_id) ?? others).push(messages[i]!)
    for (const [at, call] of calls.entries()) {
      const { reasoning: _, reasoning_content: __, ...bare } = message
      out.push({ ...(at === 0 ? message : { ...bare, content: '' }), tool_calls: [call] })
      for (const result of results.get(call.id)!) out.push(result)
    }
    for (const result of others) out.push(result)
  }
  return out
}

/** Some put arguments into a text without asking what they are. */
function argumentsAsText(messages: Messages): Messages {
  const isGiven = messages.some((message) =>
    message.tool_calls?.some((call) => typeof call.function.arguments !== 'string'),
  )
  if (!isGiven) return messages
  return messages.map((message) => {
    if (!message.tool_calls) return message
    const calls = message.tool_calls.map((call) => {
      const { arguments: given } = call.function
      return {
        ...call,
        function: { ...call.function, arguments: typeof given === 'string' ? given : JSON.stringify(given) },
      }
    })
    return { ...message, tool_calls: calls }
  })
}

const followsResult = (messages: Messages, i: number) =>
  messages[i]!.role === 'user' && messages[i - 1]?.role === 'tool'

/** Between a result and the user's next words the model has said nothing, in a turn of its own. */
function answeredResults(messages: Messages): Messages {
  if (!messages.some((_, i) => followsResult(messages, i))) return messages
  return messages.flatMap((message, i) =>
    followsResult(messages, i) ? [{ role: 'assistant', content: '' }, message] : [message],
  )
}

/** Words behind a result stand with it. */
function wordsWithResults(messages: Messages): Messages {
  if (!messages.some((_, i) => followsResult(messages, i))) return messages
  const out: TemplateMessage[] = []
  for (const [i, message] of messages.entries()) {
    const last = out.at(-1)
    if (last && followsResult(messages, i))
      out[out.length - 1] = { ...last, content: both(last.content, message.content) }
    else out.push(message)
  }
  return out
}

/** Where the model speaks first, an empty turn of the user's stands before it. */
export function beganByUser(messages: Messages): Messages {
  const first = messages.findIndex(({ role }) => role !== 'system')
  if (first < 0 || messages[first]!.role !== 'assistant') return messages
  return [...messages.slice(0, first), { role: 'user', content: '' }, ...messages.slice(first)]
}
