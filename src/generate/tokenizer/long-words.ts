import type { Slices } from '../../platform/index.js'

/** What of the library's byte-pair model decides which pairs merge. */
export interface MergeModel {
  readonly merges: readonly (readonly [string, string] | readonly string[])[]
  readonly tokens_to_ids: ReadonlyMap<string, number>
}

/** Characters or merges between two pauses. */
const SLICE = 4096
/** Symbols are numbered below it: a pair of them is one number. */
const PAIR = 2 ** 26
/** Places in a word are numbered below it, so that a rank and a place are one number. */
const PLACE = 2 ** 31

/**
 * Merges a word of any length, by the same rule as the library and to the same tokens: of all pairs the one with the
 * lowest rank, and of those the leftmost. The library does it at once and spells each pair out as JSON; this one pauses,
 * and takes a tenth of the time. SentencePiece's models take a whole text for one word.
 */
export class LongWords {
  readonly #model: MergeModel
  #ranks: Ranks | undefined

  constructor(model: MergeModel) {
    this.#model = model
  }

  /** The tokens of a word, by name: single characters may be none that the vocabulary knows. */
  *of(word: string): Slices<string[]> {
    const ranks = yield* this.#known()
    const names = new Map<string, number>()
    const symbols: number[] = []
    const texts: string[] = []
    for (const character of word) {
      let symbol = ranks.symbols.get(character) ?? names.get(character)
      if (symbol === undefined) {
        symbol = ranks.names.length + names.size
        names.set(character, symbol)
      }
      symbols.push(symbol)
      texts.push(character)
      if (symbols.length % SLICE === 0) yield
    }
    const size = symbols.length
    const next = new Int32Array(size)
    const before = new Int32Array(size)
    for (let place = 0; place < size; place++) {
      next[place] = place + 1
      before[place] = place - 1
    }
    const waiting = new Heap()
    const look = (place: number) => {
      const other = next[place]!
      if (other >= size) return
      const rank = ranks.of.get(symbols[place]! * PAIR + symbols[other]!)
      if (rank !== undefined) waiting.add(rank * PLACE + place)
    }
    for (let place = 0; place < size; place++) {
      look(place)
      if (place % SLICE === SLICE - 1) yield
    }
    for (let steps = 1; waiting.size > 0; steps++) {
      if (steps % SLICE === 0) yield
      const first = waiting.take()
      const rank = Math.floor(first / PLACE)
      const place = first % PLACE
      const other = next[place]!
      // One of the two may have merged with another neighbour since.
      if (symbols[place]! < 0 || other >= size) continue
      if (ranks.of.get(symbols[place]! * PAIR + symbols[other]!) !== rank) continue
      symbols[place] = ranks.merged[rank]!
      texts[place] = ranks.names[symbols[place]!]!
      symbols[other] = -1
      next[place] = next[other]!
      if (next[place]! < size) before[next[place]!] = place
      if (before[place]! >= 0) look(before[place]!)
      look(place)
    }
    const found: string[] = []
    for (let place = 0; place < size; place = next[place]!) {
      found.push(texts[place]!)
      if (found.length % SLICE === 0) yield
    }
    return found
  }

  /** Made for the first long word: most prompts have none. */
  *#known(): Slices<Ranks> {
    if (this.#ranks !== undefined) return this.#ranks
    const { merges, tokens_to_ids: vocabulary } = this.#model
    const symbols = new Map<string, number>()
    const names: string[] = []
    const symbolOf = (name: string) => {
      let symbol = symbols.get(name)
      if (symbol === undefined) {
        symbol = names.length
        symbols.set(name, symbol)
        names.push(name)
      }
      return symbol
    }
    for (const name of vocabulary.keys()) {
      symbolOf(name)
      if (names.length % SLICE === 0) yield
    }
    const of = new Map<number, number>()
    const merged = new Int32Array(merges.length)
    for (const [rank, [left = '', right = '']] of merges.entries()) {
      // Of a pair that is listed twice the library goes by the last.
      of.set(symbolOf(left) * PAIR + symbolOf(right), rank)
      merged[rank] = symbolOf(left + right)
      if (rank % SLICE === SLICE - 1) yield
    }
    this.#ranks = { symbols, names, of, merged }
    return this.#ranks
  }
}

interface Ranks {
  readonly symbols: ReadonlyMap<string, number>
  readonly names: readonly string[]
  /** By pair. */
  readonly of: ReadonlyMap<number, number>
  /** What a pair becomes, by rank. */
  readonly merged: Int32Array
}

/** Numbers, the least first. */
class Heap {
  readonly #numbers: number[] = []

  get size(): number {
    return this.#numbers.length
  }

  add(number: number): void {
    const numbers = this.#numbers
    let at = numbers.length
    numbers.push(number)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (numbers[parent]! <= number) break
      numbers[at] = numbers[parent]!
      at = parent
    }
    numbers[at] = number
  }

  take(): number {
    const numbers = this.#numbers
    const least = numbers[0]!
    const last = numbers.pop()!
    const size = numbers.length
    if (size === 0) return least
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= size) break
      if (child + 1 < size && numbers[child + 1]! < numbers[child]!) child++
      if (numbers[child]! >= last) break
      numbers[at] = numbers[child]!
      at = child
    }
    numbers[at] = last
    return least
  }
}
