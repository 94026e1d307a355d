import type { Embeddings } from '../../contract/index.js'
import { brokenService, parsed } from './sent.js'

/** The vectors of an answer of another service, in the order of the inputs; anything may be missing from it. */
export function embeddingsOf(text: string, count: number): Embeddings {
  const { data, usage } = parsed(text) as {
    data?: readonly { index?: unknown; embedding?: unknown }[]
    usage?: { prompt_tokens?: unknown } | null
  }
  const vectors: (readonly number[] | undefined)[] = Array.from({ length: count })
  for (const { index, embedding } of Array.isArray(data) ? data : []) {
    if (typeof index === 'number' && isVector(embedding)) vectors[index] = embedding
  }
  if (vectors.length !== count || vectors.some((vector) => vector === undefined)) {
    throw brokenService('sent no vector for one of the inputs')
  }
  const { prompt_tokens: tokens } = usage ?? {}
  return { vectors: vectors as (readonly number[])[], promptTokens: typeof tokens === 'number' ? tokens : 0 }
}

const isVector = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && value.length > 0 && value.every((number) => typeof number === 'number')
