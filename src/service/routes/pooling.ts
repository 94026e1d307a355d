import { type Engine, type ModelInfo, V1Error } from '../../contract/index.js'
import { unsupported } from '../wire/fields.js'
import { poolingId } from '../wire/ids.js'
import { type PoolingRequest, type PoolingTask, readPoolingRequest, wirePooling } from '../wire/pooling.js'
import { seconds } from '../wire/responses/progress.js'
import { NO_USAGE } from '../wire/usage.js'
import { readJson } from './body.js'
import { checkClassifies, classesOf } from './classify.js'
import { checkEmbeds, vectorsOf } from './embeddings.js'
import { once } from './once.js'
import type { Route } from './service.js'

/** vLLM's one path to whatever a model makes of whole texts. */
export const pooling: Route = (service, exchange) =>
  once(service, exchange, async ({ signal }) => {
    const request = readPoolingRequest(await readJson(service, exchange, signal))
    let task: PoolingTask = 'embed'
    return {
      model: request.model,
      ignored: request.ignored,
      check(info) {
        task = taskOf(service.engine, info, request)
      },
      async act(signal) {
        const id = poolingId()
        const made = async () => {
          if (task === 'embed') return vectorsOf(service, exchange, request, id, signal)
          const { probabilities: vectors, promptTokens } = await classesOf(service, exchange, request, id, signal)
          return { vectors, promptTokens }
        }
        const pooled = await made()
        const body = wirePooling(pooled, request, id, seconds())
        return { body, usage: { ...NO_USAGE, promptTokens: pooled.promptTokens } }
      },
    }
  })

function taskOf(engine: Engine, info: ModelInfo, { task, dimensions }: PoolingRequest): PoolingTask {
  const embeds = engine.embed && info.capabilities?.embeddings
  const classifies = engine.classify && info.capabilities?.classify
  if (!task && !embeds && !classifies) {
    const message = `The model '${info.id}' makes neither vectors nor classes of texts.`
    throw new V1Error(400, message, { param: 'model', code: 'unsupported_model' })
  }
  const done = task ?? (embeds ? 'embed' : 'classify')
  if (done === 'embed') checkEmbeds(engine, info)
  else checkClassifies(engine, info)
  if (done === 'classify' && dimensions !== undefined) throw unsupported('dimensions', 'Classes have no dimensions.')
  return done
}
