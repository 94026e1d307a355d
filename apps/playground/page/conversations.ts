import type { Message } from './api.js'
import { keepValue, keptValue } from './kept.js'

export interface Conversation {
  readonly id: string
  readonly messages: Message[]
}

const KEPT = 'local-v1 playground chats'
/** What a browser keeps for a page is little: the oldest goes first. */
const MOST = 30

/** The conversations of this browser, newest first; the first is the one that is shown. */
export class Conversations {
  readonly #all: Conversation[]

  constructor() {
    this.#all = kept()
    if (this.#all.length === 0) this.begin()
  }

  get current(): Conversation {
    return this.#all[0]!
  }

  get earlier(): readonly Conversation[] {
    return this.#all.slice(1)
  }

  /** A new one in front; one without a word is not worth keeping. */
  begin(): void {
    this.#drop(({ messages }) => messages.length === 0)
    this.#all.unshift({ id: crypto.randomUUID(), messages: [] })
    this.#all.splice(MOST)
    this.keep()
  }

  /** A new one in front: the present one as it was before that message. Both are kept. */
  branch(before: number): void {
    this.#all.unshift({ id: crypto.randomUUID(), messages: this.current.messages.slice(0, before) })
    this.#all.splice(MOST)
    this.keep()
  }

  open(id: string): void {
    const found = this.#all.find((each) => each.id === id)
    if (!found) return
    this.#drop((each) => each.id === id || each.messages.length === 0)
    this.#all.unshift(found)
    this.keep()
  }

  remove(id: string): void {
    this.#drop((each) => each.id === id)
    if (this.#all.length === 0) this.begin()
    this.keep()
  }

  keep(): void {
    keepValue(KEPT, this.#all)
  }

  #drop(which: (each: Conversation) => boolean): void {
    this.#all.splice(0, this.#all.length, ...this.#all.filter((each) => !which(each)))
  }
}

/** What a conversation is called in a list. */
export const titleOf = ({ messages }: Conversation): string =>
  messages
    .find(({ role }) => role === 'user')
    ?.content.replace(/\s+/g, ' ')
    .slice(0, 60) ?? 'Nothing yet'

/** For reading, and for other programs that take Markdown. */
export function asMarkdown(system: string, messages: readonly Message[]): string {
  const parts = [...(system === '' ? [] : [{ role: 'system', content: system }]), ...messages]
  return parts.map(({ role, content }) => `## ${role[0]!.toUpperCase()}${role.slice(1)}\n\n${content}\n`).join('\n')
}

/** Of what is kept, what is still what it should be. */
function kept(): Conversation[] {
  const value = keptValue<unknown>(KEPT)
  const isMessage = (each: Partial<Message> | null): each is Message =>
    (each?.role === 'user' || each?.role === 'assistant') && typeof each.content === 'string'
  const isConversation = (each: Partial<Conversation> | null): each is Conversation =>
    typeof each?.id === 'string' && Array.isArray(each.messages) && each.messages.every(isMessage)
  return Array.isArray(value) ? value.filter(isConversation) : []
}
