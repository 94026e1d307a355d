import { type Engine, type ModelInfo, modelCannot } from '../../../contract/index.js'
import { readJson } from '../../answer/body.js'
import { once } from '../../answer/once.js'
import type { Route } from '../../answer/service.js'
import { aBody, oneOf, optional, unsupported } from '../../wire/fields.js'
import { newId } from '../../wire/ids.js'
import { NO_USAGE, wireTexts } from '../../wire/reply.js'
import { checkClassifies, classifyTexts, readTexts, type TextsRequest } from '../classify/route.js'
import { checkEmbeds, type EmbeddingForm, readEmbeddingForm, vectorsOf, wireVector } from '../embeddings/route.js'

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
        const id = newId('pool-')
        const made = async () => {
          if (task === 'embed') return vectorsOf(service, exchange, request, id, signal)
          const { probabilities: vectors, promptTokens } = await classifyTexts(service, exchange, request, id, signal)
          return { vectors, promptTokens }
        }
        const { vectors, promptTokens } = await made()
        const data = vectors.map((each, index) => {
          return { index, object: 'pooling', data: wireVector(each, request.encoding) }
        })
        return { body: wireTexts(id, request.model, data, promptTokens), usage: { ...NO_USAGE, promptTokens } }
      },
    }
  })

function taskOf(engine: Engine, info: ModelInfo, { task, dimensions }: PoolingRequest): PoolingTask {
  const embeds = engine.embed && info.capabilities?.embeddings
  const classifies = engine.classify && info.capabilities?.classify
  if (!task && !embeds && !classifies) {
    throw modelCannot(info.id, 'cannot make vectors or classes of texts')
  }
  const done = task ?? (embeds ? 'embed' : 'classify')
  if (done === 'embed') checkEmbeds(engine, info)
  else checkClassifies(engine, info)
  if (done === 'classify' && dimensions !== undefined) throw unsupported('dimensions', 'Classes have no dimensions.')
  return done
}

/** What is made of each text: its vector, or how likely each class is. */
export type PoolingTask = 'embed' | 'classify'

export interface PoolingRequest extends TextsRequest, EmbeddingForm {
  /** Absent: what the model is for. */
  readonly task?: PoolingTask
}

const OWN = ['task', 'dimensions', 'encoding_format', 'embed_dtype', 'endianness']
const aTask = oneOf(['embed', 'classify'])
const aType = oneOf(['float32'])
const anOrder = oneOf(['native', 'little'])

export function readPoolingRequest(json: unknown): PoolingRequest {
  const body = aBody(json)
  const texts = readTexts(body, OWN)
  const task = optional(body, 'task', '', aTask)
  optional(body, 'embed_dtype', '', aType)
  optional(body, 'endianness', '', anOrder)
  return { ...texts, ...(task !== undefined && { task }), ...readEmbeddingForm(body) }
}
