import { V1Error } from '../errors.js'
import type { JsonObject } from '../platform/json.js'
import { readMessages } from '../wire/chat/messages.js'
import { readTools } from '../wire/chat/tools.js'
import { aBody, aBoolean, anArray, anObject, aString, at, optional, required } from '../wire/fields.js'
import { aToken } from '../wire/sampling.js'
import { readJson } from './body.js'
import { findModel } from './models.js'
import { once } from './once.js'
import type { Route, Service } from './service.js'

const someTokens = anArray(0, Number.POSITIVE_INFINITY)

/** `POST tokenize`, as vLLM has it: a `prompt` as it stands, or `messages` as the model's template writes them. */
export const tokenize: Route = (service, exchange) =>
  once(service, exchange, async ({ signal }) => {
    const body = aBody(await readJson(service, exchange, signal))
    const model = required(body, 'model', '', aString)
    const prompt = optional(body, 'prompt', '', aString)
    const asked =
      prompt !== undefined
        ? { prompt }
        : {
            messages: readMessages(body, []),
            tools: readTools(body, []).tools,
            ...options(optional(body, 'chat_template_kwargs', '', anObject)),
          }
    const strings = optional(body, 'return_token_strs', '', aBoolean) ?? false
    return {
      model,
      check: () => checkOffered(service, 'tokenize', model),
      async act(signal) {
        const { tokens, texts } = await service.engine.tokenize!({ model, signal, ...asked })
        const max = findModel(service.engine, model).contextLength ?? null
        return { body: { count: tokens.length, max_model_len: max, tokens, token_strs: strings ? texts : null } }
      },
    }
  })

/** `POST detokenize`: the text of tokens, as `prompt`. */
export const detokenize: Route = (service, exchange) =>
  once(service, exchange, async ({ signal }) => {
    const body = aBody(await readJson(service, exchange, signal))
    const model = required(body, 'model', '', aString)
    const tokens = required(body, 'tokens', '', someTokens).map((token, i) => aToken(token, at('tokens', i)))
    return {
      model,
      check: () => checkOffered(service, 'detokenize', model),
      act: async (signal) => ({ body: { prompt: await service.engine.detokenize!({ model, signal, tokens }) } }),
    }
  })

const options = (given: JsonObject | undefined) => (given === undefined ? {} : { templateOptions: given })

function checkOffered({ engine }: Service, what: 'tokenize' | 'detokenize', model: string): void {
  if (engine[what]) return
  throw new V1Error(400, `The model '${model}' cannot ${what} here.`, { param: 'model', code: 'unsupported_model' })
}
