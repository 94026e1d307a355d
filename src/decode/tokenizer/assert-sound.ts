/** What a stranger's `tokenizer.json` may not say: each of it would take more time or memory than any text is worth. */
import { V1Error } from '../../errors.js'
import { isRecord, type JsonObject } from '../../platform/json.js'

/** Ids are given one after the other; some vocabularies leave gaps, for tokens that are to come. */
const GAPS = 65_536
/** How often a text may be longer once it is normalised. Of real ones none is, but for a space that becomes three bytes. */
const MOST_GROWTH = 64
/** A word of WordPiece is taken apart in the square of its length; BERT's are at most 100 long. */
const MOST_WORD = 1000

export function malformed(what: string, cause?: unknown): V1Error {
  return new V1Error(500, `The model's tokenizer cannot be read: ${what}`, { code: 'model_files', cause })
}

export function assertSound(tokenizer: JsonObject): void {
  const model = isRecord(tokenizer.model) ? tokenizer.model : undefined
  if (!model) throw malformed('it has no model.')
  assertIds(model, tokenizer.added_tokens)
  const word = model.max_input_chars_per_word
  if (model.type === 'WordPiece' && word !== undefined && !(Number(word) <= MOST_WORD))
    throw malformed(`its max_input_chars_per_word is ${String(word).slice(0, 40)}; up to ${MOST_WORD} can be read.`)
  for (const pattern of patternsIn([tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder])) {
    if (repeatsRepetitions(pattern)) {
      throw malformed(
        `its pattern ${pattern.slice(0, 100)} repeats what repeats or chooses, which may take time without end.`,
      )
    }
  }
  for (const part of ['normalizer', 'pre_tokenizer', 'decoder']) {
    const growth = growthOf(tokenizer[part])
    if (growth > MOST_GROWTH) throw malformed(`its ${part} would make texts ${growth} times as long.`)
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

/**
 * The platform goes back in a pattern: where something is repeated without end that is itself so repeated, or is one of
 * several, that may take time without end. No published tokenizer has such a one.
 */
function repeatsRepetitions(pattern: string): boolean {
  /** Of each open group, whether it repeats or chooses. */
  const groups: boolean[] = [false]
  let closed: boolean | undefined
  const parts = /\\.|\[(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\(|\)|[*+]|\{\d*,\d*\}|\{\d+\}|[\s\S]/gu
  for (const [part] of pattern.matchAll(parts)) {
    if (part === '(') groups.push(false)
    else if (part === ')') {
      closed = groups.pop() ?? false
      if (groups.length === 0) groups.push(false)
      groups[groups.length - 1] ||= closed
      continue
    } else if (part === '|') groups[groups.length - 1] = true
    else if (/^([*+]|\{.*\})$/.test(part)) {
      if (closed) return true
      if (part === '*' || part === '+' || part.includes(',')) groups[groups.length - 1] = true
    }
    closed = undefined
  }
  return false
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

/** Whether what a pattern finds may be empty: what takes its place is then put between any two characters. */
function findsNothing(pattern: unknown): boolean {
  if (!isRecord(pattern)) return false
  if (typeof pattern.String === 'string') return pattern.String === ''
  if (typeof pattern.Regex !== 'string') return false
  try {
    return pattern.Regex.includes('(?') || new RegExp(pattern.Regex, 'u').test('')
  } catch {
    return true
  }
}

/** By how much the steps of a part may lengthen a text, one after the other. */
function growthOf(part: unknown): number {
  if (!isRecord(part)) return 1
  for (const key of ['normalizers', 'pretokenizers', 'decoders']) {
    const parts = part[key]
    if (Array.isArray(parts)) return parts.reduce((product: number, each) => product * growthOf(each), 1)
  }
  const length = (value: unknown) => (typeof value === 'string' ? value.length : 0)
  switch (part.type) {
    case 'Replace':
      return Math.max(1, length(part.content) + (findsNothing(part.pattern) ? 1 : 0))
    case 'Metaspace':
      return Math.max(1, length(part.replacement))
    case 'Prepend':
    case 'ByteFallback':
      return 1 + length(part.prepend) / MOST_GROWTH
    default:
      return 1
  }
}
