import type { Decision, Evidence, Part, PromptLogprob, Usage } from '../../contract/index.js'

const REASONS: ReadonlySet<unknown> = new Set(['stop', 'length', 'tool_calls'])

/**
 * Throws for a part that is not what the contract says, which is the engine's fault: engines are written without types, too,
 * and what is told, added up or counted of such a part would be wrong.
 */
export function checkPart(part: Part): void {
  const { type } = part
  const check = (what: string, value: unknown, isRight: boolean) => {
    if (!isRight) throw new Error(`The engine sent a ${type} whose ${what} is ${value}.`)
  }
  switch (part.type) {
    case 'text-delta':
    case 'reasoning-delta':
      check('text', part.text, typeof part.text === 'string')
      if (part.type === 'text-delta' && part.logprobs) check('logprobs', part.logprobs, areLogprobs(part.logprobs))
      break
    case 'tool-call-delta':
      check('arguments', part.arguments, typeof part.arguments === 'string')
      check('index', part.index, isCount(part.index))
      check('id', part.id, isText(part.id))
      check('name', part.name, isText(part.name))
      break
    case 'finish':
      check('reason', part.reason, REASONS.has(part.reason))
      check('stop', part.stop, isText(part.stop))
      check('tokens', part.tokens, part.tokens == null || areTokens(part.tokens))
      break
    case 'usage':
      checkUsage(part.usage)
      return
    case 'evidence':
      check('evidence', part.evidence, isEvidence(part.evidence))
      break
    case 'prompt':
      check('tokens', part.tokens, areTokens(part.tokens))
      check('text', part.text, isText(part.text))
      check('logprobs', part.logprobs, part.logprobs == null || areLogprobs(part.logprobs))
      check('choice', part.choice, part.choice == null || isCount(part.choice))
      return
    default:
      throw new Error(`The engine sent a part of type ${type}, which there is not.`)
  }
  check('choice', part.choice, isCount(part.choice))
}

/** Or nothing, in whichever words. */
const isText = (value: unknown): boolean => value == null || typeof value === 'string'

const isEvidence = (value: Partial<Evidence> | undefined): boolean =>
  typeof value?.pointer === 'string' && Number.isFinite(value.confidence)

export const areTokens = (value: unknown): boolean => Array.isArray(value) && value.every(isCount)

/** Some servers leave out how likely a token was, which is told as never. */
function areLogprobs(value: readonly PromptLogprob[]): boolean {
  const named = ({ token }: { readonly token: unknown }) => typeof token === 'string'
  return Array.isArray(value) && value.every((each) => named(each) && Array.isArray(each.top) && each.top.every(named))
}

export function checkUsage(usage: Usage): void {
  for (const name of ['promptTokens', 'completionTokens', 'cachedTokens', 'reasoningTokens'] as const) {
    const count = usage[name]
    const isAbsent = name === 'reasoningTokens' && count === undefined
    if (!isAbsent && !isCount(count)) throw new Error(`The engine counted ${count} ${name}.`)
  }
}

/** JSON has no other numbers: a client would read nothing in their place. */
export function checkNumbers(of: string, lists: Iterable<ArrayLike<number>>): void {
  for (const list of lists) {
    for (let i = 0; i < list.length; i++) {
      if (!Number.isFinite(list[i])) throw new Error(`The engine sent a ${of} with ${list[i]} in it.`)
    }
  }
}

export function checkDecisions(decisions: readonly Decision[], options: readonly number[]): void {
  if (decisions.length !== options.length) throw new Error('The engine sent no answer to a question.')
  for (const [i, decision] of decisions.entries()) {
    if ('refused' in decision) continue
    const { probabilities } = decision
    if (probabilities.length !== options[i]) throw new Error('The engine sent no probability of an option.')
    checkNumbers('decision', [probabilities])
    if (probabilities.some((each) => each < 0)) throw new Error('The engine sent a probability below 0.')
  }
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

const SURROGATE = /[\ud800-\udfff]/
const LONE = /\p{Surrogate}/gu

/**
 * Parts whose texts have whole characters: an engine may cut one in two, and half of one is no text, which strict parsers
 * refuse. The first half waits for the second; one that stays alone is told as U+FFFD, and at the end of a text not at all.
 */
export class Halves {
  readonly #waiting = new Map<string, string>()

  joined(part: Part): Part {
    if (part.type !== 'text-delta' && part.type !== 'reasoning-delta' && part.type !== 'tool-call-delta') return part
    const said = part.type === 'tool-call-delta' ? part.arguments : part.text
    if (this.#waiting.size === 0 && !SURROGATE.test(said)) return part
    const key = `${part.type} ${part.choice} ${'index' in part ? part.index : ''}`
    const text = (this.#waiting.get(key) ?? '') + said
    const half = /[\ud800-\udbff]$/.exec(text)?.[0] ?? ''
    this.#waiting.delete(key)
    if (half) this.#waiting.set(key, half)
    const whole = text.slice(0, text.length - half.length).replace(LONE, '\ufffd')
    return part.type === 'tool-call-delta' ? { ...part, arguments: whole } : { ...part, text: whole }
  }
}
