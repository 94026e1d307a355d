import type { Normalizer } from '@huggingface/tokenizers'

/** SentencePiece's normaliser, compiled: a trie of what is replaced, and what stands for it. */
const ENTRIES_KEPT = 0x300
/** Units of a text whose graphemes are found at once, and how far from its end one may begin. */
const WINDOW = 512
const MARGIN = 64
const PLAIN = /^[\n\x20-\x7e]*$/

/**
 * As Hugging Face's library in Rust computes it. The one in JavaScript does not read the table: it composes by NFKC and
 * knows some exceptions, and so cuts many texts of models like XLM-RoBERTa in another way.
 */
export class Precompiled {
  readonly #longest: boolean
  readonly #units: Uint32Array
  readonly #texts: Uint8Array
  readonly #graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' })
  readonly #utf8 = new TextEncoder()
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  /** What stands for the first characters of Unicode, which most texts are written in. */
  readonly #first: (string | null | undefined)[] = []

  /** `table`: `precompiled_charsmap` in Base64. `longest`: it is read as SentencePiece itself does, in GGUF files. */
  constructor(table: string, longest = false) {
    this.#longest = longest
    const bytes = Uint8Array.from(atob(table), (character) => character.charCodeAt(0))
    const view = new DataView(bytes.buffer)
    const size = bytes.length < 4 ? 0 : view.getUint32(0, true)
    if (size % 4 !== 0 || size === 0 || size + 4 > bytes.length) {
      throw new TypeError('precompiled_charsmap in tokenizer.json is not a table of characters.')
    }
    this.#units = Uint32Array.from({ length: size / 4 }, (_, i) => view.getUint32(4 + 4 * i, true))
    this.#texts = bytes.subarray(4 + size)
  }

  normal(text: string): string {
    if (this.#longest) return this.#byLongest(text)
    let out = ''
    if (PLAIN.test(text)) for (const character of text) out += this.#of(character)
    else for (const grapheme of this.#graphemesOf(text)) out += this.#ofGrapheme(grapheme)
    return out
  }

  /** Window by window: over a long text the platform takes time by the square of its length. */
  *#graphemesOf(text: string): Iterable<string> {
    for (let at = 0; at < text.length; ) {
      const window = text.slice(at, at + WINDOW)
      const last = at + WINDOW >= text.length
      let next = at + window.length
      for (const { segment, index } of this.#graphemes.segment(window)) {
        // What begins here may go on behind the window.
        if (!last && index > WINDOW - MARGIN) {
          next = at + index
          break
        }
        yield segment
      }
      at = next
    }
  }

  #ofGrapheme(segment: string): string {
    const point = segment.codePointAt(0)!
    if (segment.length === (point > 0xffff ? 2 : 1)) return this.#of(segment)
    const bytes = this.#utf8.encode(segment)
    // Longer ones are taken apart, whatever the table knows of them.
    const whole = bytes.length < 6 ? this.#find(bytes) : null
    if (whole !== null) return whole
    let out = ''
    for (const character of segment) out += this.#of(character)
    return out
  }

  #of(character: string): string {
    const point = character.codePointAt(0)!
    if (point >= ENTRIES_KEPT) return this.#find(this.#utf8.encode(character)) ?? character
    const known = this.#first[point]
    if (known !== undefined) return known ?? character
    const found = this.#find(this.#utf8.encode(character))
    this.#first[point] = found
    return found ?? character
  }

  /** What stands for the shortest beginning that the trie knows; null: nothing does. */
  #find(bytes: Uint8Array): string | null {
    const units = this.#units
    let at = offsetOf(units[0]!)
    for (const byte of bytes) {
      if (byte === 0) return null
      at ^= byte
      const unit = units[at] ?? 0
      if ((unit & 0x800000ff) >>> 0 !== byte) return null
      at ^= offsetOf(unit)
      if ((unit & 0x100) !== 0) return this.#textAt((units[at] ?? 0) & 0x7fffffff)
    }
    return null
  }

  /** What the table has for the longest beginning of what is left, else its first character. */
  #byLongest(text: string): string {
    const units = this.#units
    const bytes = this.#utf8.encode(text)
    let out = ''
    let kept = 0
    for (let from = 0; from < bytes.length; ) {
      let at = offsetOf(units[0]!)
      let [length, value] = [0, 0]
      for (let i = from; i < bytes.length; i++) {
        at ^= bytes[i]!
        const unit = units[at] ?? 0
        if (bytes[i] === 0 || (unit & 0x800000ff) >>> 0 !== bytes[i]) break
        at ^= offsetOf(unit)
        if ((unit & 0x100) === 0) continue
        length = i - from + 1
        value = (units[at] ?? 0) & 0x7fffffff
      }
      if (length > 0) {
        out += this.#decoder.decode(bytes.subarray(kept, from)) + this.#textAt(value)
        from += length
        kept = from
      } else from += characterBytes(bytes[from]!)
    }
    return out + this.#decoder.decode(bytes.subarray(kept))
  }

  #textAt(from: number): string {
    const end = this.#texts.indexOf(0, from)
    return this.#decoder.decode(this.#texts.subarray(from, end < 0 ? undefined : end))
  }
}

const characterBytes = (first: number) => (first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4)

/** Where a node's children lie, of darts-clone's packed units. */
const offsetOf = (unit: number) => (unit >>> 10) << ((unit & 0x200) >>> 6)

/** What the library's own classes hold, as far as it is looked at here. */
interface Stage extends Normalizer {
  readonly normalizers?: readonly (Stage | null)[]
  readonly charsmap?: unknown
  normalize(text: string): string
}

/** Has every stage that has a table read it. */
export function readTables(normalizer: Normalizer | null): void {
  const stage = normalizer as Stage | null
  for (const inner of stage?.normalizers ?? []) readTables(inner)
  if (stage && typeof stage.charsmap === 'string') {
    const table = new Precompiled(stage.charsmap, (stage.config as { readonly longest?: boolean }).longest)
    stage.normalize = (text) => table.normal(text)
  }
}
