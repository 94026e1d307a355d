import type { Slices } from '../../platform/index.js'
import type { TemplateMessage } from './messages.js'
import type { ChatTemplate, TemplateInput } from './template.js'

/** MLC's own description of a chat, in `mlc-chat-config.json`: the fall-back where a repository has no Jinja template. */
export interface ConvTemplate {
  readonly system_template?: string
  readonly system_message?: string
  readonly roles?: Readonly<Record<string, string>>
  readonly role_templates?: Readonly<Record<string, string>>
  readonly seps?: readonly string[]
  readonly role_content_sep?: string
  readonly role_empty_sep?: string
  readonly add_role_after_system_message?: boolean
  readonly system_prefix_token_ids?: readonly number[]
}

export class MlcTemplate implements ChatTemplate {
  readonly source = ''
  readonly writesCalls = false
  readonly readsSystemTools = false
  readonly #conv: ConvTemplate
  readonly #prefix: string

  /** `prefix` is the text of `system_prefix_token_ids`, usually the beginning-of-sequence token. */
  constructor(conv: ConvTemplate, prefix: string) {
    this.#conv = conv
    this.#prefix = prefix
  }

  *renderInSlices(input: TemplateInput): Slices<string> {
    yield
    return this.render(input)
  }

  render({ messages }: TemplateInput): string {
    const conv = this.#conv
    const system = messages.filter((message) => message.role === 'system').map((message) => message.content)
    const turns = messages.filter((message) => message.role !== 'system')
    const seps = conv.seps ?? ['\n']
    const text = fill(
      conv.system_template ?? '{system_message}',
      'system_message',
      system.join('\n\n') || (conv.system_message ?? ''),
    )
    let prompt = this.#prefix + text + (text === '' ? '' : (seps[0] ?? ''))
    turns.forEach((message, i) => {
      const bare = i === 0 && conv.add_role_after_system_message === false && text !== ''
      prompt += this.#turn(message, seps, bare)
    })
    return prompt + this.#role('assistant') + (conv.role_empty_sep ?? conv.role_content_sep ?? ': ')
  }

  #turn({ role, content }: TemplateMessage, seps: readonly string[], bare: boolean): string {
    const head = bare ? '' : this.#role(role) + (this.#conv.role_content_sep ?? ': ')
    const template = fill(this.#conv.role_templates?.[role] ?? `{${role}_message}`, 'function_string', '')
    const body = fill(template, `${role}_message`, content)
    const sep = (role === 'assistant' ? seps[1] : seps[0]) ?? seps[0] ?? ''
    return head + body + sep
  }

  #role(role: string): string {
    return this.#conv.roles?.[role] ?? this.#conv.roles?.[role === 'tool' ? 'user' : role] ?? role
  }
}

/** By split and join: a message may hold `$&` and the placeholders of others. */
function fill(template: string, name: string, value: string): string {
  return template.split(`{${name}}`).join(value)
}
