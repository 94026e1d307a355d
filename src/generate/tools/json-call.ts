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
  #text = ''
  #named = false

  push(text: string): ToolCallDelta | undefined {
    this.#text += text
    if (!this.#named) {
      const head = HEAD.exec(this.#text)
      if (head === null) return undefined
      this.#named = true
      this.#text = this.#text.slice(head[0].length)
      return { name: JSON.parse(head[1]!) as string, arguments: this.#take() }
    }
    const piece = this.#take()
    return piece === '' ? undefined : { arguments: piece }
  }

  /** All but an end that may be the brace which closes the call itself. */
  #take(): string {
    const held = /\s*\}?\s*$/.exec(this.#text)![0].length
    const piece = this.#text.slice(0, this.#text.length - held)
    this.#text = this.#text.slice(this.#text.length - held)
    return piece
  }
}
