import { type ChatCall, type OutputGrammar, V1Error } from '../contract/index.js'
import { headOf } from './channels.js'
import type { ChatText } from './chat-text.js'
import { mustHaveForm } from './thinking.js'
import { tooLong } from './too-long.js'

/** How many tokens an answer may have, and how many it needs. */
export interface AnswerRoom {
  readonly limit: number
  /** The fewest tokens of the answer, without thoughts. */
  readonly shortest: number
  /** Those that it may have beyond the fewest, thoughts included. */
  readonly spare: number
}

/** Refuses a call that cannot end well, and says what room each answer has. `opened`: its prompt ends within a thought. */
export function checkCall(
  call: ChatCall,
  promptTokens: number,
  opened: boolean,
  capacity: number,
  text: ChatText,
  vocabSize: number,
): AnswerRoom {
  for (const token of call.sampling.logitBias?.keys() ?? []) {
    if (Number.isInteger(token) && token >= 0 && token < vocabSize) continue
    throw new V1Error(400, `Invalid key in 'logit_bias': ${token} is not a token of this model.`, {
      param: 'logit_bias',
    })
  }
  for (const [i, token] of (call.stopTokens ?? []).entries()) {
    if (token < vocabSize) continue
    throw new V1Error(400, `Invalid 'stop_token_ids[${i}]': ${token} is not a token of this model.`, {
      param: `stop_token_ids[${i}]`,
    })
  }
  // A model may have more logits than there are tokens.
  const tokens = Math.min(vocabSize, text.tokenizer.size)
  for (const token of typeof call.prompt === 'object' ? call.prompt : []) {
    if (token >= 0 && token < tokens) continue
    throw new V1Error(400, `Invalid 'prompt': ${token} is not a token of this model.`, { param: 'prompt' })
  }
  if (promptTokens === 0) throw new V1Error(400, "Invalid 'prompt': the prompt is empty.", { param: 'prompt' })
  // The last token of an answer is never fed, so a context may be filled to one more.
  const room = capacity - promptTokens + 1
  if (room < 1 || (room === 1 && call.maxTokens !== 0)) throw tooLong(capacity, promptTokens)
  const limit = Math.min(call.maxTokens ?? room, room)
  const shortest = shortestAnswer(call, text)
  const whole = shortest + (opened && mustHaveForm(call) ? text.endOfThought.length : 0)
  if (whole > limit) {
    if (limit === call.maxTokens) throw tooShort(limit, whole)
    throw tooLong(capacity, promptTokens + whole)
  }
  return { limit, shortest, spare: limit - whole }
}

/** The fewest tokens in which the answer can be complete. */
function shortestAnswer(call: ChatCall, text: ChatText): number {
  const least = (grammar: OutputGrammar) => grammar.start(text.vocabulary).shortest
  if (call.toolGrammar !== undefined && call.toolChoice !== 'auto' && call.toolChoice !== 'none') {
    return text.tokenizer.encodeMarker(text.toolFormat.open).length + least(text.toolFormat.grammar(call))
  }
  if (call.grammar === undefined) return 0
  const head = text.channels && call.prompt === undefined ? headOf(text.channels) : ''
  return text.tokenizer.encodeMarker(head).length + least(call.grammar)
}

function tooShort(limit: number, shortest: number): V1Error {
  return new V1Error(
    400,
    `The token limit of ${limit} is too small: the shortest answer in the requested format takes ${shortest} tokens.`,
    { param: 'max_tokens', code: 'max_tokens_too_small' },
  )
}
