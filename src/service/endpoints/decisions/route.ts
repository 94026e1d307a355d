import { type Decided, type DecideQuestion, modelCannot, V1Error } from '../../../contract/index.js'
import { readJson } from '../../answer/body.js'
import { once } from '../../answer/once.js'
import type { Dialect, Route } from '../../answer/service.js'
import { newId } from '../../wire/ids.js'
import { notTaken } from '../../wire/messages.js'
import { checkDecisions } from '../../wire/parts.js'
import { wireDecisions, wireSystemOne } from './reply.js'
import type { DecideSpec } from './request.js'
import { readDecisions } from './request.js'
import { readSystemOne } from './systemone.js'

/** Both endpoints ask the engine the same: they differ in how questions are read and answers written. */
const deciding =
  <R extends DecideSpec & { readonly questions: readonly DecideQuestion[] }>(
    read: (json: unknown) => R,
    write: (request: R, decided: Decided) => object,
  ): Route =>
  (service, exchange) =>
    once(service, exchange, async ({ signal }) => {
      const request = read(await readJson(service, exchange, signal))
      const { model, questions, state, order, thinkingBudget } = request
      const ignored = [...request.ignored]
      let thinks = thinkingBudget !== undefined
      let calibrated = request.calibrated ?? false
      return {
        model,
        ignored,
        check(info) {
          if (!service.engine.decide || !info.capabilities?.decisions) {
            const why = info.capabilities?.logprobs === false ? ', because it returns no log probabilities' : ''
            throw modelCannot(info.id, `cannot decide${why}: use one whose 'capabilities' include 'decisions'`)
          }
          if (request.images.length > 0 && !info.capabilities.images) {
            throw notTaken(request.images[0]!, 'input_image', 'Images')
          }
          // What the service says holds for models that can; nobody who asks is given something else.
          calibrated = request.calibrated ?? (service.calibrated && info.capabilities.calibrated === true)
          // A hint, as everywhere: who cannot think answers all the same.
          if (thinks && info.capabilities.thinking === false) {
            thinks = false
            ignored.push('reasoning.effort')
          }
        },
        async act(signal) {
          const spec = { model, state, order, calibrated, ...(thinks && { thinkingBudget }) }
          const whose = { id: newId('dec-'), signal, caller: exchange.caller.id }
          const call = { ...spec, ...whose, questions: questions.map(plain) }
          const decided = await service.engine.decide!(call).catch((error: unknown) => {
            throw named(error, request)
          })
          checkDecisions(
            decided.answers,
            questions.map(({ options }) => options.length),
          )
          return { body: write(request, decided), usage: decided.usage }
        },
      }
    })

/** `POST decisions`, as OpenAI has it. */
export const decisions = deciding(readDecisions, wireDecisions)

/** `POST systemone`, as TypeSafe has it. */
export const systemOne = deciding(readSystemOne, wireSystemOne)

/** Ollama's clients call it too: what stands in `error` is text to them, and an object is told as `[object Object]`. */
export const systemOneDialect: Dialect = {
  error: (error, _, agent) => (/^ollama\b/.test(agent) ? { error: error.message } : error),
  requestIdHeader: 'x-request-id',
}

const plain = ({ type, name, instructions, options }: DecideQuestion): DecideQuestion => ({
  type,
  ...(name && { name }),
  instructions,
  options,
})

/** What an engine says of messages it says here of the state, and of questions by the names that they were given. */
function named(error: unknown, { stateField, questionField }: DecideSpec): unknown {
  if (!V1Error.is(error) || error.param === null) return error
  const { status, type, code, headers, cause, param } = error
  const [place, index] = /^questions\[(\d+)\]/.exec(param) ?? []
  if (place !== undefined) {
    const field = questionField(Number(index))
    const message = error.message.replaceAll(place, field)
    return new V1Error(status, message, { type, param: param.replace(place, field), code, headers, cause })
  }
  if (param !== 'messages') return error
  const message = error.message
    .replaceAll('your messages', `'${stateField}' and a question`)
    .replaceAll('the messages', `'${stateField}'`)
  return new V1Error(status, message, { type, param: stateField, code, headers, cause })
}
