import type { JsonObject } from '../../platform/index.js'

/** Of the machine on which a tokenizer was made, and of programs that come with it. */
const UNREPORTED = new Set(['vocab_file', 'merges_file', 'tokenizer_file', 'name_or_path', 'auto_map'])

/** `tokenizer_config.json` as servers tell it, whatever format a model came in. */
export function tokenizerInfo(config: JsonObject = {}, template?: string): JsonObject {
  const own = Object.fromEntries(Object.entries(config).filter(([name]) => !UNREPORTED.has(name)))
  const named = typeof own.tokenizer_class === 'string' ? own.tokenizer_class : 'PreTrainedTokenizerFast'
  return { ...own, ...(template !== undefined && { chat_template: template }), tokenizer_class: named }
}
