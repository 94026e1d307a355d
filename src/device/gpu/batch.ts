/** The words of `kernels/meta.ts` for a batch. */

import type { Batch } from '../contract.js'
import { META_HEADER, META_LISTS } from './kernels/meta.js'

export class BatchWords {
  readonly rows: number
  readonly steady: boolean
  readonly words: Uint32Array<ArrayBuffer>
  readonly lastPosition: number
  readonly #lengths: readonly number[]
  readonly #tiles = new Map<boolean, { readonly rows: number; readonly count: number }>()

  constructor(batch: Batch) {
    let rows = 0
    let pages = 0
    for (const span of batch.spans) {
      rows += span.tokens.length
      pages += span.pages.length + (span.windowPages?.length ?? 0)
    }
    this.rows = rows
    this.steady = batch.steady ?? false
    this.#lengths = batch.spans.map(({ tokens }) => tokens.length)
    this.lastPosition = Math.max(...batch.spans.map(({ tokens, position }) => position + tokens.length - 1))
    this.words = new Uint32Array(META_HEADER + META_LISTS * rows + pages)
    this.words[0] = rows
    this.#fill(batch)
  }

  #fill({ spans }: Batch): void {
    const { words, rows } = this
    let first = 0
    words[4] = spans.length
    spans.forEach(({ tokens: { length }, state }, i) => {
      words[META_HEADER + 7 * rows + i] = first | (length << 16)
      for (let k = 0; state && k < length; k++) {
        words[META_HEADER + 8 * rows + first + k] = (state.from + 1) | ((state.each?.[k] ?? state.to) << 16)
      }
      first += length
    })
    let row = 0
    let page = 0
    for (const { tokens, position, pages, windowPages, places } of spans) {
      words.set(pages, META_HEADER + META_LISTS * rows + page)
      if (windowPages) words.set(windowPages, META_HEADER + META_LISTS * rows + page + pages.length)
      for (let i = 0; i < tokens.length; i++, row++) {
        words[META_HEADER + row] = tokens[i]!
        words[META_HEADER + rows + row] = position + i
        words[META_HEADER + 2 * rows + row] = page
        words[META_HEADER + 5 * rows + row] = places?.[i] ?? position + i
        words[META_HEADER + 6 * rows + row] = position + tokens.length - 1
        words[META_HEADER + 10 * rows + row] = page + pages.length
      }
      page += pages.length + (windowPages?.length ?? 0)
    }
  }

  get spans(): number {
    return this.#lengths.length
  }

  /** The first row of each span. */
  get firsts(): Int32Array {
    let row = 0
    return Int32Array.from(this.#lengths, (length) => {
      row += length
      return row - length
    })
  }

  /** Every sequence has one row. */
  get single(): boolean {
    return this.#lengths.every((length) => length === 1)
  }

  /**
   * Tiles of so many rows of one sequence: how many there are. Heads are of one size, or else of two. `read`: how many have
   * one of these rows. They come first in the list then: who takes all of them takes them in any order.
   */
  tile(rows: number, splits: number, large: boolean, read?: Int32Array): number {
    const list = META_HEADER + (large ? 9 : 4) * this.rows
    const known = this.#tiles.get(large)
    if (known && known.rows !== rows) throw new Error('Attention of a pass has tiles of one size.')
    const count = known?.count ?? this.#cut(rows, list)
    if (!known) this.words[3] = splits
    this.#tiles.set(large, { rows, count })
    if (!read) return count
    const tiles = this.words.subarray(list, list + count)
    const has = (tile: number) => read.some((row) => row >= (tile & 0xffff) && row < (tile & 0xffff) + (tile >>> 16))
    const first = tiles.filter(has)
    tiles.set([...first, ...tiles.filter((tile) => !has(tile))])
    return first.length
  }

  #cut(rows: number, list: number): number {
    let count = 0
    let row = 0
    for (const length of this.#lengths) {
      for (let i = 0; i < length; i += rows) {
        this.words[list + count++] = (row + i) | (Math.min(rows, length - i) << 16)
      }
      row += length
    }
    return count
  }

  /** Rows of which logits are made, or with which the spans begin. */
  gather(rows: Int32Array): void {
    this.words[1] = rows.length
    this.words.set(rows, META_HEADER + 3 * this.rows)
  }
}
