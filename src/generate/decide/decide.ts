import { type DecideCall, type Decided, type Decision, type TokenModel, V1Error } from '../../contract/index.js'
import { inTurns } from '../../platform/index.js'
import type { ChatText } from '../chat-text.js'
import type { Scheduler } from '../run/scheduler.js'
import { DecidePrompt, type QuestionTokens } from './prompt.js'
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

/** A thought about the state, before the questions. */
export interface SharedThought {
  readonly text: string
  readonly tokens: number
}

/** Thinks about the state for at most so many tokens. */
export type Think = (most: number) => Promise<SharedThought>

/** Tokens around a thought. */
const HEADING = 16

/**
 * The probability of each option is that of its whole text behind the question, over those of all options. The state is
 * read once, the questions share it; what one of them answers hangs on no other. Where it is thought about before, that
 * is done once for all of them, and the thought is no longer than leaves them room.
 */
export async function decideByDecoder(call: DecideCall, parts: DecideParts, think?: Think): Promise<Decided> {
  let laid = await laidOut(call, parts, '')
  const longest = laid.questions.reduce((most, { length }) => Math.max(most, length), 0)
  const room = parts.capacity - longest - HEADING
  const thought = think && room > 0 ? await think(room) : undefined
  // Said again it may be a few tokens more: it is left off at its end then.
  for (let text = thought?.text ?? ''; text !== ''; text = text.slice(0, (text.length * 3) >> 2)) {
    const around = await laidOut(call, parts, text).catch(ofTooMany)
    if (around === undefined) continue
    laid = around
    break
  }
  const { state, questions } = laid
  const found = await readQuestions(state, questions, parts, call)
  const read = questions.reduce((sum, { stem, trie }) => sum + stem.length - state.length + trie.tokens, state.length)
  return {
    answers: call.questions.map((_, i) => decisionOf(questions.filter(({ question }) => question === i))),
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
  readonly questions: readonly QuestionTokens[]
}

/** The state, the thought about it, and the questions as tokens. */
async function laidOut(call: DecideCall, { text, capacity }: DecideParts, thought: string): Promise<LaidOut> {
  const prompt = await inTurns(DecidePrompt.of(call, text, thought, capacity), call.signal, call.caller)
  const questions: QuestionTokens[] = []
  for (const [i, question] of call.questions.entries()) {
    questions.push(...(await inTurns(prompt.inOrders(question, i, call.order), call.signal, call.caller)))
  }
  return { state: prompt.state, questions }
}

function ofTooMany(error: unknown): undefined {
  if (!V1Error.is(error) || error.code !== 'context_length_exceeded') throw error
}

/** Over the orders in which a question was asked. */
function decisionOf(orders: readonly QuestionTokens[]): Decision {
  const each = orders.map(({ trie }) => sharesOf(trie))
  return {
    probabilities: meanShares(each.map(({ probabilities }) => probabilities)),
    optionMass: Math.min(1, meanOf(each.map(({ mass }) => mass))),
  }
}
