import { V1Error } from '../../contract/index.js'
import { wireExtraction } from '../wire/extractions/reply.js'
import { readExtraction } from '../wire/extractions/request.js'
import { extractionId } from '../wire/ids.js'
import { readJson } from './body.js'
import { atOnce, extractByGenerating } from './extracting.js'
import { once } from './once.js'
import type { Route } from './service.js'

export const extractions: Route = (service, exchange) =>
  once(service, exchange, async ({ signal }) => {
    const request = readExtraction(await readJson(service, exchange, signal))
    const { model, ignored } = request
    let itself = false
    return {
      model,
      ignored,
      // Each field is an answer to the model.
      weight: atOnce(request.fields),
      check({ id, capabilities = {} }) {
        itself = capabilities.extractions === true && service.engine.extract !== undefined
        if (itself || (capabilities.chat !== false && capabilities.grammar !== false)) return
        const message = `The model '${id}' cannot extract: use one that supports JSON schemas.`
        throw new V1Error(400, message, { param: 'model', code: 'unsupported_model' })
      },
      async act(signal) {
        const id = extractionId()
        const call = { ...request, id, signal, caller: exchange.caller.id }
        const extracted = await (itself ? service.engine.extract!(call) : extractByGenerating(service, call))
        if (extracted.answers.length !== request.fields.length) throw new Error('The engine sent no answer to a field.')
        return { body: wireExtraction(id, request, extracted), usage: extracted.usage }
      },
    }
  })
