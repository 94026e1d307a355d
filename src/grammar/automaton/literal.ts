import { getOrMake } from '../../platform/index.js'
import { type Bytes, type Cell, type Cells, ENDS, Frame } from './frame.js'
import type { LineBreaks } from './line-breaks.js'

/** Where white space may come within a value that is spelled out. No byte is this high. */
const BLANK = '\u0100'

/** A text with the places where white space may come. */
export function withBlanks(text: string): string {
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|[[\]{},:]/g, (token) => {
    if (token[0] === '"') return token
    const [before, after] = [/[\]},:]/.test(token) ? BLANK : '', /[[{,:]/.test(token) ? BLANK : '']
    return before + token + after
  })
  return marked.replaceAll(BLANK + BLANK, BLANK)
}

/** Values spelled out, as a prefix tree over their sorted texts that unfolds only where it is walked. */
export class LiteralFrame extends Frame {
  readonly #texts: readonly Bytes[]
  readonly #from: number
  readonly #to: number
  readonly #depth: number
  readonly #children = new Map<number, LiteralFrame | null>()
  #shortest: Bytes | undefined
  readonly #weigh: (text: Bytes) => number
  readonly #breaks: LineBreaks

  /** The texts from `from` up to `to`, which share their first `depth` bytes. */
  constructor(
    texts: readonly Bytes[],
    breaks: LineBreaks,
    weigh: (text: Bytes) => number,
    from = 0,
    to = texts.length,
    depth = 0,
  ) {
    super(depth > 0 && texts[from]!.length === depth ? ENDS : 0)
    this.#texts = texts
    this.#breaks = breaks
    this.#weigh = weigh
    this.#from = from
    this.#to = to
    this.#depth = depth
  }

  override step(byte: number, below: Cell, out: Cells): void {
    const child = this.#child(byte)
    if (child !== null) out.add(child.ends && child.#to - child.#from === 1 ? below : below.push(child))
    this.#behindBlank?.step(byte, below, out)
  }

  /** Where white space may come here, and then what follows it. */
  get #behindBlank(): Frame | undefined {
    // It sorts behind all bytes.
    if (this.#texts[this.#to - 1]![this.#depth] !== BLANK) return undefined
    return this.#breaks.spaced(this.#child(BLANK.charCodeAt(0))!)
  }

  #child(byte: number): LiteralFrame | null {
    return getOrMake(this.#children, byte, () => this.#unfold(String.fromCharCode(byte)))
  }

  #unfold(letter: string): LiteralFrame | null {
    let from = this.#from
    while (from < this.#to && this.#texts[from]![this.#depth] !== letter) from++
    let to = from
    while (to < this.#to && this.#texts[to]![this.#depth] === letter) to++
    return from === to ? null : new LiteralFrame(this.#texts, this.#breaks, this.#weigh, from, to, this.#depth + 1)
  }

  override next(below: Cell, into: Set<number>): boolean {
    for (let i = this.#from; i < this.#to; i++) {
      const text = this.#texts[i]!
      if (text.length > this.#depth && text[this.#depth] !== BLANK) into.add(text.charCodeAt(this.#depth))
    }
    return this.#behindBlank?.next(below, into) ?? true
  }

  override get length(): number {
    return this.spell().length
  }

  /** Of the shortest text as a whole. */
  get weight(): number {
    return this.#weigh(spelled(this.#least()))
  }

  override spell(): Bytes {
    return spelled(this.#least().slice(this.#depth))
  }

  /** The first of the shortest. */
  #least(): Bytes {
    if (this.#shortest === undefined) {
      let best = this.#texts[this.#from]!
      let least = this.#weigh(spelled(best))
      for (let i = this.#from + 1; i < this.#to; i++) {
        const weight = this.#weigh(spelled(this.#texts[i]!))
        if (weight >= least) continue
        best = this.#texts[i]!
        least = weight
      }
      this.#shortest = best
    }
    return this.#shortest
  }
}

/** A text without white space. */
function spelled(text: Bytes): Bytes {
  return text.replaceAll(BLANK, '')
}
