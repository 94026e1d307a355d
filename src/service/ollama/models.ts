import type { Engine, ModelInfo } from '../../contract/index.js'
import { knownModel, lookedAround } from '../routes/models.js'
import { jsonAnswer, type Route } from '../routes/service.js'
import { bodyOf } from './body.js'
import { digestOf, modelOf, taggedName } from './names.js'

/** Of Ollama, whose interface this is: clients ask for one that has what they use. */
const VERSION = '0.12.11'
/** Nobody keeps when a model came. */
const LONG_AGO = '1970-01-01T00:00:00Z'
/** A model stays until another needs its room. */
const FAR_OFF = '9999-12-31T23:59:59Z'
/** An engine tells no architecture; under this name clients look for the length of the context. */
const FAMILY = 'local-v1'

const DETAILS = {
  parent_model: '',
  format: '',
  family: FAMILY,
  families: [FAMILY],
  parameter_size: '',
  quantization_level: '',
}

export const root: Route = () => ({
  status: 200,
  body: 'Ollama is running',
  headers: { 'content-type': 'text/plain; charset=utf-8' },
})

export const version: Route = () => jsonAnswer({ version: VERSION })

/** `GET /api/tags`: all that are offered, loaded or not. */
export const tags: Route = async ({ engine }, { request }) =>
  jsonAnswer({ models: await Promise.all((await surveyed(engine, request.signal)).map(listed)) })

/** `GET /api/ps`: those that are in memory. */
export const running: Route = async ({ engine }, { request }) => {
  const models = (await surveyed(engine, request.signal)).filter(({ metadata }) => metadata?.loaded === true)
  const wire = models.map(async (model) => {
    const size = bytesOf(model, 'memory_bytes')
    const { contextLength = 0, metadata } = model
    const size_vram = metadata?.device === 'cpu' ? 0 : size
    return { ...(await listed(model)), size, size_vram, expires_at: FAR_OFF, context_length: contextLength }
  })
  return jsonAnswer({ models: await Promise.all(wire) })
}

/** `POST /api/show`. */
export const show: Route = async (service, exchange) => {
  const body = await bodyOf(service, exchange)
  const { signal } = exchange.request
  const { id } = await modelOf(service, body, signal)
  const { contextLength, capabilities = {} } = await knownModel(service.engine, id, signal)
  const { chat = true, tools = true, thinking = false, images, infill, embeddings } = capabilities
  const can: readonly (readonly [string, boolean | undefined])[] = [
    ['completion', chat],
    ['tools', chat && tools],
    ['thinking', thinking],
    ['vision', images],
    ['insert', infill],
    ['embedding', embeddings],
  ]
  return jsonAnswer({
    license: '',
    modelfile: `# Offered by local-v1\nFROM ${id}`,
    parameters: '',
    template: '',
    system: '',
    details: DETAILS,
    messages: [],
    model_info: {
      'general.architecture': FAMILY,
      'general.basename': id,
      ...(contextLength !== undefined && { [`${FAMILY}.context_length`]: contextLength }),
    },
    capabilities: can.flatMap(([name, does]) => (does ? [name] : [])),
    modified_at: LONG_AGO,
  })
}

async function surveyed(engine: Engine, signal: AbortSignal): Promise<readonly ModelInfo[]> {
  await lookedAround(engine, signal)
  await engine.survey?.()
  return engine.models
}

async function listed(model: ModelInfo) {
  const name = taggedName(model.id)
  const size = bytesOf(model, 'kept_bytes') || bytesOf(model, 'download_bytes') || bytesOf(model, 'weights_bytes')
  return { name, model: name, modified_at: LONG_AGO, size, digest: await digestOf(model.id), details: DETAILS }
}

/** Where the engine tells it. */
function bytesOf({ metadata }: ModelInfo, name: string): number {
  const bytes = metadata?.[name]
  return typeof bytes === 'number' ? bytes : 0
}
