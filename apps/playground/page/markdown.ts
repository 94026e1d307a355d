import { Lexer, type Token, type Tokens } from 'marked'
import { becomeAfter, el, framed } from './dom.js'

/** So many characters are drawn at once, and as many as are read again: more, and whoever presses a key waits for them. */
const PIECE = 10_000

/**
 * Markdown as elements, of a text that grows. Nothing of it becomes HTML by way of a string: what a model writes is text,
 * whatever it looks like, and only addresses of the web become links.
 */
export class MarkdownView {
  readonly element = el('div', { class: 'markdown' })
  readonly #reader = new BlockReader()
  readonly #goOn: () => void
  #text = ''
  #length = 0

  /** `around` draws what of a long text is drawn later. */
  constructor(around: (draw: () => void) => void) {
    this.#goOn = framed(() => around(() => this.#draw()))
  }

  say(text: string): void {
    if (text === this.#text) return
    this.#text = text
    this.#draw()
  }

  #draw(): void {
    this.#length = Math.min(this.#text.length, 2 * this.#length - this.#reader.settledLength + PIECE)
    const { settled, open } = this.#reader.read(this.#text.slice(0, this.#length))
    becomeAfter(this.element, settled, blocks(open))
    if (this.#length < this.#text.length) this.#goOn()
  }
}

/** Reads a text that grows; blocks that nothing can change that follows are settled, and not read again. */
export class BlockReader {
  #settledText = ''
  #settled = 0
  /** What a link is called may be said far below it: a text with such names is read whole. */
  #hasNames = false

  get settledLength(): number {
    return this.#settledText.length
  }

  /** How many blocks are settled, and those after them. */
  read(text: string): { readonly settled: number; readonly open: readonly Token[] } {
    const whole = text.replace(/\r\n?/g, '\n')
    if (this.#hasNames || !whole.startsWith(this.#settledText)) {
      this.#settledText = ''
      this.#settled = 0
    }
    const lexer = new Lexer()
    const tokens = lexer.lex(whole.slice(this.#settledText.length))
    if (!this.#hasNames && Object.keys(lexer.tokens.links).length > 0) {
      this.#hasNames = true
      return this.read(text)
    }
    const settled = this.#settled
    if (!this.#hasNames) this.#settle(tokens)
    return { settled, open: tokens.filter(({ type }) => type !== 'space') }
  }

  /** As far as the last blank line before two blocks: the last may become another, which the one before it takes in. */
  #settle(tokens: readonly Token[]): void {
    const starts = tokens.flatMap(({ type }, i) => (type === 'space' ? [] : [i]))
    const count = starts.slice(0, -1).findLastIndex((at) => tokens[at - 1]?.type === 'space')
    if (count < 0) return
    this.#settled += count
    for (const { raw } of tokens.slice(0, starts[count])) this.#settledText += raw
  }
}

const blocks = (tokens: readonly Token[]): Node[] => tokens.flatMap((token) => block(token) ?? [])

function block(token: Token): Node | undefined {
  switch (token.type) {
    case 'space':
      return undefined
    case 'heading':
      // The page has headings of its own above these.
      return el(
        'p',
        { class: `heading level-${Math.min(3, (token as Tokens.Heading).depth)}` },
        ...inline(token.tokens),
      )
    case 'paragraph':
      return el('p', {}, ...inline(token.tokens))
    case 'text':
      return el('p', {}, ...inline(token.tokens ?? [token]))
    case 'code':
      return el('pre', { class: 'code', tabindex: 0 }, el('code', {}, (token as Tokens.Code).text))
    case 'blockquote':
      return el('blockquote', {}, ...blocks(token.tokens ?? []))
    case 'hr':
      return el('hr')
    case 'list':
      return list(token as Tokens.List)
    case 'table':
      return table(token as Tokens.Table)
    default:
      return el('p', {}, token.raw)
  }
}

function list({ ordered, start, items }: Tokens.List): HTMLElement {
  const made = items.map(({ tokens, loose }) => {
    // In a tight list an item's text is no paragraph.
    const inner = tokens.flatMap((each) =>
      each.type === 'text' && !loose ? inline((each as Tokens.Text).tokens ?? [each]) : (block(each) ?? []),
    )
    return el('li', {}, ...inner)
  })
  return ordered ? el('ol', { start: start === '' ? 1 : start }, ...made) : el('ul', {}, ...made)
}

function table({ header, rows }: Tokens.Table): HTMLElement {
  const head = el('tr', {}, ...header.map(({ tokens }) => el('th', { scope: 'col' }, ...inline(tokens))))
  const body = rows.map((row) => el('tr', {}, ...row.map(({ tokens }) => el('td', {}, ...inline(tokens)))))
  const whole = el('table', {}, el('thead', {}, head), el('tbody', {}, ...body))
  return el('div', { class: 'scrolls', tabindex: 0, role: 'region', 'aria-label': 'Table' }, whole)
}

function inline(tokens: readonly Token[] | undefined): (Node | string)[] {
  return (tokens ?? []).map((token) => {
    switch (token.type) {
      case 'strong':
        return el('strong', {}, ...inline(token.tokens))
      case 'em':
        return el('em', {}, ...inline(token.tokens))
      case 'del':
        return el('del', {}, ...inline(token.tokens))
      case 'codespan':
        return el('code', {}, (token as Tokens.Codespan).text)
      case 'br':
        return el('br')
      case 'link':
        return link(token as Tokens.Link)
      case 'text':
        return token.tokens ? el('span', {}, ...inline(token.tokens)) : (token as Tokens.Text).text
      case 'escape':
        return (token as Tokens.Escape).text
      // Images would be fetched, and tell their server that they were; HTML is not ours to run.
      default:
        return token.raw
    }
  })
}

function link({ href, tokens, raw }: Tokens.Link): Node | string {
  if (!/^https?:\/\//i.test(href)) return raw
  return el('a', { href, target: '_blank', rel: 'noopener noreferrer' }, ...inline(tokens))
}
