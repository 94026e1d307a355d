import { V1Error } from '../../../contract/index.js'
import { readResponseRequest } from '../../wire/responses/request.js'
import { readRequest } from '../body.js'
import { once } from '../once.js'
import type { Route } from '../service.js'
import { contextOf } from './conversation.js'

/** `POST responses/input_tokens`: what a request would have a model read, as its template writes it. */
export const countInputTokens: Route = (service, exchange) =>
  once(service, exchange, async (run) => {
    const request = await readRequest(service, exchange, run.signal, readResponseRequest)
    const { model, templateOptions, ignored } = request
    return {
      model,
      ignored,
      check() {
        if (service.engine.tokenize) return
        throw new V1Error(400, `The model '${model}' cannot count tokens here.`, {
          param: 'model',
          code: 'unsupported_model',
        })
      },
      async act(signal) {
        const { messages, tools: earlier } = await contextOf(service, exchange, run, request)
        const { tools, toolChoice } = request.toolsAfter(earlier)
        const whose = { model, signal, caller: exchange.caller.id }
        const asked = { ...whose, messages, tools: toolChoice === 'none' ? [] : tools }
        const { tokens } = await service.engine.tokenize!({ ...asked, ...(templateOptions && { templateOptions }) })
        return { body: { object: 'response.input_tokens', input_tokens: tokens.length } }
      },
    }
  })
