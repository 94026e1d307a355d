import { type Bytes, type Cell, type Cells, Frame } from './frame.js'

/** Bytes that can only come as they are: punctuation, line breaks, names of tools. */
export class FixedFrame extends Frame {
  readonly #bytes: Bytes
  readonly #at: number
  readonly #rest: FixedFrame | undefined
  override readonly length: number
  #next: FixedFrame | undefined

  private constructor(bytes: Bytes, at: number, rest: FixedFrame | undefined, traits: number) {
    super(traits)
    this.#bytes = bytes
    this.#at = at
    this.#rest = rest
    this.length = bytes.length - at + (rest?.length ?? 0)
  }

  /** These bytes, then those of `rest`, which is shared; undefined for none at all. */
  static of(bytes: Bytes, rest?: FixedFrame, traits = 0): FixedFrame | undefined {
    return bytes === '' ? rest : new FixedFrame(bytes, 0, rest, traits)
  }

  override step(byte: number, below: Cell, out: Cells): void {
    if (byte !== this.#bytes.charCodeAt(this.#at)) return
    const next = this.#at + 1 < this.#bytes.length ? this.#further() : this.#rest
    out.add(next === undefined ? below : below.push(next))
  }

  /** Made where it is come to: of a thousand tools the names of most never are. */
  #further(): FixedFrame {
    this.#next ??= new FixedFrame(this.#bytes, this.#at + 1, this.#rest, this.traits)
    return this.#next
  }

  override next(_below: Cell, into: Set<number>): boolean {
    into.add(this.#bytes.charCodeAt(this.#at))
    return true
  }

  override spell(): Bytes {
    return this.#bytes.slice(this.#at) + (this.#rest?.spell() ?? '')
  }
}
