/** What is certain of a document that is still being written: fields that have not begun are not there. */
export type Partially<T> = T extends readonly (infer Item)[]
  ? Partially<Item>[]
  : T extends object
    ? { [K in keyof T]?: Partially<T[K]> }
    : T

/** The value of JSON's beginning; undefined while there is none. Text is read as far as it goes, numbers when they end. */
export function readPartialJson(text: string): unknown {
  const reader = new Reader(text)
  return reader.value()?.[0]
}

/** In a box, as `undefined` means that there is nothing yet. */
type Read = [value: unknown] | undefined

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  value(): Read {
    const next = this.#peek()
    if (next === '{') return [this.#object()]
    if (next === '[') return [this.#array()]
    if (next === '"') return [this.#string().text]
    return this.#scalar()
  }

  #peek(): string | undefined {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at++
    return this.#text[this.#at]
  }

  #takes(mark: string): boolean {
    if (this.#peek() !== mark) return false
    this.#at++
    return true
  }

  #object(): object {
    const entries: [string, unknown][] = []
    this.#at++
    while (this.#peek() === '"') {
      const { text, whole } = this.#string()
      if (!whole || !this.#takes(':')) break
      const value = this.value()
      if (!value) break
      entries.push([text, value[0]])
      if (!this.#takes(',')) break
    }
    this.#takes('}')
    // Not by assignment: `__proto__` is a name like any other.
    return Object.fromEntries(entries)
  }

  #array(): unknown[] {
    const items: unknown[] = []
    this.#at++
    while (this.#peek() !== ']') {
      const value = this.value()
      if (!value) break
      items.push(value[0])
      if (!this.#takes(',')) break
    }
    this.#takes(']')
    return items
  }

  #string(): { text: string; whole: boolean } {
    const rest = this.#text.slice(this.#at)
    const [written = '', inner = '', end] = /^"((?:[^"\\]|\\u[\da-fA-F]{4}|\\[^u])*)("?)/.exec(rest) ?? []
    this.#at += written.length
    // Half of a character that takes two is none yet.
    const text = (JSON.parse(`"${inner}"`) as string).replace(/[\ud800-\udbff]$/, '')
    return { text: end === '"' ? (JSON.parse(`"${inner}"`) as string) : text, whole: end === '"' }
  }

  #scalar(): Read {
    const rest = this.#text.slice(this.#at)
    const [word] = /^(?:true|false|null)/.exec(rest) ?? /^-?\d[\d.eE+-]*(?=[\s,\]}])/.exec(rest) ?? []
    if (word === undefined) return undefined
    this.#at += word.length
    return [JSON.parse(word)]
  }
}
