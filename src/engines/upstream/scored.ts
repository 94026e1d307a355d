import type { ChatCall, Part, PromptLogprob, TokenLogprob } from '../../contract/index.js'
import { type OldLogprobs, oldLogprobs } from './parts.js'
import { brokenService, countOf, parsed } from './sent.js'

interface Scored {
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number } | null
  readonly choices?: readonly {
    readonly index?: number
    readonly text?: string
    readonly logprobs?: OldLogprobs | null
    readonly finish_reason?: string | null
    readonly prompt_token_ids?: readonly number[] | null
    readonly token_ids?: readonly number[] | null
  }[]
  readonly system_fingerprint?: string | null
}

const UNSCORED = 'returned no log probabilities of the prompt'

/** The one form in which servers tell how likely a prompt is: whole, and before the answer as if that went on from it. */
export function* scoredParts(body: string, call: ChatCall): Generator<Part> {
  const { choices = [], usage, system_fingerprint: fingerprint } = parsed(body, UNSCORED) as Scored
  const promptTokens = countOf(usage?.prompt_tokens)
  for (const [i, { index: choice = i, text = '', logprobs, ...rest }] of choices.entries()) {
    const scores = oldLogprobs(logprobs ?? {})
    if (scores.length < promptTokens || promptTokens === 0) throw brokenService(UNSCORED)
    const [before, after] = [scores.slice(0, promptTokens), scores.slice(promptTokens)]
    const tokens = rest.prompt_token_ids ?? (typeof call.prompt === 'object' ? call.prompt : [])
    if (i === 0) yield { type: 'prompt', tokens, text: spelled(before), logprobs: before }
    const answer = typeof call.prompt === 'string' ? text.slice(call.prompt.length) : spelled(after)
    if (after.length > 0) yield { type: 'text-delta', choice, text: answer, logprobs: after as TokenLogprob[] }
    const reason = rest.finish_reason === 'length' ? 'length' : 'stop'
    yield { type: 'finish', choice, reason, ...(rest.token_ids && { tokens: rest.token_ids }) }
  }
  yield {
    type: 'usage',
    usage: { promptTokens, completionTokens: countOf(usage?.completion_tokens), cachedTokens: 0 },
    ...(fingerprint && { fingerprint }),
  }
}

const spelled = (logprobs: readonly PromptLogprob[]): string => logprobs.map(({ token }) => token).join('')
