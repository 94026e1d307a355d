import { type ChatCall, type ChatMessage, textsJoined } from '../../contract/index.js'
import { isQuote, mayBeAbsent } from './optional.js'

/** A text of the conversation that a value may come from. */
export interface Ground {
  readonly message: number
  readonly part: number
  readonly text: string
  /** What a user or a tool says: quotes are of nothing else. */
  readonly given: boolean
}

/** What the values of a call's documents may rest on. */
export class Grounds {
  /** In the order in which they are looked through. */
  readonly texts: readonly Ground[]
  /** All strings are taken from these texts as they stand. */
  readonly quoted: boolean
  readonly #schema: unknown

  constructor({ messages, output }: Pick<ChatCall, 'messages' | 'output'>) {
    this.texts = groundsOf(messages)
    this.quoted = 'quote' in output && output.quote === true
    this.#schema = output.type === 'json_schema' ? output.schema : true
  }

  /** Whether the schema lets a property be left out. */
  mayBeAbsent(pointer: string): boolean {
    return mayBeAbsent(this.#schema, pointer)
  }

  /** Whether a string is taken from these texts as it stands. */
  isQuote(pointer: string): boolean {
    return this.quoted || isQuote(this.#schema, pointer)
  }
}

/** What users and tools say before what others do; the latest first. */
export function groundsOf(messages: readonly ChatMessage[]): Ground[] {
  const all = messages.map(textsOf).reverse().flat()
  return [...all.filter(({ given }) => given), ...all.filter(({ given }) => !given)]
}

function textsOf({ role, content, joined }: ChatMessage, message: number): Ground[] {
  const given = role === 'user' || role === 'tool'
  if (typeof content !== 'string') {
    return content.flatMap((one, part) => (one.type === 'text' ? [{ message, part, text: one.text, given }] : []))
  }
  return (joined ? textsJoined(content, joined) : [content]).map((text, part) => ({ message, part, text, given }))
}
