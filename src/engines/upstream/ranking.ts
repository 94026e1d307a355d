import type { Ranking } from '../../contract/index.js'
import { brokenService, parsed } from './sent.js'

/** The scores of an answer of another service, in the order of the documents; anything may be missing from it. */
export function rankingOf(text: string, count: number): Ranking {
  const { results, usage } = parsed(text) as {
    results?: readonly { index?: unknown; relevance_score?: unknown }[]
    usage?: { prompt_tokens?: unknown; total_tokens?: unknown } | null
  }
  const scores: (number | undefined)[] = Array.from({ length: count })
  for (const { index, relevance_score: score } of Array.isArray(results) ? results : []) {
    if (typeof index === 'number' && typeof score === 'number') scores[index] = score
  }
  if (scores.length !== count || scores.some((score) => score === undefined)) {
    throw brokenService('sent no score for one of the documents')
  }
  const tokens = usage?.prompt_tokens ?? usage?.total_tokens
  return { scores: scores as number[], promptTokens: typeof tokens === 'number' ? tokens : 0 }
}
