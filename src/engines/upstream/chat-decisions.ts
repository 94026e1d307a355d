/**
 * Decisions of a service that has chat alone: each question is a request for one token, and how likely the options are is
 * read from the log probabilities of that token. What is told there are the first tokens of answers, and few of them.
 */

import {
  type ContentPart,
  type DecideCall,
  type Decided,
  type DecideOption,
  type DecideQuestion,
  type Decision,
  type Usage,
  V1Error,
} from '../../contract/index.js'
import { INSTRUCTIONS, meanOf, ordersOf, QUESTION, questionText, stateBlock, stateText } from '../../generate/index.js'
import { decisionFrom } from './decisions.js'
import { type ChunkUsage, usageOfChunk, type WireToken } from './parts.js'
import { wireContent } from './request.js'
import { brokenService, parsed, type SendBody } from './sent.js'

export interface ChatReading {
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens'
}

/** The most tokens that OpenAI's chat returns at a place, and so the most options that can be told apart. */
const MOST_RETURNED = 20
/** Requests side by side. */
const AT_ONCE = 8
/** An option that is not returned counts as 0 where that changes no probability by more. */
const NEGLIGIBLE = 0.01

const FIRST_KEY = 'A'.charCodeAt(0)

interface ReadQuestion {
  readonly index: number
  readonly body: Record<string, unknown>
  /** What is said to choose each option, in the order in which they were given. */
  readonly labels: readonly string[]
}

interface ChatDecision {
  readonly decision: Exclude<Decision, { readonly refused: true }>
  readonly usage: Usage
}

export async function decidedByChat(
  call: DecideCall,
  model: string,
  ask: SendBody,
  { maxTokensField }: ChatReading,
): Promise<Decided> {
  if (call.calibrated) {
    const message = 'The upstream service does not calibrate: leave calibrated out.'
    throw new V1Error(400, message, { param: 'calibrated' })
  }
  const common = {
    model,
    [maxTokensField]: 1,
    temperature: 0,
    logprobs: true,
    top_logprobs: MOST_RETURNED,
    // The switches that templates have: the first token must not be one of a thought.
    chat_template_kwargs: { enable_thinking: false, thinking: false },
  }
  const requests = call.questions.flatMap((question, index) => readings(call, question, index, common))
  const replies = await sideBySide(requests, async ({ body, labels, index }) => {
    const text = await ask('/chat/completions', body, call.signal)
    return { index, ...readToken(text, labels) }
  })
  const sum = (field: keyof Usage) => replies.reduce((total, { usage }) => total + (usage[field] ?? 0), 0)
  return {
    answers: call.questions.map((_, i) => decisionOf(replies.filter(({ index }) => index === i))),
    usage: {
      promptTokens: sum('promptTokens'),
      completionTokens: sum('completionTokens'),
      cachedTokens: sum('cachedTokens'),
    },
  }
}

/** The requests of one question, one for each order of its options. */
function readings(
  { state, order }: DecideCall,
  question: DecideQuestion,
  index: number,
  common: Record<string, unknown>,
): ReadQuestion[] {
  const context = stateBlock(stateText(state), '')
  const images = [...(typeof state === 'string' ? [] : state), { content: question.instructions }].flatMap(
    ({ content }) => (typeof content === 'string' ? [] : content.filter(({ type }) => type !== 'text')),
  )
  return ordersOf(question, order).map((turned) => {
    const { labels, options } = labelled(question, index, turned)
    const text = context + QUESTION + questionText({ ...question, options }, turned)
    const content: string | readonly ContentPart[] = images.length > 0 ? [...images, { type: 'text', text }] : text
    const messages = [
      { role: 'system', content: INSTRUCTIONS },
      { role: 'user', content: wireContent(content) },
    ]
    return { index, labels, body: { ...common, messages } }
  })
}

/**
 * Options are asked for as they are where the first byte of each says which one it is: whatever the vocabulary of the
 * other service, their first tokens then differ. Else each has a letter for its name, in the order in which it is asked.
 */
