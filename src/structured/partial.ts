/** What is certain of a document that is still being written: members that have not begun are not there. */
export type DeepPartial<T> = T extends readonly (infer Item)[]
  ? DeepPartial<Item>[]
  : T extends object
    ? { [K in keyof T]?: DeepPartial<T[K]> }
    : T

export interface PartialOptions {
  /**
   * Texts that are still being written: as far as they go, which is none of what an `enum` lists, or left out.
   * @default 'growing'
   */
  readonly strings?: 'growing' | 'whole'
}

/**
 * The value of JSON's beginning; undefined while there is none. A number is there once what follows it shows that it has
 * ended, so none is ever cut short; likewise words. What is there is never taken back: texts, objects and arrays grow.
 * Where the text stops being JSON it is read no further.
 */
export function partial<T = unknown>(
  text: string,
  { strings = 'growing' }: PartialOptions = {},
): DeepPartial<T> | undefined {
  return new Reader(text, strings === 'whole').value(0)?.[0] as DeepPartial<T> | undefined
}

/** In a box, as `undefined` means that there is nothing yet. */
type Read = [value: unknown] | undefined

/** What is nested deeper is not read. */
const DEEPEST = 1000
const SPACE = /[ \t\n\r]*/y
const STRING = /"((?:[^"\\\p{Cc}]|[\u{7f}-\u{9f}]|\\u[\da-fA-F]{4}|\\["\\/bfnrt])*)("?)/uy
const WORD = /true|false|null/y
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?=[ \t\n\r,\]}])/y

class Reader {
  readonly #text: string
  readonly #whole: boolean
  #at = 0

  constructor(text: string, whole: boolean) {
    this.#text = text
    this.#whole = whole
  }

  value(depth: number): Read {
    const next = this.#peek()
    if (depth > DEEPEST) return undefined
    if (next === '{') return [this.#object(depth + 1)]
    if (next === '[') return [this.#array(depth + 1)]
    if (next !== '"') return this.#scalar()
    const { text, whole } = this.#string()
    return whole || !this.#whole ? [text] : undefined
  }

  #match(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.#at
    const found = expression.exec(this.#text)
    if (found === null) return undefined
    this.#at = expression.lastIndex
    return found
  }

  #peek(): string | undefined {
    this.#match(SPACE)
    return this.#text[this.#at]
  }

  #takes(mark: string): boolean {
    if (this.#peek() !== mark) return false
    this.#at++
    return true
  }

  #object(depth: number): object {
    const entries: [string, unknown][] = []
    this.#at++
    while (this.#peek() === '"') {
      const { text, whole } = this.#string()
      if (!whole || !this.#takes(':')) break
      const value = this.value(depth)
      if (!value) break
      entries.push([text, value[0]])
      if (!this.#takes(',')) break
    }
    this.#takes('}')
    // Not by assignment: `__proto__` is a name like any other.
    return Object.fromEntries(entries)
  }

  #array(depth: number): unknown[] {
    const items: unknown[] = []
    this.#at++
    while (this.#peek() !== ']') {
      const value = this.value(depth)
      if (!value) break
      items.push(value[0])
      if (!this.#takes(',')) break
    }
    this.#takes(']')
    return items
  }

  #string(): { text: string; whole: boolean } {
    const [, inner = '', end] = this.#match(STRING)!
    const text = JSON.parse(`"${inner}"`) as string
    // Half of a character that takes two is none yet.
    return end === '"' ? { text, whole: true } : { text: text.replace(/[\ud800-\udbff]$/, ''), whole: false }
  }

  #scalar(): Read {
    const found = this.#match(WORD) ?? this.#match(NUMBER)
    return found && [JSON.parse(found[0])]
  }
}
