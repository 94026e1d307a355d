import { type Capabilities, localSampling, type ModelInfo, SAMPLING, type V1Error } from '../../contract/index.js'
import { quotesOf, saysQuote } from '../../grammar/index.js'
import { unsupported } from '../wire/fields.js'
import { notTaken } from '../wire/messages.js'
import type { CallSpec, ModelRequest } from '../wire/reply.js'

/** Refuses what the model has said it cannot do, by the name of the field that asks for it. */
export function checkCapable({ id, capabilities = {} }: ModelInfo, spec: CallSpec): void {
  const { chat = true, logprobs = true, seed = true, tools = true, grammar = true, otherGrammars = true } = capabilities
  const { fields } = spec
  if (!chat) throw unsupported('model', `The model '${id}' cannot generate text.`)
  if (!logprobs && spec.topLogprobs !== undefined)
    throw lacks(id, fields.logprobs ?? 'logprobs', 'returns no log probabilities')
  if (!seed && spec.sampling.seed !== undefined)
    throw lacks(id, fields.sampling?.('seed') ?? 'seed', 'does not support a seed')
  if (!tools && spec.tools.length > 0 && spec.toolChoice !== 'none') throw lacks(id, 'tools', 'cannot call tools')
  if (!grammar && spec.output.type !== 'text') throw lacks(id, fields.format, 'cannot enforce a format')
  if (!otherGrammars && spec.output.type === 'grammar') throw lacks(id, fields.format, 'supports only JSON formats')
  if (!capabilities.quotes || spec.prompt !== undefined) checkQuotes(id, spec)
  checkLocal(id, capabilities, spec)
  checkMedia(capabilities, spec)
}

/**
 * The call without what only shapes an answer and this model cannot do, and the names of the fields that asked for it.
 * Agents send their effort to every model: one that does not think answers all the same.
 */
export function withoutHints<T extends ModelRequest>({ capabilities }: ModelInfo, request: T): T {
  const { spec } = request
  const wantsThoughts = spec.templateOptions?.enable_thinking === true || (spec.thinkingBudget ?? 0) > 0
  if (capabilities?.thinking !== false || !wantsThoughts) return request
  const { thinkingBudget: _, templateOptions, ...rest } = spec
  const { reasoning_effort: __, ...options } = templateOptions ?? {}
  return {
    ...request,
    spec: { ...rest, templateOptions: { ...options, enable_thinking: false } },
    ignored: [...request.ignored, spec.fields.thinking ?? 'reasoning_effort'],
  }
}

/** Who keeps to no grammar of ours would only be told that its answer is none; of a prompt alone every quote is empty. */
function checkQuotes(id: string, { prompt, output, tools, toolChoice, fields }: CallSpec): void {
  const why = prompt === undefined ? 'cannot quote the conversation' : 'has no messages to quote from here'
  const quoted = quotesOf(output)
  if (quoted === 'all') throw lacks(id, fields.quote ?? 'quote', why)
  if (quoted === 'some') throw unsupported(fields.format, `The model '${id}' ${why}: leave 'x-quote' out.`)
  const tool = toolChoice === 'none' ? -1 : tools.findIndex(({ parameters }) => saysQuote(parameters))
  if (tool >= 0) throw unsupported(fields.parameters(tool), `The model '${id}' ${why}: leave 'x-quote' out.`)
}

/** What only servers of open models have. */
function checkLocal(
  id: string,
  { sampling = false, tokens = false, infill = false, promptLogprobs = false, evidence = false }: Capabilities,
  spec: CallSpec,
): void {
  const given = localSampling(spec.sampling).map((name) => SAMPLING[name].wire)
  if (spec.stopTokens) given.push('stop_token_ids')
  if (spec.minTokens) given.push('min_tokens')
  if (spec.ignoreEnds) given.push('ignore_eos')
  for (const field of given) {
    if (!sampling) throw lacks(id, spec.fields.sampling?.(field) ?? field, 'does not support it')
    if ((field === 'min_tokens' || field === 'ignore_eos') && endsByItself(spec)) {
      throw unsupported(
        field,
        'An answer with a schema, a grammar or a required tool ends where that ends: leave it out.',
      )
    }
  }
  if (spec.evidence && !evidence) throw lacks(id, 'evidence', 'does not report evidence')
  if (spec.suffix !== undefined && !infill) throw lacks(id, spec.fields.suffix ?? 'suffix', 'cannot fill gaps')
  if (spec.promptLogprobs && !promptLogprobs) {
    throw unsupported(
      'echo',
      `The model '${id}' returns no log probabilities of a prompt: leave 'echo' or 'logprobs' out.`,
    )
  }
  if (spec.maxTokens === 0 && !promptLogprobs) {
    throw unsupported('max_tokens', `The model '${id}' generates at least one token: use 1.`)
  }
  if (spec.returnTokens && !tokens) {
    throw lacks(id, spec.fields.tokens ?? 'return_token_ids', 'does not return token ids')
  }
  if (spec.tokensAsIds && !tokens) throw lacks(id, 'return_tokens_as_token_ids', 'does not return token ids')
}

const endsByItself = ({ output, toolChoice }: CallSpec): boolean =>
  output.type !== 'text' || (toolChoice !== 'none' && toolChoice !== 'auto')

const lacks = (id: string, param: string, why: string): V1Error =>
  unsupported(param, `The model '${id}' ${why}: leave it out.`)

/** Also of what is only counted: an image that nobody reads has no tokens. */
export function checkMedia(
  { images = false, audio = false }: Capabilities,
  { messages, fields = {} }: Pick<CallSpec, 'messages'> & { readonly fields?: Partial<CallSpec['fields']> },
): void {
  const place = fields.part ?? ((message, part) => `messages[${message}].content[${part}].type`)
  for (const [i, { content }] of messages.entries()) {
    if (typeof content === 'string') continue
    for (const [j, part] of content.entries()) {
      if (part.type === 'image' && !images) throw notTaken(place(i, j), fields.image ?? 'image_url', 'Images')
      if (part.type === 'audio' && !audio) throw notTaken(place(i, j), 'input_audio', 'Audio parts')
    }
  }
}
