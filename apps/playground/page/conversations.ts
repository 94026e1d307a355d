import type { Message } from './api.js'
import { keepValue, keptNames, keptValue } from './kept.js'

export interface Conversation {
  id: string
  readonly messages: Message[]
  /** When it was kept last, in milliseconds. */
  at: number
}

/** Each by itself: tabs know nothing of each other, and none shall take away what another has kept. */
const KEPT = 'local-v1 playground chat '
/** What a browser keeps for a page is little: the oldest goes first. */
const MOST = 30

/** The conversations of this browser, newest first; the first is the one that is shown. */
export class Conversations {
  readonly #all = keptNames(KEPT).flatMap((name) => keptAs(name.slice(KEPT.length)) ?? [])

  constructor() {
    this.#all.sort((a, b) => b.at - a.at)
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
    this.#dropEmpty()
    this.#putInFront([])
  }

  /** A new one in front: the present one as it was before that message. Both are kept. */
  branch(before: number): void {
    this.#putInFront(this.current.messages.slice(0, before))
  }

  open(id: string): void {
    const found = this.#all.find((each) => each.id === id)
    if (!found) return
    this.#all.splice(this.#all.indexOf(found), 1)
    this.#dropEmpty()
    this.#all.unshift(found)
    this.keep()
  }

  remove(id: string): void {
    this.#drop(id)
    if (this.#all.length === 0) this.begin()
  }

  keep(conversation = this.current): void {
    const theirs = keptAs(conversation.id)
    // Another tab has gone on with it too: there are two of it from here on.
    if (theirs && theirs.at !== conversation.at) {
      this.#all.splice(1, 0, theirs)
      conversation.id = newId()
    }
    conversation.at = Date.now()
    const gone: Conversation[] = []
    while (!keepValue(KEPT + conversation.id, conversation)) {
      const oldest = this.earlier.findLast((each) => each !== conversation && !gone.includes(each))
      // For one that finds no room at all none is lost.
      if (!oldest) return void gone.map((each) => keepValue(KEPT + each.id, each))
      keepValue(KEPT + oldest.id, undefined)
      gone.push(oldest)
    }
    for (const { id } of gone) this.#drop(id)
  }

  #putInFront(messages: Message[]): void {
    this.#all.unshift({ id: newId(), messages, at: 0 })
    for (const { id } of this.#all.slice(MOST)) this.#drop(id)
    this.keep()
  }

  #dropEmpty(): void {
    for (const { id, messages } of [...this.#all]) if (messages.length === 0) this.#drop(id)
  }

  #drop(id: string): void {
    const at = this.#all.findIndex((each) => each.id === id)
    if (at >= 0) this.#all.splice(at, 1)
    keepValue(KEPT + id, undefined)
  }
}

/** Not `randomUUID`, which a page has not that came over a network by plain http. */
const newId = (): string =>
  Array.from(crypto.getRandomValues(new Uint32Array(4)), (each) => each.toString(36)).join('-')

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

/** What is kept under that name, where it is still what it should be. */
function keptAs(id: string): Conversation | undefined {
  const value = keptValue<Partial<Conversation> | null>(KEPT + id)
  const isMessage = (each: Partial<Message> | null): each is Message =>
    (each?.role === 'user' || each?.role === 'assistant') && typeof each.content === 'string'
  const isWhole = typeof value?.at === 'number' && Array.isArray(value.messages) && value.messages.every(isMessage)
  return isWhole ? ({ ...value, id } as Conversation) : undefined
}
