/** Bytes of a value that is looked up: a longer one would be read again for each of its tokens, and is no name or number. */
const LONGEST = 512

/**
 * The JSON value that a document is in the middle of, found by reading the document as it grows. It reads what a grammar
 * has admitted, so that it need not judge: of a text that is no JSON it says nothing of use, and does no harm.
 */
export class OpenValue {
  /** Containers that are open, the innermost last. */
  #open = ''
  #state: 'between' | 'string' | 'bare' = 'between'
  #escaped = false
  /** The next string is a key. */
  #keyNext = false
  #isKey = false
  /** Bytes, a character for each. */
  #written = ''
  #key = ''

  /**
   * What there is of the value, without its quote: '' where one may begin. Undefined: none can be here, it ends within a
   * character, or it is too long to be looked up.
   */
  get written(): string | undefined {
    if (this.#state === 'between') return this.#keyNext ? undefined : ''
    return this.#isKey || this.#written.length > LONGEST ? undefined : textOf(this.#written)
  }

  /** It is a string. */
  get quoted(): boolean {
    return this.#state === 'string'
  }

  /** The last key, as it was written. */
  get key(): string {
    return textOf(this.#key) ?? ''
  }

  push(bytes: Uint8Array): void {
    for (const byte of bytes) this.#byte(String.fromCharCode(byte))
  }

  clone(): OpenValue {
    const copy = new OpenValue()
    copy.#open = this.#open
    copy.#state = this.#state
    copy.#escaped = this.#escaped
    copy.#keyNext = this.#keyNext
    copy.#isKey = this.#isKey
    copy.#written = this.#written
    copy.#key = this.#key
    return copy
  }

  #byte(char: string): void {
    if (this.#state === 'string') this.#inString(char)
    else if (char === '"') this.#begin('string')
    else if (char === '{' || char === '[') {
      this.#open += char
      this.#end(char === '{')
    } else if (char === '}' || char === ']') {
      this.#open = this.#open.slice(0, -1)
      this.#end(false)
    } else if (char === ',') this.#end(this.#open.endsWith('{'))
    else if (char === ':' || char <= ' ') this.#end(this.#keyNext)
    else if (this.#state === 'bare') this.#say(char)
    else this.#begin('bare', char)
  }

  #inString(char: string): void {
    if (!this.#escaped && char === '"') {
      if (this.#isKey) this.#key = this.#written
      this.#end(false)
      return
    }
    this.#escaped = !this.#escaped && char === '\\'
    this.#say(char)
  }

  /** Of what is too long to be looked up no more than that is kept. */
  #say(char: string): void {
    if (this.#written.length <= LONGEST) this.#written += char
  }

  #begin(state: 'string' | 'bare', written = ''): void {
    this.#state = state
    this.#isKey = this.#keyNext
    this.#written = written
  }

  #end(keyNext: boolean): void {
    this.#state = 'between'
    this.#escaped = false
    this.#written = ''
    this.#keyNext = keyNext
  }
}

function textOf(bytes: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes, byteOf))
  } catch {
    return undefined
  }
}

const byteOf = (char: string): number => char.charCodeAt(0)
