import { bytesOfToken, isRecord, type JsonObject, spellingOf, typesIn } from '../../platform/index.js'

/** What a vocabulary is made of, as a tokenizer.json has it. */
export interface TokenizerWords {
  readonly tokens: readonly (Uint8Array | undefined)[]
  readonly eos: readonly number[]
  readonly special: readonly number[]
  readonly named: Readonly<Record<string, number>>
}

const encoder = new TextEncoder()

/** Reads the tokens of a tokenizer.json; `ends` are those that end a text, by id or as they are written. */
export function wordsOf(tokenizerJson: unknown, ends: readonly (number | string)[]): TokenizerWords {
  const { model, added_tokens: added = [], ...rest } = isRecord(tokenizerJson) ? tokenizerJson : {}
  const pieces = isRecord(model) ? piecesOf(model) : undefined
  if (pieces === undefined || !Array.isArray(added)) throw new TypeError('this is not the content of a tokenizer.json')
  if (isWordPiece(model as JsonObject, rest)) {
    throw new TypeError('the text of a WordPiece token depends on the one before it, so no grammar can be enforced')
  }
  const spelling = spellingOf(rest)
  const tokens: (Uint8Array | undefined)[] = []
  for (const [name, id] of pieces) tokens[id] = bytesOfToken(name, spelling)
  const named: Record<string, number> = Object.create(null)
  for (const { id, content, special } of added as { id: number; content: string; special?: boolean }[]) {
    tokens[id] = special ? undefined : encoder.encode(content)
    if (special) named[content] = id
  }
  const idOf = new Map([...pieces, ...Object.entries(named)])
  const eos = ends.map((end) => {
    const id = typeof end === 'number' ? end : idOf.get(end)
    if (id === undefined || !(id in tokens)) throw new RangeError(`there is no token ${JSON.stringify(end)}`)
    return id
  })
  for (const [name, id] of Object.entries(named)) if (eos.includes(id)) delete named[name]
  return { tokens: Array.from(tokens), eos, special: Object.values(named), named }
}

/** By name and id: a table of ids in most, a list with scores in Unigram. */
function piecesOf({ vocab }: JsonObject): readonly (readonly [string, number])[] | undefined {
  if (Array.isArray(vocab)) return vocab.map((entry: unknown, id) => [(entry as [string, number])[0], id] as const)
  return isRecord(vocab) ? (Object.entries(vocab) as [string, number][]) : undefined
}

function isWordPiece(model: JsonObject, { decoder }: JsonObject): boolean {
  return model.type === 'WordPiece' || typesIn(decoder).includes('WordPiece')
}