function labelled(
  { options }: DecideQuestion,
  index: number,
  order: readonly number[],
): { readonly labels: readonly string[]; readonly options: readonly DecideOption[] } {
  if (options.length > MOST_RETURNED) {
    const message = `The upstream service returns at most ${MOST_RETURNED} tokens, too few for ${options.length} options.`
    throw new V1Error(400, message, { param: `questions[${index}]`, code: 'too_many_choices' })
  }
  const encoder = new TextEncoder()
  const firsts = new Set(options.map(({ text }) => encoder.encode(text)[0]))
  if (firsts.size === options.length) return { labels: options.map(({ text }) => text), options }
  const labels = options.map((_, i) => String.fromCharCode(FIRST_KEY + order.indexOf(i)))
  const keyed = options.map(({ text, description }, i) => ({
    text: labels[i]!,
    description: description === undefined ? text : `${text}: ${description}`,
  }))
  return { labels, options: keyed }
}

/** In the order of the requests; the first fault ends what has not begun. */
async function sideBySide<A, B>(all: readonly A[], ask: (one: A) => Promise<B>): Promise<B[]> {
  const results: B[] = []
  let next = 0
  const work = async () => {
    while (next < all.length) {
      const i = next++
      try {
        results[i] = await ask(all[i]!)
      } catch (error) {
        next = all.length
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, all.length) }, work))
  return results
}

interface Completion {
  readonly usage?: ChunkUsage | null
  readonly choices?: readonly {
    readonly message?: {
      readonly reasoning_content?: unknown
      readonly reasoning?: unknown
      readonly content?: unknown
    }
    readonly logprobs?: { readonly content?: readonly WireToken[] | null } | null
  }[]
}

function readToken(text: string, labels: readonly string[]): ChatDecision {
  const { choices, usage } = parsed(text) as Completion
  const choice = Array.isArray(choices) ? (choices as NonNullable<Completion['choices']>)[0] : undefined
  if (choice === undefined) throw brokenService('sent no choice')
  const first = choice.logprobs?.content?.[0]
  const thought = choice.message?.reasoning_content ?? choice.message?.reasoning
  if (typeof thought === 'string' && thought !== '') throw unreadable('its answer begins with thinking')
  if (first === undefined) throw unreadable('it returns no log probabilities of its first token')
  const tokens = [first, ...(first.top_logprobs ?? [])].filter(
    ({ token, logprob }) => typeof token === 'string' && typeof logprob === 'number',
  )
  return { decision: sharesOf(tokens, labels), usage: usageOfChunk(usage ?? undefined) }
}

/** How likely each label's first token is, as it stands or, where no label begins so, behind a blank. */
function sharesOf(tokens: readonly WireToken[], labels: readonly string[]): ChatDecision['decision'] {
  const asIs = labels.map((label) => firstTokenOf(label, tokens, (token) => token))
  const found = asIs.some((one) => one !== undefined)
    ? asIs
    : labels.map((label) => firstTokenOf(label, tokens, (token) => token.replace(/^[\s▁]+/, '')))
  const likely = found.map((one) => (one === undefined ? 0 : Math.min(1, Math.exp(one.logprob))))
  const mass = likely.reduce((sum, one) => sum + one, 0)
  const missing = found.filter((one) => one === undefined).length
  // What is not returned is no likelier than the least of what is.
  const least = Math.min(...tokens.map(({ logprob }) => Math.exp(logprob)))
  if (mass === 0 || missing * least > NEGLIGIBLE * mass) {
    throw unreadable('its most likely first tokens are not those of the options')
  }
  return decisionFrom(likely, Math.min(1, mass)) as ChatDecision['decision']
}

/** The longest returned token that the label begins with; of those that are alike, the likeliest. */
function firstTokenOf(
  label: string,
  tokens: readonly WireToken[],
  spelled: (token: string) => string,
): WireToken | undefined {
  let best: WireToken | undefined
  for (const one of tokens) {
    const token = spelled(one.token)
    if (token === '' || !label.startsWith(token)) continue
    const than = best === undefined ? -1 : spelled(best.token).length
    if (token.length > than || (token.length === than && one.logprob > best!.logprob)) best = one
  }
  return best
}

const unreadable = (why: string): V1Error =>
  new V1Error(400, `The upstream service has no decisions, and its chat cannot replace them: ${why}.`, {
    param: 'model',
    code: 'unsupported_model',
  })

function decisionOf(replies: readonly ChatDecision[]): Decision {
  const each = replies.map(({ decision }) => decision)
  const probabilities = each[0]!.probabilities.map((_, i) => meanOf(each.map((one) => one.probabilities[i]!)))
  return decisionFrom(probabilities, meanOf(each.map(({ optionMass }) => optionMass!)))
}
