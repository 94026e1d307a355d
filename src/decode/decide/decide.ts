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

/** Thinks about the state for at most so many tokens. */
export type Think = (most: number) => Promise<SharedThought>

/** Of what stands around a thought. */
const HEADING = 16

/**
 * The probability of each option is that of its whole text behind the question, over those of all options. The state is
 * read once, the questions share it; what one of them answers hangs on no other. Where it is thought about before, that
 * is done once for all of them, and the thought is no longer than leaves them room.
 */
export async function decide(call: DecideCall, parts: DecideParts, think?: Think): Promise<Decided> {
  const { capacity } = parts
  let laid = await laidOut(call, parts, '')
  if (laid.longest > capacity) throw tooLong(capacity, laid.longest)
  const room = capacity - laid.longest - HEADING
  const thought = think && room > 0 ? await think(room) : undefined
  for (let text = thought?.text ?? ''; text !== ''; ) {
    const around = await laidOut(call, parts, text)
    const over = around.longest - capacity
    if (over <= 0) {
      laid = around
      break
    }
    // Said again it may be a few tokens more: it is left off at its end then.
    text = text.slice(0, Math.max(0, text.length - over))
  }
  const { state, asked } = laid
  const found = await readQuestions(state, asked, parts, call)
  const read = asked.reduce((sum, { stem, trie }) => sum + stem.length - state.length + trie.tokens, state.length)
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

interface LaidOut {
  readonly state: readonly number[]
  readonly asked: readonly AskedTokens[]
  /** Tokens of the longest question with its longest option, the state's with them. */
  readonly longest: number
}

/** The state, what was thought about it, and the questions as tokens; as far as the first question that is too long. */
async function laidOut(call: DecideCall, { text, capacity }: DecideParts, thought: string): Promise<LaidOut> {
  const prompt = await inTurns(DecidePrompt.of(call, text, thought, capacity), call.signal, call.caller)
  const asked: AskedTokens[] = []
  let longest = 0
  for (const [i, question] of call.questions.entries()) {
    asked.push(...(await inTurns(prompt.asked(question, i, call.order), call.signal, call.caller)))
    longest = Math.max(longest, ...asked.slice(-1).map(({ length }) => length))
    // Said before the next one is taken apart.
    if (longest > capacity) break
  }
  return { state: prompt.state, asked, longest }
}

/** Over the orders in which a question was asked. */
function decisionOf(asked: readonly AskedTokens[]): Decision {
  const each = asked.map(({ trie }) => sharesOf(trie))
  return {
    probabilities: meanShares(each.map(({ probabilities }) => probabilities)),
    optionMass: Math.min(1, meanOf(each.map(({ mass }) => mass))),
  }
}
