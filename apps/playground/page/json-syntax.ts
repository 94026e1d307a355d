import { eachJsonToken, type JsonToken } from './json-tokens.js'

export interface SyntaxFault {
  /** What follows "This is not JSON: ". */
  readonly reason: string
  readonly at: number
}

/** What a container waits for next. */
type Next = 'value or end' | 'key or end' | 'key' | 'colon' | 'value' | 'comma or end'

/** Why a text is no JSON, in our own words: each browser has others, and not all say where. Undefined: it is JSON. */
export function jsonFault(text: string): SyntaxFault | undefined {
  const open: { readonly token: JsonToken; next: Next }[] = []
  let done = false
  let isEmpty = true
  for (const token of eachJsonToken(text)) {
    if (token.kind === 'space') continue
    isEmpty = false
    const fault = wordFault(token)
    if (fault !== undefined) return { reason: fault, at: token.at }
    if (done) return { reason: `something follows after its end: ${shown(token)}`, at: token.at }
    const inner = open.at(-1)
    const wrong = inner && misplaced(token, inner.next, inner.token.text === '{')
    if (wrong) return { reason: wrong, at: token.at }
    if (!inner && isMark(token, '}],:')) return { reason: `it cannot begin with ${shown(token)}`, at: token.at }
    if (inner && token.text === ':') inner.next = 'value'
    else if (inner && token.text === ',') inner.next = inner.token.text === '{' ? 'key' : 'value'
    else if (inner && (inner.next === 'key' || inner.next === 'key or end') && token.text !== '}') inner.next = 'colon'
    else if (isMark(token, '{[')) open.push({ token, next: token.text === '{' ? 'key or end' : 'value or end' })
    else {
      if (isMark(token, '}]')) open.pop()
      const outer = open.at(-1)
      if (outer) outer.next = 'comma or end'
      else done = true
    }
  }
  if (isEmpty) return { reason: 'it is empty', at: 0 }
  const left = open.at(-1)
  if (!left) return undefined
  return { reason: `it ends before this ${shown(left.token)} is closed`, at: left.token.at }
}

const isMark = ({ kind, text }: JsonToken, among: string): boolean => kind === 'mark' && among.includes(text)

/** A word that is none by itself. */
function wordFault({ kind, text }: JsonToken): string | undefined {
  if (kind === 'wrong')
    return text === "'" ? 'texts need double quotes' : `${JSON.stringify(text)} does not belong here`
  if (kind !== 'string' && kind !== 'key' && kind !== 'number') return undefined
  if (kind !== 'number' && !/^"(?:[^"\\\n]|\\.)*"$/s.test(text)) return 'this text has no closing quote'
  try {
    JSON.parse(text)
    return undefined
  } catch {
    return kind === 'number'
      ? `${text} is not a number`
      : 'this text has a backslash or an invisible character that JSON does not allow'
  }
}

function misplaced(token: JsonToken, next: Next, isObject: boolean): string | undefined {
  const end = isObject ? '}' : ']'
  const isEnd = isMark(token, end)
  const isText = token.kind === 'string' || token.kind === 'key'
  if (isMark(token, '}]') && !isEnd) return `${shown(token)} closes what was opened with ${isObject ? '{' : '['}`
  if (next === 'comma or end')
    return isEnd || token.text === ',' ? undefined : `a comma is missing before ${shown(token)}`
  if (next === 'colon') return token.text === ':' ? undefined : `a colon is missing before ${shown(token)}`
  if (isEnd && next === 'key') return 'there is a comma before the end'
  if (next === 'key' || next === 'key or end') {
    return isText || isEnd ? undefined : `a name in double quotes is missing before ${shown(token)}`
  }
  if (isEnd && next === 'value' && !isObject) return 'there is a comma before the end'
  return isMark(token, '}],:') && !(isEnd && next === 'value or end')
    ? `a value is missing before ${shown(token)}`
    : undefined
}

const shown = ({ text }: JsonToken): string => (text.length > 24 ? `${text.slice(0, 20)}…` : text)
