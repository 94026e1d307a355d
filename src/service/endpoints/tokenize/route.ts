import { modelCannot } from '../../../contract/index.js'
import { inTurns, type JsonObject, mapped } from '../../../platform/index.js'
import { readJson } from '../../answer/body.js'
import { checkMedia } from '../../answer/capable.js'
import { findModel, lookedAround, modelIdOf } from '../../answer/loader.js'
import { once } from '../../answer/once.js'
import type { Route, Service } from '../../answer/service.js'
import {
  aBody,
  aBoolean,
  anArray,
  anObject,
  aString,
  at,
  badRequest,
  noteUnknown,
  optional,
  required,
  unsupported,
} from '../../wire/fields.js'
import { readMessages } from '../../wire/messages.js'
import { readOutputFormat } from '../../wire/output-format.js'
import { areTokens } from '../../wire/parts.js'
import { aToken } from '../../wire/sampling.js'
import { readTools } from '../../wire/tools.js'

const KNOWN = new Set([
  ...['model', 'prompt', 'messages', 'tools', 'tool_choice', 'parallel_tool_calls', 'response_format'],
  ...['return_token_strs', 'add_special_tokens', 'add_generation_prompt', 'continue_final_message'],
  ...['chat_template_kwargs', 'user'],
])
const KNOWN_BACK = new Set(['model', 'tokens', 'user'])
const someTokens = anArray(0, Number.POSITIVE_INFINITY)

/** `POST tokenize`, as vLLM has it: a `prompt` as it stands, or `messages` as the model's template writes them. */
export const tokenize: Route = (service, exchange) =>
  once(service, exchange, async ({ signal }) => {
    const body = aBody(await readJson(service, exchange, signal))
    const ignored: string[] = []
    noteUnknown(body, KNOWN, '', ignored)
    const model = required(body, 'model', '', aString)
    const prompt = optional(body, 'prompt', '', aString)
    const surrounded = optional(body, 'add_special_tokens', '', aBoolean)
    const input =
      prompt !== undefined
        ? { prompt, ...(surrounded === false && { bare: true }) }
        : await inTurns(readConversation(body, service.describeSchema, surrounded, ignored), signal, exchange.caller.id)
    const strings = optional(body, 'return_token_strs', '', aBoolean) ?? false
    return {
      model,
      ignored,
      free: true,
      check: () => checkOffered(service, 'tokenize', model),
      async act(signal) {
        const whose = { model, signal, caller: exchange.caller.id }
        const { capabilities = {}, contextLength: max = null } = findModel(service.engine, model)
        if ('messages' in input) checkMedia(capabilities, input)
        const { tokens, texts } = await service.engine.tokenize!({ ...whose, ...input })
        if (!areTokens(tokens)) throw new Error('The engine sent no tokens of a text.')
        return { body: { count: tokens.length, max_model_len: max, tokens, token_strs: strings ? texts : null } }
      },
    }
  })

/** `POST detokenize`: the text of tokens, as `prompt`. */
export const detokenize: Route = (service, exchange) =>
  once(service, exchange, async ({ signal }) => {
    const body = aBody(await readJson(service, exchange, signal))
    const model = required(body, 'model', '', aString)
    const caller = exchange.caller.id
    const read = mapped(required(body, 'tokens', '', someTokens), (token, i) => aToken(token, at('tokens', i)))
    const tokens = await inTurns(read, signal, caller)
    const ignored: string[] = []
    noteUnknown(body, KNOWN_BACK, '', ignored)
    return {
      model,
      ignored,
      free: true,
      check: () => checkOffered(service, 'detokenize', model),
      async act(signal) {
        const prompt = await service.engine.detokenize!({ model, signal, caller, tokens })
        if (typeof prompt !== 'string') throw new Error(`The engine sent ${prompt} as the text of tokens.`)
        return { body: { prompt } }
      },
    }
  })

/** `GET tokenizer_info?model=ID`, as vLLM has it, which has one model: here it is named where there are several. */
export const tellTokenizerInfo: Route = (service, exchange) =>
  once(service, exchange, async ({ signal }) => {
    await lookedAround(service.engine, signal)
    const { models } = service.engine
    const named = new URLSearchParams(exchange.query).get('model') ?? (models.length === 1 ? models[0]!.id : undefined)
    if (named === undefined) {
      const names = models.map(({ id }) => `'${id}'`).join(', ')
      const message = `Missing required parameter: 'model'. Ask for /tokenizer_info?model=ID; there are ${names || 'none'}.`
      throw badRequest('model', message, 'missing_required_parameter')
    }
    const model = modelIdOf(service, named)
    return {
      model,
      free: true,
      check: () => checkOffered(service, 'tokenizerInfo', model),
      act: async (signal) => ({ body: await service.engine.tokenizerInfo!({ model, signal }) }),
    }
  })

function* readConversation(
  body: JsonObject,
  describeSchema: boolean,
  surrounded: boolean | undefined,
  ignored: string[],
) {
  refuseOtherwise(body, surrounded)
  const { tools, toolChoice } = readTools(body, ignored)
  return {
    messages: yield* readMessages(body, ignored),
    tools: toolChoice === 'none' ? [] : tools,
    ...{ toolChoice, output: readOutputFormat(body, ignored), describeSchema },
    ...options(optional(body, 'chat_template_kwargs', '', anObject)),
  }
}

/** A conversation is told as the model is given it: up to where it answers, with nothing around it but the template's own. */
function refuseOtherwise(body: JsonObject, surrounded: boolean | undefined): void {
  const asIs = 'Messages are tokenized exactly as a chat request would be: leave it out.'
  if (surrounded) throw unsupported('add_special_tokens', asIs)
  if (optional(body, 'add_generation_prompt', '', aBoolean) === false) throw unsupported('add_generation_prompt', asIs)
  if (optional(body, 'continue_final_message', '', aBoolean)) throw unsupported('continue_final_message', asIs)
}

const options = (given: JsonObject | undefined) => (given === undefined ? {} : { templateOptions: given })

const LACKS = {
  tokenize: 'cannot tokenize',
  detokenize: 'cannot detokenize',
  tokenizerInfo: 'does not describe its tokenizer',
} as const

function checkOffered({ engine }: Service, method: keyof typeof LACKS, model: string): void {
  if (!engine[method]) throw modelCannot(model, `${LACKS[method]} here`)
}
