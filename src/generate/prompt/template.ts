import { V1Error } from '../../contract/index.js'
import { atOnce, placeOf, type Slices } from '../../platform/index.js'
import { FueledTemplate, TemplateFuelError } from './fueled.js'
import { asUserTurn, foldSystem, lateAsUserTurns, type TemplateMessage, type TemplateTool } from './messages.js'
import { beganByUser, oneCallATurn, parted, repairs, type Written } from './repairs.js'

type WrittenInput = Omit<TemplateInput, 'messages'> & { readonly messages: readonly Written[] }

export interface TemplateInput {
  readonly messages: readonly TemplateMessage[]
  readonly tools: readonly TemplateTool[]
  readonly options: Readonly<Record<string, unknown>>
}

/** A rendered conversation up to the point where the model speaks. */
export interface ChatTemplate {
  readonly source: string
  /** It writes the calls of a message: many know tools alone, and leave calls to a message's content. */
  readonly writesCalls: boolean
  /** It finds tools in a system message, as Phi-4's does, and nowhere else. */
  readonly readsSystemTools: boolean
  render(input: TemplateInput): string
  /** `render` with pauses: a conversation may have twenty thousand messages. */
  renderInSlices(input: TemplateInput): Slices<string>
}

/** ChatML, for models that come with no template: the form most fine-tuned models have seen. */
export const CHATML = `{%- for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{%- endfor %}{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{%- endif %}`

/** For models that were never taught to chat: the messages, one after the other. */
export const PLAIN_TEMPLATE = `{{ bos_token }}{%- for message in messages %}{{ message.content }}{% if not loop.last %}{{ '\\n' }}{% endif %}{%- endfor %}`

/** A Jinja template as model repositories carry it. */
export class JinjaTemplate implements ChatTemplate {
  readonly source: string
  readonly writesCalls: boolean
  readonly readsSystemTools: boolean
  readonly #template: FueledTemplate
  /** For conversations without tools; some models have two. */
  readonly #plain: FueledTemplate
  readonly #tokens: Readonly<Record<string, string>>
  #losses: Losses | undefined

  constructor(source: string, tokens: Readonly<Record<string, string>>, plain = source) {
    this.source = source
    this.writesCalls = source.includes('tool_calls')
    this.readsSystemTools = source.includes("message['tools']")
    this.#template = new FueledTemplate(source)
    this.#plain = plain === source ? this.#template : new FueledTemplate(plain)
    this.#tokens = tokens
  }

  render(input: TemplateInput): string {
    return atOnce(this.renderInSlices(input))
  }

  *renderInSlices(input: TemplateInput): Slices<string> {
    this.#losses ??= yield* lossesOf(this.#attempts())
    const { wantsParts } = this.#losses
    const messages = withoutLosses(this.#losses, input.messages, input.tools)
    const asTaken = (some: readonly TemplateMessage[]) => ({ ...input, messages: wantsParts ? parted(some) : some })
    try {
      const text = yield* this.#render(asTaken(messages))
      const systems = messages.filter(({ role }) => role === 'system')
      if (yield* hasAll(text, systems)) return text
      // Some put it beside the user's last words, and have no place for it behind a result.
      const folded = yield* this.#attempt(asTaken(foldSystem(messages)))
      if (folded !== undefined && (yield* hasAll(folded, systems))) return folded
      return (yield* this.#repaired(messages, asTaken)) ?? text
    } catch (cause) {
      if (cause instanceof TemplateFuelError) throw cause
      const text = yield* this.#repaired(messages, asTaken)
      if (text !== undefined) return text
      // One that was made for tools alone goes through them without asking whether there are some.
      const withoutTools = yield* this.#attempt({ ...input, messages }, { tools: [] })
      if (input.tools.length === 0 && withoutTools !== undefined) return withoutTools
      throw refused(cause)
    }
  }

  /** The first way in which it takes all that was said. What it refuses first is what it refuses. */
  *#repaired(
    messages: readonly TemplateMessage[],
    asTaken: (some: readonly TemplateMessage[]) => WrittenInput,
  ): Slices<string | undefined> {
    for (const other of repairs(messages)) {
      if (!other) {
        yield
        continue
      }
      try {
        const text = yield* this.#render(asTaken(other))
        if (yield* hasAll(text, messages)) return text
      } catch (error) {
        if (error instanceof TemplateFuelError) throw error
      }
    }
    return undefined
  }

  /** One that had to be stopped is not tried any further. */
  #attempts(): (messages: readonly Written[], tools: readonly TemplateTool[]) => Slices<string | undefined> {
    let stopped = false
    const self = this
    return function* (messages, tools) {
      if (stopped) return undefined
      try {
        return yield* self.#render({ messages, tools, options: {} })
      } catch (error) {
        stopped = error instanceof TemplateFuelError
        return undefined
      }
    }
  }

