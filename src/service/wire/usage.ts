import type { Usage } from '../../contract/index.js'

export interface WireUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly prompt_tokens_details: { readonly cached_tokens: number; readonly audio_tokens: 0 }
  readonly completion_tokens_details: {
    readonly reasoning_tokens: number
    readonly audio_tokens: 0
    readonly accepted_prediction_tokens: 0
    readonly rejected_prediction_tokens: 0
    /** An extension, there only where it was asked for. */
    readonly forced_tokens?: number
  }
}

export const NO_USAGE: Usage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 }

/** Of what writes nothing, as vLLM tells it. */
export const wireTextsUsage = (promptTokens: number) => ({
  prompt_tokens: promptTokens,
  total_tokens: promptTokens,
  completion_tokens: 0,
})

export function wireUsage(usage: Usage, forcedTokens?: number): WireUsage {
  const { promptTokens, completionTokens, cachedTokens, reasoningTokens = 0 } = usage
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reasoningTokens,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
      ...(forcedTokens !== undefined && { forced_tokens: forcedTokens }),
    },
  }
}
