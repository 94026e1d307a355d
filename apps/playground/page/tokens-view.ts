import { el } from './dom.js'
import type { Piece } from './generation.js'

interface Segment {
  readonly piece: number
  text: string
}

/** The answer as it was generated: what the grammar decided in one colour, each token that the model chose in another. */
export function tokensView(pieces: readonly Piece[], isJson: boolean): HTMLElement {
  const view = el('pre', { class: 'tokens', translate: 'no' })
  for (const { piece, text } of isJson ? laidOut(pieces) : pieces.map(({ text }, piece) => ({ piece, text }))) {
    if (piece < 0) view.append(text)
    else view.append(el('span', { class: pieces[piece]!.forced === undefined ? 'sampled' : 'forced' }, text))
  }
  return view
}

/** Dense JSON with line breaks and indents of our own (piece -1), each character still with the piece it came in. */
function laidOut(pieces: readonly Piece[]): Segment[] {
  const segments: Segment[] = []
  let depth = 0
  let inString = false
  let escaped = false
  let opened = false
  const put = (piece: number, text: string) => {
    const last = segments.at(-1)
    if (last && last.piece === piece) last.text += text
    else segments.push({ piece, text })
  }
  const newLine = () => put(-1, `\n${'  '.repeat(depth)}`)
  pieces.forEach(({ text }, piece) => {
    for (const character of text) {
      if (inString) {
        put(piece, character)
        if (escaped) escaped = false
        else if (character === '\\') escaped = true
        else if (character === '"') inString = false
        continue
      }
      if (/\s/.test(character)) continue
      const closes = character === '}' || character === ']'
      if (closes) depth--
      if (opened !== closes) newLine()
      opened = false
      put(piece, character)
      if (character === '"') inString = true
      if (character === '{' || character === '[') {
        depth++
        opened = true
      } else if (character === ',') newLine()
      else if (character === ':') put(-1, ' ')
    }
  })
  return segments
}
