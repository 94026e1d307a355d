import type { JsonObject } from '../../platform/index.js'

const DROPPED = /[\0\ufffd]|[^\t\n\r\P{Cc}]|[\p{Cf}\p{Co}\p{Cs}]/gu
const SPACE = /\p{White_Space}/gu
/** The blocks that BERT calls Chinese, as its authors list them. */
const CHINESE =
  /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/gu
const ACCENT = /\p{Mn}/gu
const MARK = /\p{M}/u
/** Characters of a piece: at its end a text can be parted, because no word goes over a space. */
const PIECE = 4096

/**
 * BERT's own normaliser, as Hugging Face's library in Rust computes it: the one in JavaScript lowers a last sigma in
 * another way, and takes characters beyond 16 bits apart.
 */
export class BertNormalizer {
  readonly #cleans: boolean
  readonly #partsChinese: boolean
  readonly #strips: boolean
  readonly #lowers: boolean
  /** Of what a character is composed of the first alone stays, and no mark of any kind: llama.cpp's way. */
  readonly #keepsFirst: boolean

  constructor({ clean_text, handle_chinese_chars, strip_accents, lowercase, keep_first }: JsonObject) {
    this.#cleans = clean_text !== false
    this.#partsChinese = handle_chinese_chars !== false
    this.#lowers = lowercase !== false
    this.#keepsFirst = keep_first === true
    this.#strips = typeof strip_accents === 'boolean' ? strip_accents : this.#lowers
  }

  normal(text: string): string {
    let out = text
    if (this.#cleans) out = out.replace(DROPPED, '').replace(SPACE, ' ')
    if (this.#partsChinese) out = out.replace(CHINESE, ' $& ')
    if (this.#strips) out = this.#keepsFirst ? firstsOf(out) : out.normalize('NFD').replace(ACCENT, '')
    // Each character by itself: alone no sigma is a word's last.
    return this.#lowers ? out.replaceAll('Σ', 'σ').toLowerCase() : out
  }
}

function firstsOf(text: string): string {
  return text.replace(/\P{ASCII}/gu, (character) => {
    const first = String.fromCodePoint(character.normalize('NFD').codePointAt(0)!)
    return MARK.test(first) ? '' : first
  })
}

/** The text in pieces that can be normalised and cut into words one by one. */
export function* atSpaces(text: string): Iterable<string> {
  let from = 0
  while (text.length - from > PIECE) {
    const space = text.indexOf(' ', from + PIECE)
    if (space < 0) break
    yield text.slice(from, space)
    from = space
  }
  yield text.slice(from)
}
