import { type Embeddings, type Engine, type ModelInfo, V1Error } from '../../contract/index.js'
import { type EmbeddingsRequest, readEmbeddingsRequest, wireEmbeddings } from '../wire/embeddings.js'
import { embeddingId } from '../wire/ids.js'
import { NO_USAGE } from '../wire/usage.js'
import { readJson } from './body.js'
import { once } from './once.js'
import type { Exchange, Route, Service } from './service.js'

export function checkEmbeds({ embed }: Engine, { id, capabilities }: ModelInfo): void {
  if (embed && capabilities?.embeddings) return
  throw new V1Error(400, `The model '${id}' makes no embeddings.`, { param: 'model', code: 'unsupported_model' })
}

export const embeddings: Route = (service, exchange) =>
  once(service, exchange, async ({ signal }) => {
    const request = readEmbeddingsRequest(await readJson(service, exchange, signal))
    const { model, ignored } = request
    return {
      model,
      ignored,
      check: (info) => checkEmbeds(service.engine, info),
      async act(signal) {
        const made = await vectorsOf(service, exchange, request, embeddingId(), signal)
        return { body: wireEmbeddings(made, request), usage: { ...NO_USAGE, promptTokens: made.promptTokens } }
      },
    }
  })

export async function vectorsOf(
  { engine }: Service,
  { caller }: Exchange,
  { model, inputs, dimensions }: Pick<EmbeddingsRequest, 'model' | 'inputs' | 'dimensions'>,
  id: string,
  signal: AbortSignal,
): Promise<Embeddings> {
  const asked = { id, model, signal, caller: caller.id, inputs }
  const made = await engine.embed!({ ...asked, ...(dimensions !== undefined && { dimensions }) })
  if (made.vectors.length !== inputs.length) throw new Error('The engine sent no vector for each input.')
  if (dimensions !== undefined && made.vectors.some(({ length }) => length !== dimensions)) {
    const message = `Unsupported value: 'dimensions' is ${dimensions}, which the model '${model}' does not offer.`
    throw new V1Error(400, message, { param: 'dimensions', code: 'unsupported_value' })
  }
  return made
}
