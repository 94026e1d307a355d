import type { TokenLogprob } from '../../contract/index.js'

export interface WireLogprob {
  readonly token: string
  readonly logprob: number
  readonly bytes: readonly number[] | null
  readonly top_logprobs: readonly {
    readonly token: string
    readonly logprob: number
    readonly bytes: readonly number[] | null
  }[]
}

/** What OpenAI sends for a token that cannot come; JSON has no infinity. */
export const NEVER = -9999

export const finite = (logprob: number): number => (Number.isFinite(logprob) ? logprob : NEVER)

export function wireLogprob({ token, logprob, bytes, top }: TokenLogprob): WireLogprob {
  return {
    token,
    logprob: finite(logprob),
    bytes,
    top_logprobs: top.map((other) => ({ token: other.token, logprob: finite(other.logprob), bytes: other.bytes })),
  }
}
