/** A state and the questions about it, in words. */
import { type ChatMessage, type Content, type DecideQuestion, textOf } from '../../contract/index.js'

export const INSTRUCTIONS =
  'You are given a state and a question about it. Choose the option that fits best, and answer with that option alone.'

/** Where the question begins, whatever the state was: its first word is never part of a longer token. */
export const QUESTION = 'Question:'

/** The state as one text: a conversation with who said what. */
export function stateText(state: string | readonly ChatMessage[]): string {
  if (typeof state === 'string') return state
  const [only, ...others] = state
  if (others.length === 0 && only?.role === 'user') return textOf(only.content)
  return state.map(turnOf).join('\n\n')
}

function turnOf(message: ChatMessage): string {
  const content = textOf(message.content)
  if (message.role !== 'assistant') return `${message.role}: ${content}`
  const calls = (message.toolCalls ?? []).map(({ name, arguments: text }) => `assistant calls ${name}: ${text}`)
  return [...(content === '' && calls.length > 0 ? [] : [`assistant: ${content}`]), ...calls].join('\n')
}

/** The text before the question; without a state, nothing but the question itself is judged. */
export function stateBlock(state: string, thought: string): string {
  const block = state.trim() === '' ? '' : `State:\n${state.trim()}\n\n`
  return thought.trim() === '' ? block : `${block}Thoughts about it:\n${thought.trim()}\n\n`
}

const PHRASES: Readonly<Record<DecideQuestion['type'], readonly [list: string, end: string]>> = {
  predicate: ['Options:', 'Is it true? Answer with one option.'],
  choice: ['Options:', 'Answer with one option.'],
  score: ['Levels, from the lowest to the highest:', 'Answer with one level.'],
}

/** Behind `QUESTION`: its instructions, and its options in this order. */
export function questionText({ type, instructions, options }: DecideQuestion, order: readonly number[]): string {
  const [list, end] = PHRASES[type]
  const lines = order.map((i) => {
    const { text, description } = options[i]!
    return description === undefined ? `- ${text}` : `- ${text}: ${description.trim()}`
  })
  return ` ${instructionsOf(instructions)}\n${list}\n${lines.join('\n')}\n${end}`
}

const instructionsOf = (instructions: Content): string => textOf(instructions).trim() || 'Which option fits the state?'

/** At most so many orders of a question's options are averaged. */
const MOST_ORDERS = 8

/**
 * The orders in which a question is asked. For the mean to be the same whatever order they are given in, they are the
 * rotations of an order that hangs on the options alone; levels keep theirs, and its reverse.
 */
export function ordersOf({ type, options }: DecideQuestion, order: 'given' | 'average'): (readonly number[])[] {
  const given = options.map((_, i) => i)
  if (order === 'given' || options.length === 1) return [given]
  if (type === 'score') return [given, [...given].reverse()]
  const sorted = [...given].sort((a, b) => compare(options[a]!.text, options[b]!.text))
  const count = Math.min(options.length, MOST_ORDERS)
  return Array.from({ length: count }, (_, k) => {
    const turn = Math.floor((k * options.length) / count)
    return [...sorted.slice(turn), ...sorted.slice(0, turn)]
  })
}

/** Of the probabilities in each order, their means, which sum to one. */
export function meanShares(each: readonly (readonly number[])[]): number[] {
  const means = each[0]!.map((_, i) => meanOf(each.map((one) => one[i]!)))
  const sum = means.reduce((total, one) => total + one, 0)
  return means.map((one) => one / sum)
}

export const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

/** Of texts that differ. */
const compare = (a: string, b: string): number => (a < b ? -1 : 1)
