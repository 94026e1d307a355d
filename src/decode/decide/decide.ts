import type { DecideCall, Decided, Decision } from '../../engine.js'
import { inTurns } from '../../platform/turns.js'
import type { ChatText } from '../chat-text.js'
import type { Scheduler } from '../run/scheduler.js'
import type { TokenModel } from '../token-model.js'
import { tooLong } from '../too-long.js'
import { type AskedTokens, DecidePrompt } from './prompt.js'
import { meanOf, meanShares } from './questions.js'
import { readQuestions } from './reading.js'
import { sharesOf } from './trie.js'

export interface DecideParts {
  readonly model: TokenModel
  readonly text: ChatText
  readonly scheduler: Scheduler
  /** Tokens that one sequence may have. */
  readonly capacity: number
}

/** What was thought about the state before it was asked about. */
export interface SharedThought {
  readonly text: string
  readonly tokens: number
}

/**
 * The probability of each option is that of its whole text behind the question, over those of all options. The state is
 * read once, the questions share it; what one of them answers hangs on no other.
 */
export async function decide(call: DecideCall, parts: DecideParts, thought?: SharedThought): Promise<Decided> {
  const { text, capacity } = parts
  const prompt = await inTurns(DecidePrompt.of(call, text, thought?.text ?? '', capacity), call.signal, call.caller)
  const asked: AskedTokens[] = []
  for (const [i, question] of call.questions.entries()) {
    // Said before the next one is taken apart.
    for (const one of await inTurns(prompt.asked(question, i, call.order), call.signal, call.caller)) {
      if (one.length > capacity) throw tooLong(capacity, one.length)
      asked.push(one)
    }
  }
  const found = await readQuestions(prompt.state, asked, parts, call)
  const state = prompt.state.length
  const read = asked.reduce((sum, { stem, trie }) => sum + stem.length - state + trie.tokens, state)
  return {
    answers: call.questions.map((_, i) => decisionOf(asked.filter(({ question }) => question === i))),
    usage: {
      promptTokens: read,
      completionTokens: thought?.tokens ?? 0,
      cachedTokens: found,
      ...(thought && { reasoningTokens: thought.tokens }),
    },
    fingerprint: parts.model.fingerprint,
  }
}

/** Over the orders in which a question was asked. */
function decisionOf(asked: readonly AskedTokens[]): Decision {
  const each = asked.map(({ trie }) => sharesOf(trie))
  return {
    probabilities: meanShares(each.map(({ probabilities }) => probabilities)),
    optionMass: Math.min(1, meanOf(each.map(({ mass }) => mass))),
  }
}
