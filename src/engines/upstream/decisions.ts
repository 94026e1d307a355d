import {
  type ChatMessage,
  type Content,
  type DecideCall,
  type Decided,
  type DecideQuestion,
  type Decision,
  type Usage,
  V1Error,
} from '../../contract/index.js'
import { brokenService, countOf, parsed } from './sent.js'

/** A call in the words of OpenAI's `/decisions`; what is ours goes along only where it is asked for. */
export function decisionsBody(call: DecideCall, model: string): Record<string, unknown> {
  const { state, questions, order, calibrated } = call
  return {
    model,
    input: typeof state === 'string' ? state : state.flatMap(wireItems),
    questions: questions.map(wireQuestion),
    ...(order === 'average' && { order }),
    ...(calibrated && { calibrated }),
    ...thoughtOf(call),
  }
}

export function thoughtOf({ thinkingBudget: budget }: Pick<DecideCall, 'thinkingBudget'>): object {
  if (budget === undefined) return {}
  return { reasoning: { effort: budget <= 512 ? 'low' : budget <= 2048 ? 'medium' : 'high' } }
}

function wireItems(message: ChatMessage): object[] {
  if (message.role === 'tool') {
    return [{ type: 'function_call_output', call_id: message.toolCallId, output: message.content }]
  }
  const { role, content } = message
  if (role !== 'assistant') return [{ role, content: wireParts(content) }]
  const calls = (message.toolCalls ?? []).map(({ id, name, arguments: text }) => ({
    type: 'function_call',
    call_id: id,
    name,
    arguments: text,
  }))
  return content === '' && calls.length > 0 ? calls : [{ role, content }, ...calls]
}

function wireParts(content: Content): unknown {
  if (typeof content === 'string') return content
  return content.map((part) => {
    if (part.type === 'text') return { type: 'input_text', text: part.text }
    if (part.type === 'audio') throw new V1Error(400, 'Audio cannot be decided about.', { param: 'input' })
    return { type: 'input_image', image_url: part.url, ...(part.detail && { detail: part.detail }) }
  })
}

function wireQuestion({ type, instructions, options }: DecideQuestion): object {
  if (type === 'choice') {
    const choices = options.map(({ text, description }) => ({ value: text, ...(description && { description }) }))
    return { type, instructions: wireParts(instructions), choices }
  }
  if (type === 'score') {
    const levels = options.map(({ text, description }) => ({ label: text, ...(description && { description }) }))
    return { type, instructions: wireParts(instructions), levels }
  }
  // Its two sides have no place of their own there.
  const sides = options.flatMap(({ text, description }) => (description ? [`${text}: ${description}`] : []))
  if (sides.length === 0) return { type, instructions: wireParts(instructions) }
  const parts = typeof instructions === 'string' ? [{ type: 'text', text: instructions } as const] : instructions
  return { type, instructions: wireParts([...parts, { type: 'text', text: sides.join('\n') }]) }
}

interface SentAnswer {
  readonly type?: unknown
  readonly probability?: unknown
  readonly probabilities?: readonly { value?: unknown; label?: unknown; probability?: unknown }[]
  readonly option_mass?: unknown
}

/** The answers of another service, in the order of the questions; anything may be missing from them. */
export function decidedOf(text: string, call: DecideCall): Decided {
  const { answers, usage, calibration } = parsed(text) as {
    answers?: readonly SentAnswer[]
    usage?: Record<string, unknown> | null
    calibration?: { temperature?: unknown }
  }
  return {
    answers: call.questions.map((question, i) => decisionOf(question, Array.isArray(answers) ? answers[i] : undefined)),
    usage: usageOf(usage),
    ...temperatureOf(call, calibration),
  }
}

/** Nobody who asked for calibrated probabilities is given others. */
export function temperatureOf(
  { calibrated }: DecideCall,
  calibration: { readonly temperature?: unknown } | undefined,
): { readonly temperature?: number } {
  const temperature = calibration?.temperature
  if (typeof temperature === 'number') return { temperature }
  if (!calibrated) return {}
  throw new V1Error(400, 'The upstream service does not calibrate: leave calibrated out.', {
    param: 'calibrated',
  })
}

export function usageOf(usage: Record<string, unknown> | null | undefined): Usage {
  const details = (name: string) => (usage?.[name] ?? {}) as Record<string, unknown>
  return {
    promptTokens: countOf(usage?.input_tokens),
    completionTokens: countOf(usage?.output_tokens),
    cachedTokens: countOf(details('input_tokens_details').cached_tokens),
    reasoningTokens: countOf(details('output_tokens_details').reasoning_tokens),
  }
}

function decisionOf({ type, options }: DecideQuestion, answer: SentAnswer | undefined): Decision {
  if (answer?.type === 'refusal') return { refused: true }
  if (answer?.type !== type) throw brokenService('sent no answer to one of the questions')
  const { probability } = answer
  const likely = type === 'predicate' ? [probability, 1 - Number(probability)] : byOption(type, options, answer)
  return decisionFrom(likely, answer.option_mass)
}

/** Of what another service sent as the probability of each option. */
export function decisionFrom(likely: readonly unknown[], mass: unknown): Decision {
  if (!likely.every((one): one is number => typeof one === 'number' && one >= 0 && one <= 1)) {
    throw brokenService('sent no probability of one of the options')
  }
  const sum = likely.reduce((total, one) => total + one, 0)
  if (!(sum > 0)) throw brokenService('sent no probability above 0')
  // Some services round theirs.
  const probabilities = Math.abs(sum - 1) < 1e-9 ? likely : likely.map((one) => one / sum)
  return { probabilities, ...(typeof mass === 'number' && { optionMass: mass }) }
}

function byOption(type: 'choice' | 'score', options: DecideQuestion['options'], answer: SentAnswer): unknown[] {
  const sent = Array.isArray(answer.probabilities) ? (answer.probabilities as SentAnswer['probabilities'])! : []
  return options.map(({ text }, level) => {
    const option = sent.find(({ value }) => value === (type === 'choice' ? text : level))
    return option?.probability
  })
}
