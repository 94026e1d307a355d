/** Who waits, by caller, callers taking turns: whoever was served goes to the end. */
export class CallerLines {
  readonly #lines = new Map<string, (() => void)[]>()

  /** The returned function takes it out again, where it has not begun. */
  add(caller: string, begin: () => void): () => void {
    const line = this.#lines.get(caller)
    if (line) line.push(begin)
    else this.#lines.set(caller, [begin])
    return () => this.#remove(caller, begin)
  }

  #remove(caller: string, begin: () => void): void {
    const line = this.#lines.get(caller)
    const at = line?.indexOf(begin) ?? -1
    if (at < 0) return
    line!.splice(at, 1)
    if (line!.length === 0) this.#lines.delete(caller)
  }

  get empty(): boolean {
    return this.#lines.size === 0
  }

  /** Takes the next one out; undefined where nobody waits. */
  take(): (() => void) | undefined {
    const [next] = this.#lines
    if (!next) return undefined
    const [caller, line] = next
    this.#lines.delete(caller)
    const begin = line.shift()
    if (line.length > 0) this.#lines.set(caller, line)
    return begin
  }
}
