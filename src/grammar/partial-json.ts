/** JSON that is still being written: what stands so far, and whether that has ended. */
export type PartialJson =
  | { readonly kind: 'object'; readonly entries: readonly (readonly [string, PartialJson])[]; readonly done: boolean }
  | { readonly kind: 'array'; readonly items: readonly PartialJson[]; readonly done: boolean }
  | {
      readonly kind: 'string' | 'number' | 'boolean' | 'null'
      /** Of a string, what it says; of others, how they are written. */
      readonly text: string
      readonly done: boolean
    }

/**
 * JSON's beginning as far as it goes; undefined while there is none. A number has ended once what follows it shows that
 * it has. Where the text stops being JSON it is read no further.
 */
export function readPartial(text: string): PartialJson | undefined {
  return new Reader(text).value(0)
}

/** What is nested deeper is not read. */
const DEEPEST = 1000
const SPACE = /[ \t\n\r]*/y
const STRING = /"((?:[^"\\\p{Cc}]|[\u{7f}-\u{9f}]|\\u[\da-fA-F]{4}|\\["\\/bfnrt])*)("?)/uy
const WORD = /true|false|null/y
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?=[ \t\n\r,\]}])/y
/** A word or a number at the end of the text, of which more may come. */
const BEGUN = /(?:-?(?:\d[\d.eE+-]*)?|tr?u?|fa?l?s?|nu?l?)$/y

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  value(depth: number): PartialJson | undefined {
    const next = this.#peek()
    if (next === undefined || depth > DEEPEST) return undefined
    if (next === '{') return this.#object(depth + 1)
    if (next === '[') return this.#array(depth + 1)
    return next === '"' ? { kind: 'string', ...this.#string() } : this.#scalar()
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

  #object(depth: number): PartialJson {
    const entries: [string, PartialJson][] = []
    this.#at++
    while (this.#peek() === '"') {
      const { text, done } = this.#string()
      if (!done || !this.#takes(':')) break
      const value = this.value(depth)
      if (!value) break
      entries.push([text, value])
      if (!this.#takes(',')) break
    }
    return { kind: 'object', entries, done: this.#takes('}') }
  }

  #array(depth: number): PartialJson {
    const items: PartialJson[] = []
    this.#at++
    while (this.#peek() !== ']') {
      const value = this.value(depth)
      if (!value) break
      items.push(value)
      if (!this.#takes(',')) break
    }
    return { kind: 'array', items, done: this.#takes(']') }
  }

  #string(): { readonly text: string; readonly done: boolean } {
    const [, inner = '', end] = this.#match(STRING)!
    const text = JSON.parse(`"${inner}"`) as string
    // Half of a character that takes two is none yet.
    return end === '"' ? { text, done: true } : { text: text.replace(/[\ud800-\udbff]$/, ''), done: false }
  }

  #scalar(): PartialJson | undefined {
    const whole = this.#match(WORD) ?? this.#match(NUMBER)
    const text = (whole ?? this.#match(BEGUN))?.[0]
    if (text === undefined) return undefined
    const kind = text.startsWith('n') ? 'null' : /^[tf]/.test(text) ? 'boolean' : 'number'
    return { kind, text, done: whole !== undefined }
  }
}
