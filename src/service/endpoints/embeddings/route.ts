import { type Embeddings, type Engine, type ModelInfo, modelCannot, V1Error } from '../../../contract/index.js'
import { base64, type JsonObject } from '../../../platform/index.js'
import { readJson } from '../../answer/body.js'
import { once } from '../../answer/once.js'
import type { Exchange, Route, Service } from '../../answer/service.js'
import {
  aBody,
  anArray,
  anInteger,
  aString,
  at,
  badRequest,
  noteUnknown,
  oneOf,
  optional,
  required,
  wrongType,
} from '../../wire/fields.js'
import { newId } from '../../wire/ids.js'
import { checkNumbers } from '../../wire/parts.js'
import { NO_USAGE } from '../../wire/reply.js'
import { aToken } from '../../wire/sampling.js'

export function checkEmbeds({ embed }: Engine, { id, capabilities }: ModelInfo): void {
  if (!embed || !capabilities?.embeddings) throw modelCannot(id, 'cannot make embeddings')
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
        const made = await vectorsOf(service, exchange, request, newId('embd-'), signal)
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
  const call = { id, model, signal, caller: caller.id, inputs }
  const made = await engine.embed!({ ...call, ...(dimensions !== undefined && { dimensions }) })
  checkVectors(made, inputs)
  if (dimensions !== undefined && made.vectors.some(({ length }) => length !== dimensions)) {
    const message = `Unsupported value: 'dimensions' is ${dimensions}, which the model '${model}' does not offer.`
    throw new V1Error(400, message, { param: 'dimensions', code: 'unsupported_value' })
  }
  return made
}

export function checkVectors({ vectors }: Embeddings, { length }: readonly unknown[]): void {
  if (vectors.length !== length) throw new Error('The engine sent no vector for each input.')
  checkNumbers('vector', vectors)
}

/** How vectors are to be. */
export interface EmbeddingForm {
  readonly dimensions?: number
  readonly encoding: 'float' | 'base64'
}

export interface EmbeddingsRequest extends EmbeddingForm {
  readonly model: string
  readonly inputs: readonly (string | readonly number[])[]
  readonly ignored: readonly string[]
}

const KNOWN = new Set(['model', 'input', 'dimensions', 'encoding_format', 'user'])
const someInputs = anArray(1, 2048)
const aSize = anInteger(1, 65_536)
const anEncoding = oneOf(['float', 'base64'])

export function readEmbeddingsRequest(json: unknown): EmbeddingsRequest {
  const body = aBody(json)
  const ignored: string[] = []
  noteUnknown(body, KNOWN, '', ignored)
  optional(body, 'user', '', aString)
  const form = readEmbeddingForm(body)
  return {
    model: required(body, 'model', '', aString),
    inputs: required(body, 'input', '', readInputs),
    ...form,
    ignored,
  }
}

export function readEmbeddingForm(body: JsonObject): EmbeddingForm {
  const dimensions = optional(body, 'dimensions', '', aSize)
  const encoding = optional(body, 'encoding_format', '', anEncoding) ?? 'float'
  return { ...(dimensions !== undefined && { dimensions }), encoding }
}

/** A text, texts, the tokens of one, or the tokens of each. */
export function readInputs(value: unknown, param: string): (string | readonly number[])[] {
  if (typeof value === 'string') return [aText(value, param)]
  if (!Array.isArray(value)) throw wrongType(param, 'a string or an array', value)
  const items = someInputs(value, param)
  if (typeof items[0] === 'number') return [items.map((item, i) => aToken(item, at(param, i)))]
  return items.map((item, i) => {
    const place = at(param, i)
    if (!Array.isArray(item)) return aText(item, place)
    return someInputs(item, place).map((token, j) => aToken(token, at(place, j)))
  })
}

function aText(value: unknown, param: string): string {
  const text = aString(value, param)
  if (text === '') throw badRequest(param, `Invalid '${param}': an empty string has no embedding.`, 'empty_string')
  return text
}

export function wireEmbeddings({ vectors, promptTokens }: Embeddings, { model, encoding }: EmbeddingsRequest) {
  return {
    object: 'list',
    data: vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: wireVector(vector, encoding),
    })),
    model,
    usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
  }
}

/** Made one by one, as the answer is spelled. */
export const wireVector = (vector: ArrayLike<number>, encoding: EmbeddingForm['encoding']) => ({
  toJSON: () => (encoding === 'base64' ? base64(floatBytes(vector)) : Array.from(vector)),
})

/** Float32, the low byte first, as the official clients read it. */
function floatBytes(vector: ArrayLike<number>): Uint8Array {
  const view = new DataView(new ArrayBuffer(4 * vector.length))
  for (let i = 0; i < vector.length; i++) view.setFloat32(4 * i, vector[i]!, true)
  return new Uint8Array(view.buffer)
}
