import { V1Error } from '../../errors.js'
import { atOnce, type Slices } from '../../platform/slices.js'
import { FueledTemplate, TemplateFuelError } from './fueled.js'
import { foldSystem, type TemplateMessage, type TemplateTool } from './messages.js'

type Written = Omit<TemplateMessage, 'content'> & { readonly content: string | readonly object[] }

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
export const PLAIN = `{{ bos_token }}{%- for message in messages %}{{ message.content }}{% if not loop.last %}{{ '\\n' }}{% endif %}{%- endfor %}`

/** Used up by us: a caller's `chat_template_kwargs` must not replace them. */
const RESERVED = new Set(['messages', 'tools', 'add_generation_prompt', 'bos_token', 'eos_token'])

/** A Jinja template as model repositories carry it. */
export class JinjaTemplate implements ChatTemplate {
  readonly source: string
  readonly writesCalls: boolean
  readonly readsSystemTools: boolean
  readonly #template: FueledTemplate
  readonly #tokens: Readonly<Record<string, string>>

  constructor(source: string, tokens: Readonly<Record<string, string>>) {
    this.source = source
    this.writesCalls = source.includes('tool_calls')
    this.readsSystemTools = source.includes("message['tools']")
    this.#template = new FueledTemplate(source)
    this.#tokens = tokens
  }

  render(input: TemplateInput): string {
    return atOnce(this.renderInSlices(input))
  }

  *renderInSlices(input: TemplateInput): Slices<string> {
    try {
      return yield* this.#render(input)
    } catch (cause) {
      if (cause instanceof TemplateFuelError) throw cause
      for (const messages of others(input.messages)) {
        try {
          return yield* this.#render({ ...input, messages })
        } catch {
          // What it refuses first is what it refuses.
        }
      }
      throw refused(cause)
    }
  }

  *#render({
    messages,
    tools,
    options,
  }: Omit<TemplateInput, 'messages'> & { messages: readonly Written[] }): Slices<string> {
    const own = Object.fromEntries(Object.entries(options).filter(([name]) => !RESERVED.has(name)))
    return yield* this.#template.renderInSlices({
      ...own,
      ...this.#tokens,
      messages,
      // Llama's template asks `is defined`, Qwen's asks for truth: absent satisfies both.
      ...(tools.length > 0 && { tools }),
      add_generation_prompt: true,
    })
  }
}

/** The same conversation for templates that refuse it as it is. */
function others(messages: readonly TemplateMessage[]): (readonly Written[])[] {
  const folded = foldSystem(messages)
  // To Python what is not there is an empty list as well, which some templates go through without asking.
  const listed = (some: readonly TemplateMessage[]) => some.map((message) => ({ tool_calls: [], ...message }))
  // Those that know images too may go through a message's parts without asking whether it has some.
  const parted = messages.map((message) => ({
    ...message,
    content: [{ type: 'text' as const, text: message.content }],
  }))
  return [...(folded.length === messages.length ? [] : [folded]), listed(messages), listed(folded), parted]
}

function refused(cause: unknown): V1Error {
  const why = cause instanceof Error ? cause.message : String(cause)
  if (cause instanceof RangeError) return new TemplateFuelError('calls itself without end')
  return new V1Error(400, `The model's chat template refuses these messages: ${why}`, { param: 'messages', cause })
}
