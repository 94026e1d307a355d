/** JSON that is still being written, read as far as it goes. */
export type PartialJson =
  | { readonly kind: 'object'; readonly entries: readonly (readonly [string, PartialJson])[]; readonly done: boolean }
  | { readonly kind: 'array'; readonly items: readonly PartialJson[]; readonly done: boolean }
  | {
      readonly kind: 'string' | 'number' | 'boolean' | 'null'
      /** As people read it: strings without quotes. */
      readonly text: string
      readonly done: boolean
    }

/** Undefined while there is nothing to show. What is no JSON ends the reading. */
export function readPartial(text: string): PartialJson | undefined {
  return new Reader(text).value()
}

/** What a string may hold; of an escape that is half there, nothing. */
const STRING = /^"((?:[^"\\]|\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt]))*)("?)/

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  value(): PartialJson | undefined {
    const start = this.#peek()
    if (start === undefined) return undefined
    if (start === '{') return this.#object()
    if (start === '[') return this.#array()
    if (start === '"') {
      const { text, done } = this.#string()
      return { kind: 'string', text, done }
    }
    return this.#word()
  }

  #object(): PartialJson {
    const entries: [string, PartialJson][] = []
    this.#at++
    for (;;) {
      const next = this.#peek()
      if (next === '}') {
        this.#at++
        return { kind: 'object', entries, done: true }
      }
      if (next === ',') this.#at++
      if (this.#peek() !== '"') return { kind: 'object', entries, done: false }
      const key = this.#string()
      if (!key.done || this.#peek() !== ':') return { kind: 'object', entries, done: false }
      this.#at++
      const value = this.value()
      if (!value) return { kind: 'object', entries, done: false }
      entries.push([key.text, value])
      if (!value.done) return { kind: 'object', entries, done: false }
    }
  }

  #array(): PartialJson {
    const items: PartialJson[] = []
    this.#at++
    for (;;) {
      const next = this.#peek()
      if (next === ']') {
        this.#at++
        return { kind: 'array', items, done: true }
      }
      if (next === ',') this.#at++
      const item = this.value()
      if (!item) return { kind: 'array', items, done: false }
      items.push(item)
      if (!item.done) return { kind: 'array', items, done: false }
    }
  }

  #string(): { text: string; done: boolean } {
    const [whole, body = '', end] = STRING.exec(this.#text.slice(this.#at))!
    this.#at += whole.length
    const done = end === '"'
    // Half an escape at the end is neither text nor an error.
    if (!done) this.#at = this.#text.length
    return { text: unescaped(body), done }
  }

  #word(): PartialJson | undefined {
    const [word = ''] = /^[-+.\w]+/.exec(this.#text.slice(this.#at)) ?? []
    if (word === '') return undefined
    this.#at += word.length
    const done = this.#at < this.#text.length
    if (/^[-\d]/.test(word)) return { kind: 'number', text: word, done }
    const kind = word.startsWith('n') ? 'null' : 'boolean'
    return { kind, text: word, done: done || ['true', 'false', 'null'].includes(word) }
  }

  #peek(): string | undefined {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at++
    return this.#text[this.#at]
  }
}

/** What no JSON string may hold is shown as it stands. */
function unescaped(body: string): string {
  try {
    return JSON.parse(`"${body}"`) as string
  } catch {
    return body
  }
}
