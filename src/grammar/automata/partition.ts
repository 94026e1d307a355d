/** A refinable partition of 0..n-1: mark elements, then split every set into its marked and its unmarked part. */

export class Partition {
  /** Elements, set by set. */
  readonly elements: Uint32Array
  /** The set of each element. */
  readonly setOf: Uint32Array
  readonly first: Uint32Array
  readonly past: Uint32Array
  count: number
  private readonly location: Uint32Array
  private readonly marked: Uint32Array
  private readonly touched: Uint32Array
  private touchedCount = 0

  constructor(size: number) {
    this.elements = new Uint32Array(size)
    for (let i = 0; i < size; i++) this.elements[i] = i
    this.location = this.elements.slice()
    this.setOf = new Uint32Array(size)
    this.first = new Uint32Array(size + 1)
    this.past = new Uint32Array(size + 1)
    this.marked = new Uint32Array(size + 1)
    this.touched = new Uint32Array(size + 1)
    this.past[0] = size
    this.count = size > 0 ? 1 : 0
  }

  /** The initial sets: the elements in order, cut at these ends. */
  cut(ends: readonly number[]): void {
    this.count = 0
    let from = 0
    for (const end of ends) {
      if (end === from) continue
      this.first[this.count] = from
      this.past[this.count] = end
      this.setOf.fill(this.count, from, end)
      this.count++
      from = end
    }
  }

  mark(element: number): void {
    const set = this.setOf[element]!
    const i = this.location[element]!
    const j = this.first[set]! + this.marked[set]!
    if (i < j) return
    const other = this.elements[j]!
    this.elements[i] = other
    this.location[other] = i
    this.elements[j] = element
    this.location[element] = j
    if (this.marked[set]!++ === 0) this.touched[this.touchedCount++] = set
  }

  /** The smaller part of each touched set becomes a new set. */
  split(): void {
    while (this.touchedCount > 0) {
      const set = this.touched[--this.touchedCount]!
      const middle = this.first[set]! + this.marked[set]!
      const marked = this.marked[set]!
      this.marked[set] = 0
      if (middle === this.past[set]!) continue
      if (marked <= this.past[set]! - middle) {
        this.first[this.count] = this.first[set]!
        this.past[this.count] = this.first[set] = middle
      } else {
        this.past[this.count] = this.past[set]!
        this.first[this.count] = this.past[set] = middle
      }
      for (let i = this.first[this.count]!; i < this.past[this.count]!; i++) this.setOf[this.elements[i]!] = this.count
      this.count++
    }
  }
}
