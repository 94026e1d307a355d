import type { CallReader, ToolCallDelta, ToolFormat } from './format.js'

/** `{"name":"f","arguments":{...}}`, which most families put between their markers; the service has its grammar. */
export const JSON_CALL = {
  grammar: ({ toolGrammar }) => toolGrammar!,
  spell: (name, json) => `{"name":${JSON.stringify(name)},"arguments":${json || '{}'}}`,
  form: '{"name":"...","arguments":{...}}',
  reader: () => jsonCallReader(),
} satisfies Partial<ToolFormat>

const HEAD = /^\s*\{\s*"name"\s*:\s*("(?:[^"\\]|\\.)*")\s*,\s*"(?:arguments|parameters)"\s*:\s*/

/** Reads such a call, whether its arguments go by that name or by `parameters`. */
export const jsonCallReader = (): CallReader => new JsonCallReader()

class JsonCallReader implements CallReader {
  #head = ''
  #named = false
  /** The brace that may close the call itself, with the blanks before it, and those behind it. */
  #brace = ''
  #blanks = ''

  push(text: string): ToolCallDelta | undefined {
    if (!this.#named) {
      this.#head += text
      const head = HEAD.exec(this.#head)
      if (head === null) return undefined
      this.#named = true
      return { name: JSON.parse(head[1]!) as string, arguments: this.#take(this.#head.slice(head[0].length)) }
    }
    const piece = this.#take(text)
    return piece === '' ? undefined : { arguments: piece }
  }

  /** All but such an end, which is not looked at again: it may be no end of a hundred thousand blanks. */
  #take(text: string): string {
    const words = text.trimEnd()
    let piece = ''
    if (words !== '') {
      const inner = words.endsWith('}') ? words.slice(0, -1).trimEnd() : words
      piece = this.#brace + (inner === '' ? '' : this.#blanks + inner)
      this.#brace = inner === '' ? this.#blanks + words : words.slice(inner.length)
      this.#blanks = ''
    }
    this.#blanks += text.slice(words.length)
    return piece
  }
}
