/** Words whose tokens are kept. */
const MOST = 20_000

/**
 * What the library's byte-pair model keeps its words in, with the methods that it calls. Its own cache moves a word to
 * the end of a Map each time it is used, and takes a hundred times longer for each once it is full; this one forgets all
 * words at once, which costs one word in twenty thousand its place.
 */
export class WordCache {
  readonly #words = new Map<string, string[]>()

  get(word: string): string[] | undefined {
    return this.#words.get(word)
  }

  put(word: string, tokens: string[]): void {
    if (this.#words.size >= MOST) this.#words.clear()
    this.#words.set(word, tokens)
  }

  clear(): void {
    this.#words.clear()
  }
}
