import { readTexts, type TextsRequest } from './classify.js'
import { type EmbeddingForm, readEmbeddingForm, spelled } from './embeddings.js'
import { aBody, oneOf, optional } from './fields.js'
import { wireTextsUsage } from './usage.js'

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
