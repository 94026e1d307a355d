/** The words of a JSON text with their places, for colours and for finding a field. It never fails. */
export interface JsonToken {
  readonly kind: 'key' | 'string' | 'number' | 'word' | 'mark' | 'space' | 'wrong'
  readonly text: string
  readonly at: number
}

const WORDS = /(\s+)|("(?:[^"\\\n]|\\.)*"?)|(-?\d[\d.eE+-]*)|(true|false|null)|([{}[\],:])|(.)/gs
const KINDS = ['space', 'string', 'number', 'word', 'mark', 'wrong'] as const

export const jsonTokens = (text: string): JsonToken[] => [...eachJsonToken(text)]

/** One after the other, for who may not want them all. */
export function* eachJsonToken(text: string): Generator<JsonToken> {
  for (const match of text.matchAll(WORDS)) {
    const kind = KINDS[match.slice(1).findIndex((group) => group !== undefined)]!
    const isKey =
      kind === 'string' && /^\s*:/.test(text.slice(match.index + match[0].length, match.index + match[0].length + 40))
    yield { kind: isKey ? 'key' : kind, text: match[0], at: match.index }
  }
}

/** Where the value at `path` begins, or the key `keyword` within it; undefined if there is none. */
export function placeOf(text: string, path: readonly string[], keyword?: string): number | undefined {
  const tokens = jsonTokens(text).filter(({ kind }) => kind !== 'space')
  let at = 0
  for (const step of path) {
    const next = childAt(tokens, at, step)
    if (next === undefined) return tokens[at]?.at
    at = next
  }
  if (keyword === undefined) return tokens[at]?.at
  const value = childAt(tokens, at, keyword)
  // The key, two words before its value, is what has to be changed.
  return tokens[value === undefined ? at : value - 2]?.at
}

/** The index of the token with which the child `step` of the container at `open` begins. */
function childAt(tokens: readonly JsonToken[], open: number, step: string): number | undefined {
  const isArray = tokens[open]?.text === '['
  if (!isArray && tokens[open]?.text !== '{') return undefined
  let depth = 0
  let index = 0
  for (let i = open; i < tokens.length; i++) {
    const { text, kind } = tokens[i]!
    if (depth === 1 && isArray && text !== ',' && text !== ']' && String(index) === step) return i
    if (depth === 1 && !isArray && kind === 'key' && nameOf(text) === step) return i + 2
    if (text === '{' || text === '[') depth++
    else if (text === '}' || text === ']') depth--
    else if (text === ',' && depth === 1) index++
    if (depth === 0) return undefined
  }
  return undefined
}

function nameOf(key: string): string | undefined {
  try {
    return JSON.parse(key) as string
  } catch {
    return undefined
  }
}

export function lineOf(text: string, at: number): number {
  return text.slice(0, at).split('\n').length
}
