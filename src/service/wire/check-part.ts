import type { Decision, Part, Usage } from '../../contract/index.js'

const REASONS: ReadonlySet<unknown> = new Set(['stop', 'length', 'tool_calls'])

/**
 * Throws for a part that is not what the contract says, which is the engine's fault: engines are written without types, too,
 * and what is told, added up or counted of such a part would be wrong.
 */
export function checkPart(part: Part): void {
  const wrong = (what: string, value: unknown) => new Error(`The engine sent a ${part.type} whose ${what} is ${value}.`)
  switch (part.type) {
    case 'text-delta':
    case 'reasoning-delta':
      if (typeof part.text !== 'string') throw wrong('text', part.text)
      break
    case 'tool-call-delta':
      if (typeof part.arguments !== 'string') throw wrong('arguments', part.arguments)
      if (!isCount(part.index)) throw wrong('index', part.index)
      break
    case 'finish':
      if (!REASONS.has(part.reason)) throw wrong('reason', part.reason)
      break
    case 'usage':
      checkUsage(part.usage)
      break
    case 'evidence':
    case 'prompt':
      break
    default:
      throw new Error(`The engine sent a part of type ${(part as { type?: unknown }).type}, which there is not.`)
  }
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
