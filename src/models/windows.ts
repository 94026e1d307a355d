/**
 * Pages of layers that see a window. A sequence needs those of its last window; the others stay for as long as there is
 * room, so that it can be cut: to where a whole window is left. Who has lost some of the window begins anew.
 */
import { PAGE } from '../device/index.js'
import { GONE, PageList, PagePool, type PagesChanged } from './pages.js'

export class WindowPool extends PagePool {
  readonly window: number
  readonly #lists = new Set<WindowList>()
  #turn = 0

  constructor(pages: number, window: number) {
    super(pages)
    this.window = window
  }

  /** What these sequences see is nobody's to take before the next turn. */
  begin(lists: readonly WindowList[]): void {
    this.#turn++
    for (const list of lists) list.used = this.#turn
  }

  add(list: WindowList): void {
    list.used = this.#turn
    this.#lists.add(list)
  }

  remove(list: WindowList): void {
    this.#lists.delete(list)
  }

  override take(): number {
    if (this.free === 0) this.#reclaim()
    return super.take()
  }

  /** A page, from who was idle longest: first what nobody sees, then that to which a prompt was read, then all of one. */
  #reclaim(): void {
    const lists = [...this.#lists].sort((a, b) => a.used - b.used)
    for (const kept of [true, false]) {
      for (const list of lists) while (list.forget(kept)) if (this.free > 0) return
    }
    for (const list of lists) {
      if (list.used === this.#turn) return
      list.lose()
      if (this.free > 0) return
    }
  }
}

export class WindowList extends PageList {
  readonly #pool: WindowPool
  /** Called when it had to give up what it sees. */
  readonly #onFall: () => void
  /** The turn in which it was last of use. */
  used = 0
  /** Where the last pass began: what that sees is still read. */
  #begin = 0
  /** Where the last prompt ended: more answers begin there. */
  #prompt = 0

  constructor(pool: WindowPool, onFall: () => void) {
    super(pool)
    this.#pool = pool
    this.#onFall = onFall
    pool.add(this)
  }

  override append(length: number, tokens: number, changed: PagesChanged): void {
    this.#begin = length
    if (tokens >= PAGE) this.#prompt = length + tokens
    super.append(length, tokens, changed)
  }

  override shareWith(other: WindowList): void {
    super.shareWith(other)
    this.#begin = other.#begin
    this.#prompt = other.#prompt
  }

  override cut(length: number): void {
    super.cut(length)
    this.#begin = Math.min(this.#begin, length)
    this.#prompt = Math.min(this.#prompt, length)
  }

  close(): void {
    this.cut(0)
    this.#pool.remove(this)
  }

  /** The longest that it can be cut to and be no longer than `length`: all that the next token sees is there. */
  reach(length: number): number {
    const { pages } = this
    for (let left = length; left > 0; ) {
      const first = this.#firstSeen(left, 0)
      let missing = Math.ceil(left / PAGE) - 1
      while (missing >= first && pages[missing] !== GONE) missing--
      if (missing < first) return left
      left = missing * PAGE
    }
    return 0
  }

  /** Gives back the first page that nobody sees; with `kept` none that is seen from where the last prompt ended. */
  forget(kept: boolean): boolean {
    const { pages } = this
    const end = this.#firstSeen(this.#begin)
    const [from, to] = kept ? [this.#firstSeen(this.#prompt), Math.ceil(this.#prompt / PAGE)] : [0, 0]
    for (let i = 0; i < end; i++) {
      if (pages[i] === GONE || (i >= from && i < to)) continue
      this.giveBack(i)
      return true
    }
    return false
  }

  /** Gives back all. */
  lose(): void {
    this.cut(0)
    this.#onFall()
  }

  /** The first page that a token at `position` sees, or would if as many were taken back as soon may be: drafts, steps ahead. */
  #firstSeen(position: number, back = PAGE): number {
    return Math.floor(Math.max(0, position + 1 - this.#pool.window - back) / PAGE)
  }
}
