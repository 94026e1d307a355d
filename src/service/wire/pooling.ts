import { readTexts, type TextsRequest, wireTextsUsage } from './classify.js'
import { type EmbeddingsRequest, spelled } from './embeddings.js'
import { aBody, anInteger, oneOf, optional } from './fields.js'

/** What is made of each text: its vector, or how likely each class is. */
export type PoolingTask = 'embed' | 'classify'

export interface PoolingRequest extends TextsRequest, Pick<EmbeddingsRequest, 'dimensions' | 'encoding'> {
  /** Absent: what the model is for. */
  readonly task?: PoolingTask
}

const OWN = ['task', 'dimensions', 'encoding_format', 'embed_dtype', 'endianness']
const aTask = oneOf(['embed', 'classify'])
const anEncoding = oneOf(['float', 'base64'])
const aType = oneOf(['float32'])
const anOrder = oneOf(['native', 'little'])
const aSize = anInteger(1, 65_536)

export function readPoolingRequest(json: unknown): PoolingRequest {
  const body = aBody(json)
  const texts = readTexts(body, OWN)
  const task = optional(body, 'task', '', aTask)
  const dimensions = optional(body, 'dimensions', '', aSize)
  optional(body, 'embed_dtype', '', aType)
  optional(body, 'endianness', '', anOrder)
  return {
    ...texts,
    ...(task !== undefined && { task }),
    ...(dimensions !== undefined && { dimensions }),
    encoding: optional(body, 'encoding_format', '', anEncoding) ?? 'float',
  }
}

export function wirePooling(
  { vectors, promptTokens }: { readonly vectors: readonly ArrayLike<number>[]; readonly promptTokens: number },
  { model, encoding }: PoolingRequest,
  id: string,
  created: number,
) {
  return {
    id,
    object: 'list',
    created,
    model,
    data: vectors.map((vector, index) => ({ index, object: 'pooling', data: spelled(vector, encoding) })),
    usage: wireTextsUsage(promptTokens),
  }
}