  *#attempt(input: WrittenInput, more?: Readonly<Record<string, unknown>>): Slices<string | undefined> {
    try {
      return yield* this.#render(input, more)
    } catch {
      return undefined
    }
  }

  *#render(input: WrittenInput, more?: Readonly<Record<string, unknown>>): Slices<string> {
    const isPlain = input.tools.length === 0 && !input.messages.some(({ tool_calls: calls }) => calls?.length)
    return yield* (isPlain ? this.#plain : this.#template).renderInSlices({
      ...variablesOf(input, this.#tokens),
      ...more,
    })
  }
}

/**
 * Whether a text has all messages, in their order as far as it can be. Each is looked for first as the last of its role was
 * spelled: what is not there is looked for in all of a text, which hundreds of results would take long to be.
 */
function* hasAll(text: string, messages: readonly TemplateMessage[]): Slices<boolean> {
  let from = 0
  const escapedRoles = new Set<string>()
  for (const { role, content } of messages) {
    const words = content.trim()
    const escaped = JSON.stringify(words).slice(1, -1)
    const spellings = escapedRoles.has(role) ? [escaped, words] : [words, escaped]
    const found = spellings.find((each) => {
      const at = placeOf(text, each, from)
      if (at >= 0) from = at + each.length
      return at >= 0
    })
    if (found === undefined) {
      yield
      if (!spellings.some((each) => hasParagraphs(text, each))) return false
    } else if (escaped !== words) {
      if (found === escaped) escapedRoles.add(role)
      else escapedRoles.delete(role)
    }
  }
  return true
}

/** Falcon's template leaves no empty line between them. */
const hasParagraphs = (text: string, words: string): boolean =>
  placeOf(text, words) >= 0 || words.split('\n\n').every((each) => placeOf(text, each) >= 0)

/** What a template is given, under the names of Hugging Face's `apply_chat_template`. A caller's replace none of ours. */
export function variablesOf(
  { messages, tools, options }: WrittenInput,
  tokens: Readonly<Record<string, string>>,
): Record<string, unknown> {
  return {
    documents: null,
    ...options,
    ...tokens,
    messages,
    tools: tools.length > 0 ? tools : null,
    add_generation_prompt: true,
  }
}

/** Characters of what a template says of its own. */
const MOST_WORDS = 1000

function refused(cause: unknown): V1Error {
  const why = (cause instanceof Error ? cause.message : String(cause)).slice(0, MOST_WORDS)
  if (cause instanceof RangeError) return new TemplateFuelError('calls itself endlessly')
  return new V1Error(400, `The model's chat template refuses these messages: ${why}`, { param: 'messages', cause })
}

/** What a template loses of messages, found out by having it write some, and the same messages told so that it does not. */
interface Losses {
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

function withoutLosses(
  losses: Losses,
  messages: readonly TemplateMessage[],
  tools: readonly TemplateTool[],
): readonly TemplateMessage[] {
  let told = messages
  for (const [loss, around] of WAYS_AROUND) if (losses[loss]) told = around(told, tools)
  return told
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
function* lossesOf(
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
