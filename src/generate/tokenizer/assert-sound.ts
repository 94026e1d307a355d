/** What a stranger's `tokenizer.json` may not say: each of it would take more time or memory than any text is worth. */
import { isRecord, type JsonObject } from '../../platform/index.js'
import { malformed, partsWithin, type TokenizerPart } from './parts.js'

/** Ids are given one after the other; some vocabularies leave gaps, for tokens that are to come. */
const GAPS = 65_536
/** How often a text may be longer once it is normalised. Of real ones none is, but for a space that becomes three bytes. */
const MOST_GROWTH = 64
/** The longest published one has under 400 characters. */
const MOST_PATTERN = 5000
/** A word of WordPiece is taken apart in the square of its length; BERT's are at most 100 long. */
const MOST_WORD = 1000

export function assertSound(tokenizer: JsonObject): void {
  const model = isRecord(tokenizer.model) ? tokenizer.model : undefined
  if (!model) throw malformed('it has no model.')
  assertIds(model, tokenizer.added_tokens)
  const word = model.max_input_chars_per_word
  if (model.type === 'WordPiece' && word !== undefined && !(Number(word) <= MOST_WORD))
    throw malformed(`its max_input_chars_per_word is ${String(word).slice(0, 40)}; up to ${MOST_WORD} can be read.`)
  for (const pattern of patternsIn([tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder])) {
    if (pattern.length > MOST_PATTERN)
      throw malformed(`one of its patterns has ${pattern.length} characters; up to ${MOST_PATTERN} can be read.`)
  }
}

/** What the parts of the file have become, once the library has read them. */
export function assertShort(parts: Readonly<Record<string, TokenizerPart | null>>): void {
  for (const [name, part] of Object.entries(parts)) {
    const growth = growthOf(part)
    if (growth > MOST_GROWTH) throw malformed(`its ${name} would make texts ${growth} times as long.`)
  }
}

/** Every regular expression in a part of the file. */
function* patternsIn(part: unknown): Iterable<string> {
  if (typeof part !== 'object' || part === null) return
  for (const [key, value] of Object.entries(part)) {
    if (key === 'Regex' && typeof value === 'string') yield value
    else yield* patternsIn(value)
  }
}

function assertIds(model: JsonObject, added: unknown): void {
  const { vocab } = model
  const list = Array.isArray(vocab)
  if (!list && !isRecord(vocab)) throw malformed('it has no vocabulary.')
  const extra = Array.isArray(added) ? added : []
  const names = list ? vocab.length : Object.keys(vocab).length
  const most = 2 * (names + extra.length) + GAPS
  const check = (name: string, id: unknown) => {
    if (Number.isSafeInteger(id) && (id as number) >= 0 && (id as number) < most) return
    throw malformed(`the token ${JSON.stringify(name).slice(0, 60)} of ${names} has the id ${String(id).slice(0, 40)}.`)
  }
  if (!list) for (const name of Object.keys(vocab)) check(name, vocab[name])
  for (const token of extra) {
    if (!isRecord(token) || typeof token.content !== 'string')
      throw malformed('one of its added_tokens has no content.')
    check(token.content, token.id)
  }
}

/** By how much the steps of a part may lengthen a text, one after the other. */
function growthOf(part: TokenizerPart | null): number {
  if (part === null) return 1
  const within = partsWithin(part)
  if (within !== undefined) return within.reduce((product, each) => product * growthOf(each), 1)
  const { config, pattern } = part
  const length = (value: unknown) => (typeof value === 'string' ? value.length : 0)
  switch (config?.type) {
    case 'Replace':
      // Where nothing is found, something is put between any two characters.
      return Math.max(1, length(config.content) + (pattern && ''.match(pattern) ? 1 : 0))
    case 'Metaspace':
      return Math.max(1, length(config.replacement))
    case 'Prepend':
    case 'ByteFallback':
      return 1 + length(config.prepend) / MOST_GROWTH
    default:
      return 1
  }
}
