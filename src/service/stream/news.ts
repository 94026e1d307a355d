import { type Deadlines, inTime } from './abort.js'
import { type PulledSource, readableOf } from './sse.js'

/** Something that takes long tells of every piece of it: more than ten times a second nobody can read. */
const TELL_MS = 100

/** The newest word of something that takes long, for a reader who comes when it can. */
export class News<Word> {
  over = false
  error: unknown
  #latest: Word | undefined
  #reportedAt = 0
  #wake: (() => void) | undefined

  tell(word: Word): void {
    this.#latest = word
    this.#wake?.()
  }

  end(error?: unknown): void {
    this.over = true
    this.error = error
    this.#wake?.()
  }

  /** Until there is something to tell. */
  async wait(): Promise<void> {
    const early = TELL_MS - (performance.now() - this.#reportedAt)
    if (!this.over && this.#reportedAt > 0 && early > 0) await this.#sleep(early)
    while (!this.over && this.#latest === undefined) await this.#sleep()
  }

  /** Undefined at the end, and where nothing was waited for. */
  take(): Word | undefined {
    const word = this.#latest
    this.#latest = undefined
    this.#reportedAt = performance.now()
    return word
  }

  /** Woken by the end, and, where no time is given, by the next word. */
  #sleep(ms?: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === undefined ? undefined : setTimeout(resolve, ms)
      this.#wake = () => {
        if (timer !== undefined && !this.over) return
        clearTimeout(timer)
        this.#wake = undefined
        resolve()
      }
    })
  }
}

export interface NewsReader<Word> {
  /** Until when it waits for each word. @default for ever */
  readonly deadlines?: Deadlines
  /** What is sent before anything else. @default nothing */
  readonly first?: string
  /** What is sent of a word. */
  show(word: Word): string
  /** What is sent last: what went wrong is absent where nothing did. */
  last(error: unknown): string
  left(): void
}

/** The news as a stream, its end included. */
export function newsStream<Word>(news: News<Word>, reader: NewsReader<Word>): ReadableStream<Uint8Array> {
  let { first = '' } = reader
  const { deadlines } = reader
  let closed = false
  const pull: PulledSource['pull'] = async () => {
    if (closed) return undefined
    if (first !== '') {
      const words = first
      first = ''
      return words
    }
    try {
      await (deadlines ? inTime(news.wait(), deadlines) : news.wait())
    } catch (error) {
      news.end(error)
    }
    const word = news.take()
    if (word !== undefined) return reader.show(word)
    closed = true
    return reader.last(news.error)
  }
  return readableOf({ pull, cancel: () => reader.left() })
}
