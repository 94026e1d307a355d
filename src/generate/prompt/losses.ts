/** What a template loses of messages, found out by having it write some, and the same messages told so that it does not. */
import type { Slices } from '../../platform/index.js'
import { asUserTurn, foldSystem, lateAsUserTurns, type TemplateMessage, type TemplateTool } from './messages.js'
import { beganByUser, oneCallATurn, parted, type Written } from './repairs.js'

export interface Losses {
  /** It passes over system messages. */
  readonly dropsSystem: boolean
  /** It goes through the parts of a message, and passes over texts. */
  readonly wantsParts: boolean
  /** Of calls that were made at once it writes the first. */
  readonly takesOneCall: boolean
  /** It passes over what came of calls, though it knows tools: one of GLM-4's does. */
  readonly dropsResults: boolean
  /** It looks for what came of calls right behind them, and passes over what comes later: Gemma 4's do. */
  readonly dropsLateResults: boolean
  /** It tells of tools in the first message, whoever wrote that, and for the user's: Llama 3.1's does. */
  readonly takesFirstForUser: boolean
}

/** What each would lose is said in another way, in this order. Texts become parts last of all, for those are no messages. */
const WAYS_AROUND: readonly (readonly [
  Exclude<keyof Losses, 'wantsParts'>,
  (messages: readonly TemplateMessage[], tools: readonly TemplateTool[]) => readonly TemplateMessage[],
])[] = [
  ['takesFirstForUser', (messages, tools) => (tools.length > 0 ? beganByUser(messages) : messages)],
  ['takesOneCall', oneCallATurn],
  ['dropsLateResults', lateAsUserTurns],
  ['dropsResults', (messages) => messages.map((each) => (each.role === 'tool' ? asUserTurn(each.content) : each))],
  ['dropsSystem', foldSystem],
]

export function withoutLosses(
  losses: Losses,
  messages: readonly TemplateMessage[],
  tools: readonly TemplateTool[],
): readonly TemplateMessage[] {
  return WAYS_AROUND.reduce((before, [loss, around]) => (losses[loss] ? around(before, tools) : before), messages)
}

/** With ids such as Mistral's templates take. */
const callOf = (id: string, name: string, given: object) => {
  return { id, type: 'function', function: { name, arguments: given } } as const
}
const TWO_CALLS: readonly TemplateMessage[] = [
  {
    role: 'assistant',
    content: '',
    tool_calls: [callOf('000000000', 'a_first_call', {}), callOf('000000001', 'a_second_call', {})],
  },
  { role: 'tool', content: 'a_first_result', tool_call_id: '000000000' },
  { role: 'tool', content: 'a_second_result', tool_call_id: '000000001' },
]
/** The model spoke first. */
const BEGUN: readonly TemplateMessage[] = [
  { role: 'assistant', content: '', tool_calls: [callOf('000000000', 'a_first_call', { place: 'a_first_place' })] },
  { role: 'tool', content: 'a_first_result', tool_call_id: '000000000' },
]
/** The second has its result later. */
const LATE_RESULT: readonly TemplateMessage[] = [
  { role: 'user', content: 'words_meanwhile' },
  { role: 'assistant', content: 'words_then' },
  { role: 'tool', content: 'a_late_result', tool_call_id: '000000001', name: 'a_second_call' },
]
const TWO_TOOLS: readonly TemplateTool[] = ['first', 'second'].map((name) => ({
  type: 'function',
  function: { name: `a_${name}_call`, description: '', parameters: { type: 'object', properties: {} } },
}))

/** `attempt` has the template write messages: what it wrote, or nothing where it refuses them. */
export function* lossesOf(
  attempt: (messages: readonly Written[], tools: readonly TemplateTool[]) => Slices<string | undefined>,
): Slices<Losses> {
  const user = { role: 'user', content: 'words_of_a_user' }
  const system = { role: 'system', content: 'words_of_a_system' }
  const asText = yield* attempt([user], [])
  const asParts = asText?.includes(user.content) ? '' : yield* attempt(parted([user]), [])
  const wantsParts = asParts?.includes(user.content) ?? false
  const taken = (messages: readonly TemplateMessage[]) => attempt(wantsParts ? parted(messages) : messages, [])
  const withSystem = yield* taken([system, user])
  const called = yield* taken([user, ...TWO_CALLS])
  const withTools = yield* attempt([user, ...TWO_CALLS], TWO_TOOLS)
  const late = yield* attempt([user, ...TWO_CALLS, ...LATE_RESULT], TWO_TOOLS)
  const begun = yield* attempt(BEGUN, TWO_TOOLS)
  const begunByUser = yield* attempt(beganByUser(BEGUN), TWO_TOOLS)
  const [first, second] = ['a_first_call', 'a_second_call'].map((name) => called?.includes(name) ?? false)
  const isWithout = (text: string | undefined, words: string) => text !== undefined && !text.includes(words)
  return {
    wantsParts,
    takesOneCall: first! && !second,
    dropsSystem: withSystem?.includes(user.content) === true && !withSystem.includes(system.content),
    dropsResults: [called, withTools].every(
      (text) => text?.includes(user.content) === true && isWithout(text, 'a_second_result'),
    ),
    dropsLateResults: isWithout(late, 'a_late_result'),
    takesFirstForUser: isWithout(begun, 'a_first_place') && begunByUser?.includes('a_first_place') === true,
  }
}
