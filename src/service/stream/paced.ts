export interface Broken {
  readonly reason: unknown
}

export interface PacedSource {
  /**
   * Asks for what comes next; `deliver` is called once for each time. The text may be empty; after the `last` nothing is
   * asked. Callbacks, because every promise between a model and its reader is paid for each token. A stream that is
   * `broken` ends with that reason.
   */
  ask(deliver: (text: string, last: boolean, broken?: Broken) => void): void
  /** The reader has left, or is taken to have. */
  cancel(reason: unknown): void
}

/** How long a reader may leave a stream alone, and what is made of it then. */
export interface Patience {
  readonly ms: number
  readonly gaveUp: () => unknown
}

/** What is sent between two texts as often as nothing else was for so long. */
export interface SignOfLife {
  readonly ms: number
  readonly text: string
}

/**
 * Between two pieces that a reader is given. A model that takes longer for a token has each sent the moment it is there;
 * a faster one would spend its time on pieces that no eye can tell apart, each a write to a socket.
 */
export const PAUSE_MS = 3

/** Characters that are not kept back for the pause. */
export const MOST_GATHERED = 16_384

const encoder = new TextEncoder()

/**
 * Text as a byte stream that is pulled, and paced: the first text is passed on at once, and so is every other that comes
 * `PAUSE_MS` or more after the piece before it; what comes sooner is gathered until then. The source is asked only while
 * a reader waits, so that a slow one holds it back and memory stays flat. A reader that asks for nothing for longer than
 * the patience lasts has left; one that waits is given signs of life.
 */
export function paced(
  source: PacedSource,
  patience?: Patience,
  sign?: SignOfLife,
  begin = '',
): ReadableStream<Uint8Array> {
  const pacer = new Pacer(source, patience, sign, begin)
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => pacer.start(controller),
      pull: () => pacer.pull(),
      cancel: (reason) => pacer.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

class Pacer {
  readonly #source: PacedSource
  readonly #patience: Patience | undefined
  readonly #sign: SignOfLife | undefined
  readonly #deliver = (text: string, last: boolean, broken?: Broken) => this.#delivered(text, last, broken)
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #text: string
  #sentAt = Number.NEGATIVE_INFINITY
  /** A reader waits. */
  #wanted = false
  /** The source has been asked and has not answered. */
  #asking = false
  /** Nothing is left to ask for. */
  #over = false
  #left = false
  /** The last piece is on its way. */
  #closed = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #patienceTimer: ReturnType<typeof setTimeout> | undefined
  #signTimer: ReturnType<typeof setTimeout> | undefined

  /** `begin`: what is said before anything is asked for. */
  constructor(source: PacedSource, patience: Patience | undefined, sign: SignOfLife | undefined, begin: string) {
    this.#source = source
    this.#text = begin
    this.#patience = patience
    this.#sign = sign
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller
    this.#beginPatience()
  }

  pull(): void {
    if (this.#closed) return
    this.#wanted = true
    this.#goOn()
  }

  cancel(reason: unknown): void {
    this.#left = true
    this.#stopTimers()
    this.#source.cancel(reason)
  }

  #stopTimers(): void {
    for (const timer of [this.#timer, this.#patienceTimer, this.#signTimer]) clearTimeout(timer)
  }

  /** One timer that looks now and then: one for each piece would be paid for each token. */
  #beginPatience(): void {
    if (this.#patience === undefined) return
    const { ms, gaveUp } = this.#patience
    const began = performance.now()
    const look = () => {
      const left = Math.max(began, this.#sentAt) + ms - performance.now()
      if (this.#wanted || left > 0) {
        this.#patienceTimer = setTimeout(look, this.#wanted ? ms : left)
        return
      }
      const reason = gaveUp()
      this.cancel(reason)
      this.#controller!.error(reason)
    }
    this.#patienceTimer = setTimeout(look, ms)
  }

  /** As above, but only while a reader waits: one that was left alone may never be cancelled. */
  #beginSigns(sign: SignOfLife, began = performance.now()): void {
    const left = () => Math.max(began, this.#sentAt) + sign.ms - performance.now()
    this.#signTimer = setTimeout(() => {
      this.#signTimer = undefined
      if (!this.#wanted) return
      if (left() >= 1) {
        this.#beginSigns(sign, began)
        return
      }
      this.#text ||= sign.text
      this.#send()
    }, left())
  }

  #delivered(text: string, last: boolean, broken?: Broken): void {
    this.#asking = false
    if (this.#left) return
    if (broken) {
      this.#stopTimers()
      this.#controller!.error(broken.reason)
      return
    }
    this.#text += text
    this.#over = last
    // Its reader may have been given an earlier text meanwhile: this one waits for the next pull.
    if (this.#wanted) this.#goOn()
  }

  #goOn(): void {
    if (this.#over || (this.#text !== '' && this.#due())) this.#send()
    else {
      if (this.#text !== '') this.#timer ??= setTimeout(() => this.#send(), PAUSE_MS)
      if (this.#sign && !this.#signTimer) this.#beginSigns(this.#sign)
      if (this.#asking) return
      this.#asking = true
      this.#source.ask(this.#deliver)
    }
  }

  #due(): boolean {
    return this.#text.length >= MOST_GATHERED || performance.now() - this.#sentAt >= PAUSE_MS
  }

  #send(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const text = this.#text
    this.#text = ''
    this.#wanted = false
    this.#sentAt = performance.now()
    const last = this.#over
    this.#closed = last
    if (last) this.#stopTimers()
    // Whoever reads ahead pulls again in here: nothing of this pacer may be looked at or set after it.
    if (text !== '') this.#controller!.enqueue(encoder.encode(text))
    if (last) this.#controller!.close()
  }
}
