import { type EmbedCall, type Engine, V1Error } from '../../../contract/index.js'
import type { JsonObject } from '../../../platform/index.js'
import { once } from '../../answer/once.js'
import type { Exchange, Route, RouteResponse, Service } from '../../answer/service.js'
import { aBoolean, anInteger, aString, noteUnknown, optional, required, someTexts } from '../../wire/fields.js'
import { newId } from '../../wire/ids.js'
import { NO_USAGE } from '../../wire/reply.js'
import { checkEmbeds, checkVectors } from '../embeddings/route.js'
import { bodyOf, modelOf } from './models.js'
import { nanoseconds } from './reply.js'

const COMMON = ['model', 'name', 'options', 'keep_alive']
const KNOWN: ReadonlySet<string> = new Set([...COMMON, 'input', 'truncate', 'dimensions'])
const KNOWN_OF_ONE: ReadonlySet<string> = new Set([...COMMON, 'prompt'])
const readInputs = someTexts([0, 2048], aString)
const aSize = anInteger(1, 65_536)

interface EmbedRequest {
  readonly model: string
  readonly inputs: readonly string[]
  readonly dimensions: number | undefined
  readonly truncates: boolean
  readonly ignored: readonly string[]
  tell(vectors: readonly { toJSON(): readonly number[] }[], promptTokens: number): object
}

/** `POST /api/embed`: a vector for each input. */
export const ollamaEmbed: Route = async (service, exchange) => {
  const began = performance.now()
  const body = await bodyOf(service, exchange)
  const { name, id } = await modelOf(service, body, exchange.request.signal)
  return made(service, exchange, () => ({
    ...common(body, KNOWN),
    model: id,
    inputs: required(body, 'input', '', readInputs),
    dimensions: optional(body, 'dimensions', '', aSize),
    truncates: optional(body, 'truncate', '', aBoolean) ?? true,
    tell: (embeddings, prompt_eval_count) => {
      const total_duration = nanoseconds(performance.now() - began)
      return { model: name, embeddings, total_duration, load_duration: 0, prompt_eval_count }
    },
  }))
}

/** `POST /api/embeddings`, as it was before: the vector of one text. */
export const embedOne: Route = async (service, exchange) => {
  const body = await bodyOf(service, exchange)
  const { id } = await modelOf(service, body, exchange.request.signal)
  return made(service, exchange, () => ({
    ...common(body, KNOWN_OF_ONE),
    model: id,
    inputs: [optional(body, 'prompt', '', aString) ?? ''],
    dimensions: undefined,
    truncates: true,
    tell: ([embedding]) => ({ embedding: embedding ?? [] }),
  }))
}

function common(body: JsonObject, known: ReadonlySet<string>): { readonly ignored: readonly string[] } {
  const ignored: string[] = []
  noteUnknown(body, known, '', ignored)
  return { ignored }
}

function made(service: Service, exchange: Exchange, read: () => EmbedRequest): Promise<RouteResponse> {
  return once(service, exchange, async () => {
    const { model, inputs, dimensions, truncates, ignored, tell } = read()
    return {
      model,
      ignored,
      check: (info) => checkEmbeds(service.engine, info),
      async act(signal) {
        // An empty text has no vector; with nothing else the model is loaded, which it is by now.
        const texts = inputs.filter((input) => input !== '')
        if (texts.length < inputs.length || texts.length === 0) {
          if (texts.length === 0) return { body: tell([], 0) }
          const i = inputs.indexOf('')
          const message = `Invalid 'input[${i}]': an empty string has no embedding.`
          throw new V1Error(400, message, { param: `input[${i}]`, code: 'empty_string' })
        }
        const { engine } = service
        const whose = { id: newId('embd-'), model, signal, caller: exchange.caller.id }
        const call = { ...whose, ...(dimensions !== undefined && { dimensions }) }
        const made = await embedded(engine, call, inputs, truncates)
        checkVectors(made, inputs)
        const { vectors, promptTokens } = made
        return {
          // Made one by one, as the answer is spelled.
          body: tell(
            vectors.map((vector) => ({ toJSON: () => Array.from(vector) })),
            promptTokens,
          ),
          usage: { ...NO_USAGE, promptTokens },
        }
      },
    }
  })
}

/** Ollama cuts a text that is too long, unless it is told not to. */
async function embedded(
  engine: Engine,
  call: Omit<EmbedCall, 'inputs'>,
  inputs: readonly string[],
  truncates: boolean,
) {
  try {
    return await engine.embed!({ ...call, inputs })
  } catch (error) {
    if (!truncates || !V1Error.is(error) || error.code !== 'context_length_exceeded') throw error
    return engine.embed!({ ...call, inputs: await Promise.all(inputs.map((input) => cut(engine, call, input, error))) })
  }
}

/** A beginning of a text that has room. */
async function cut(
  engine: Engine,
  { model, signal, caller }: Omit<EmbedCall, 'inputs'>,
  prompt: string,
  tooLong: V1Error,
): Promise<string> {
  const most = engine.models.find(({ id }) => id === model)?.contextLength
  if (most === undefined || !engine.tokenize || !engine.detokenize) throw tooLong
  const [whole, bare] = await Promise.all([
    engine.tokenize({ model, signal, ...(caller !== undefined && { caller }), prompt }),
    engine.tokenize({ model, signal, ...(caller !== undefined && { caller }), prompt, bare: true }),
  ])
  const over = whole.tokens.length - most
  if (over <= 0) return prompt
  // What is left may be cut into other tokens than before, some more of them.
  const tokens = bare.tokens.slice(0, Math.max(1, bare.tokens.length - over - 8))
  return (await engine.detokenize({ model, signal, tokens })).replace(/\uFFFD+$/, '')
}
