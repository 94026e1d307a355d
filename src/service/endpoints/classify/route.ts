import { type Classified, type Engine, type ModelInfo, modelCannot } from '../../../contract/index.js'
import type { JsonObject } from '../../../platform/index.js'
import { readJson } from '../../answer/body.js'
import { once } from '../../answer/once.js'
import type { Exchange, Route, Service } from '../../answer/service.js'
import { aBody, aBoolean, anInteger, aString, noteUnknown, optional, required, unsupported } from '../../wire/fields.js'
import { newId } from '../../wire/ids.js'
import { checkNumbers } from '../../wire/parts.js'
import { NO_USAGE, wireTexts } from '../../wire/reply.js'
import { readInputs } from '../embeddings/route.js'

export function checkClassifies({ classify }: Engine, { id, capabilities }: ModelInfo): void {
  if (!classify || !capabilities?.classify) throw modelCannot(id, 'cannot classify texts')
}

export const classify: Route = (service, exchange) =>
  once(service, exchange, async ({ signal }) => {
    const request = readClassifyRequest(await readJson(service, exchange, signal))
    return {
      model: request.model,
      ignored: request.ignored,
      check: (info) => checkClassifies(service.engine, info),
      async act(signal) {
        const id = newId('classify-')
        const classified = await classifyTexts(service, exchange, request, id, signal)
        const { promptTokens } = classified
        const body = wireTexts(id, request.model, wireClasses(classified), promptTokens)
        return { body, usage: { ...NO_USAGE, promptTokens } }
      },
    }
  })

export async function classifyTexts(
  { engine }: Service,
  { caller }: Exchange,
  { model, inputs }: TextsRequest,
  id: string,
  signal: AbortSignal,
): Promise<Classified> {
  const classified = await engine.classify!({ id, model, signal, caller: caller.id, inputs })
  const { probabilities } = classified
  if (probabilities.length !== inputs.length) throw new Error('The engine sent no classes for each input.')
  checkNumbers('class', probabilities)
  return classified
}

/** What vLLM asks of models that read texts whole, in its form. */
export interface TextsRequest {
  readonly model: string
  readonly inputs: readonly (string | readonly number[])[]
  readonly ignored: readonly string[]
}

const NO_CHAT = "Conversations are not read here: send texts, or their tokens, as 'input'."
const AS_MADE = 'Numbers are always normalised: vectors have length one, classes are between 0 and 1. Leave it out.'
/** What stands in the place of texts. */
const INSTEAD: ReadonlyMap<string, string> = new Map([
  ['messages', NO_CHAT],
  ['data', "Plugins are not run here: send texts, or their tokens, as 'input'."],
])
/** Its newer name, and the older ones. */
const ACTIVATION = ['use_activation', 'activation', 'softmax', 'normalize']
const KNOWN = ['model', 'input', 'user', 'add_special_tokens', 'truncate_prompt_tokens', ...ACTIVATION]
const aCut = anInteger(-1, 2 ** 31 - 1)

/** `own`: fields that the endpoint reads itself. */
export function readTexts(body: JsonObject, own: readonly string[] = []): TextsRequest {
  const ignored: string[] = []
  const instead = body.input === undefined && [...INSTEAD].find(([name]) => body[name] != null)
  if (instead) throw unsupported(...instead)
  noteUnknown(body, new Set([...KNOWN, ...own]), '', ignored)
  optional(body, 'user', '', aString)
  for (const name of ACTIVATION) if (optional(body, name, '', aBoolean) === false) throw unsupported(name, AS_MADE)
  if (optional(body, 'add_special_tokens', '', aBoolean) === false) {
    throw unsupported(
      'add_special_tokens',
      'Special tokens are always added to a text: send tokens instead to leave them out.',
    )
  }
  // -1 is as much as the model can read: a text that is longer is refused by its place.
  if ((optional(body, 'truncate_prompt_tokens', '', aCut) ?? -1) !== -1) {
    throw unsupported('truncate_prompt_tokens', 'Texts are not cut here: send shorter texts.')
  }
  return { model: required(body, 'model', '', aString), inputs: required(body, 'input', '', readInputs), ignored }
}

export const readClassifyRequest = (json: unknown): TextsRequest => readTexts(aBody(json))

/** In the order of the inputs, each with the likeliest class. */
function wireClasses({ probabilities, labels }: Classified) {
  return probabilities.map((each, index) => {
    const probs = Array.from(each)
    const best = probs.reduce((best, one, i) => (one > probs[best]! ? i : best), 0)
    return { index, label: labels?.[best] ?? null, probs, num_classes: probs.length }
  })
}
