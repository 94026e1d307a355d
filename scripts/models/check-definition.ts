/** Whether the definition of a case in float64 holds: against llama.cpp, and against itself with one usual mistake in it. */
import type { Case, Weights } from '../../test/oracles/family.js'
import { answerOf, compare, OF_F32, retold, steadyLimit } from '../../test/oracles/judge.js'
import { llamaCpp } from './llama-cpp.js'
import type { Rows } from './rows.js'

/** Nats that llama.cpp, which computes in f32, may be from float64. */
const BOUND = 2e-3
/** Where it approximates. */
const ROUGH = 1e-2
/** Of a number, what a table of f16 leaves out. */
const OF_TABLE = 3e-4
/** What a mistake must move the log probabilities by, else nothing would find it. */
const VISIBLE = 2e-2
/** After so few tokens. */
const EARLY = 24

interface Options {
  readonly rows: Rows
  readonly tokens: number
  readonly peers?: string
}

export async function checkDefinition(of: Case, weights: Weights, { rows, tokens, peers }: Options): Promise<void> {
  const family = of.name
  const found = (verdict: ReturnType<typeof compare>, bound: number, good: boolean) => {
    const { wrongTokens: otherTokens, steps: tokens, rms, worst } = verdict
    return { tokens, otherTokens, rms, worst, bound, good }
  }
  const { approximate = false } = of.gguf ?? {}
  if (peers !== undefined && of.gguf) {
    await rows.once({ family, kind: 'llama.cpp', what: '', device: '' }, 'decoders', async () => {
      const answer = answerOf(of, weights, tokens)
      const verdict = compare(answer.logprobs, await llamaCpp(peers, of, weights, answer.tokens.slice(0, -1), tokens))
      const [limit, share] = approximate ? [ROUGH, OF_TABLE] : [BOUND, OF_F32]
      const isFar = verdict.worst >= limit && verdict.wrongTokens === 0
      const bound = isFar ? steadyLimit(limit, of, weights, answer, share) : limit
      return found(verdict, bound, verdict.wrongTokens === 0 && verdict.worst < bound)
    })
  }
  for (const mistake of of.mistakes) {
    await rows.once({ family, kind: 'mistake', what: mistake, device: '' }, 'decoders', async () => {
      const answer = answerOf(of, weights, Math.min(tokens, EARLY))
      const mistaken = retold(of, weights, answer, mistake).map((logprobs) => (token: number) => logprobs[token]!)
      const verdict = compare(answer.logprobs, mistaken)
      return found(verdict, VISIBLE, verdict.worst > VISIBLE)
    })
  }
}
