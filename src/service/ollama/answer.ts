import { inTurns, type JsonObject, type Slices } from '../../platform/index.js'
import { answering } from '../routes/answering.js'
import { findModel } from '../routes/models.js'
import { once } from '../routes/once.js'
import type { Answered, Exchange, Route, Service } from '../routes/service.js'
import { jsonAnswer } from '../routes/service.js'
import { completionId } from '../wire/ids.js'
import { bodyOf } from './body.js'
import { asksNothing } from './conversation.js'
import { checkManages } from './manage.js'
import { modelOf, type NamedModel } from './names.js'
import { type AnswerForm, AnswerLines, asMessage, asResponse, WholeAnswer } from './reply.js'
import { type OllamaRequest, readChat, readGenerate } from './request.js'

/** `POST /api/chat`; without messages its model is loaded, or unloaded. */
export const chat: Route = async (service, exchange) => {
  const body = await bodyOf(service, exchange)
  const model = await modelOf(service, body, exchange.request.signal)
  if (asksNothing(body)) return present(service, exchange, body, model, asMessage)
  const contextLength = () => findModel(service.engine, model.id).contextLength
  return answered(service, exchange, model, asMessage, () => readChat(body, model.id, contextLength))
}

/** `POST /api/generate`; without a prompt its model is loaded, or unloaded. */
export const generate: Route = async (service, exchange) => {
  const body = await bodyOf(service, exchange)
  const model = await modelOf(service, body, exchange.request.signal)
  if (!body.prompt && !body.suffix && !Array.isArray(body.images))
    return present(service, exchange, body, model, asResponse)
  return answered(service, exchange, model, asResponse, () => readGenerate(body, model.id))
}

function answered(
  service: Service,
  exchange: Exchange,
  { name }: NamedModel,
  form: AnswerForm,
  read: () => Slices<OllamaRequest>,
): Promise<Answered> {
  return answering(service, exchange, async ({ signal }) => {
    const { spec, stream, ignored } = await inTurns(read(), signal, exchange.caller.id)
    return {
      spec,
      ignored,
      id: completionId(),
      reply: stream ? new AnswerLines(name, form) : new WholeAnswer(name, form),
    }
  })
}

/** Has the model there, or away: what is asked for where there is nothing to answer. */
async function present(
  service: Service,
  exchange: Exchange,
  { keep_alive: kept }: JsonObject,
  { name, id }: NamedModel,
  form: AnswerForm,
): Promise<Answered> {
  const told = (done_reason: string) => {
    const head = { model: name, created_at: new Date().toISOString() }
    return { ...head, ...form({ text: '' }), done: true, done_reason }
  }
  if (!isZero(kept)) {
    return once(service, exchange, async () => ({ model: id, act: async () => ({ body: told('load') }) }))
  }
  findModel(service.engine, id)
  checkManages(service, exchange)
  await service.loader.unload(id)
  return jsonAnswer(told('unload'))
}

/** As Ollama reads how long: a number of seconds, or a text with a unit. */
const isZero = (kept: unknown): boolean => kept === 0 || (typeof kept === 'string' && /^0+(\.0*)?[a-z]*$/.test(kept))
