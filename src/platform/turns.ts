/** Who waits, by caller, callers taking turns: whoever was served goes to the end. */
import { getOrMake } from './maps.js'
export class CallerLines {
  readonly #lines = new Map<string, (() => void)[]>()

  /** The returned function takes it out again, where it has not begun. */
  add(caller: string, begin: () => void): () => void {
    getOrMake(this.#lines, caller, () => []).push(begin)
    return () => this.#remove(caller, begin)
  }

  #remove(caller: string, begin: () => void): void {
    const line = this.#lines.get(caller)
    const at = line?.indexOf(begin) ?? -1
    if (at < 0) return
    line!.splice(at, 1)
    if (line!.length === 0) this.#lines.delete(caller)
  }

  /** Whether somebody waits for this one. */
  has(caller: string): boolean {
    return this.#lines.has(caller)
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

/** Work that pauses wherever it may be left. */
export type Slices<T> = Generator<void, T, void>

/** Few enough that to look at so many takes a millisecond or so. */
const TOGETHER = 500

/** `list.map(one)`, with a pause after every so many. */
export function* mapped<T, U>(list: readonly T[], one: (item: T, place: number) => U): Slices<U[]> {
  const made: U[] = []
  for (let place = 0; place < list.length; place++) {
    if (place % TOGETHER === TOGETHER - 1) yield
    made.push(one(list[place]!, place))
  }
  return made
}

/** Does the work at once, without a pause. */
export function atOnce<T>(work: Slices<T>): T {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}

/** Calls back in another turn of the event loop. */
let later: ((go: () => void) => void) | undefined
let next: Promise<void> | undefined

/**
 * Lets the event loop run once. A model on the CPU answers in microtasks alone, and would keep sockets, timers and abort
 * signals waiting until the whole answer is there.
 */
export function breathe(): Promise<void> {
  later ??= makeLater()
  // Whoever asks before it comes waits for the same turn.
  next ??= new Promise((resolve) => {
    later!(() => {
      next = undefined
      resolve()
    })
  })
  return next
}

/** Few enough that sockets, timers and a model's steps do not wait long, and enough for a thousand requests a second. */
export const BEGIN_PER_TURN = 16

/**
 * Where requests begin, or are taken back: so many in each turn of the event loop, callers taking turns. A socket layer
 * hands over all that has come at once, and whoever sends three hundred requests would keep everybody else waiting for all
 * of them, if only to be refused.
 */
export class Entrance {
  readonly #lines = new CallerLines()
  readonly #perTurn: number
  #begun = 0

  constructor(perTurn = BEGIN_PER_TURN) {
    this.#perTurn = perTurn
  }

  /** Nothing to wait for, or what to wait for. */
  enter(caller: string): Promise<void> | undefined {
    if (this.#begun === this.#perTurn) return new Promise((resolve) => this.#lines.add(caller, resolve))
    if (this.#begun++ === 0) void breathe().then(this.#turn)
    return undefined
  }

  readonly #turn = (): void => {
    this.#begun = 0
    for (; this.#begun < this.#perTurn; this.#begun++) {
      const begin = this.#lines.take()
      if (!begin) break
      begin()
    }
    if (this.#begun > 0) void breathe().then(this.#turn)
  }
}

/**
 * The text of each answer that is whole, for a server that can send it in the turn in which it is there: read from the
 * `Response`, it would come as a stream, piece by piece, each with turns of its own.
 */
export const wholeTexts = new WeakMap<Response, string>()

/**
 * Calls back before the event loop goes on, once promises that are settled have been followed as far as they go: in Node,
 * Deno and Bun to the end, elsewhere as far as who was woken together gets together.
 */
export function whenTurnEnds(callback: () => void): void {
  const { nextTick } = (globalThis as { process?: { nextTick?(callback: () => void): void } }).process ?? {}
  if (nextTick) nextTick(callback)
  else queueMicrotask(() => queueMicrotask(callback))
}

/** Who waits for a turn of its own, by whom it works for. */
const lines = new CallerLines()
let serving = false

/** How many take steps, one in each turn, that somebody waits for. */
let stepping = 0

/** What slices have taken, in milliseconds, that others have not had yet. */
let owed = 0

/** What each has begun of late without a turn of its own, in milliseconds. */
const begun = new Map<string, number>()

/** More than the short pieces of one request take, and less than anybody notices who waits for as much of each caller. */
export const BEGIN_MS = 5

/** A computer that slept in the middle of a slice is no reason to rest for as long. */
const MOST_OWED_MS = 1000

/**
 * Turns that are left to whatever else comes. Of all connections that wait, Node's event loop accepts one in each turn,
 * and what is sent on it is read in the next: with one turn for each slice, whoever connects would wait for as many slices
 * as others have opened connections before.
 */
export const TURNS_BETWEEN = 32

/** What these turns may take at most, of the time of the slice before. */
export const FOR_OTHERS = 4

/** What steps have, of that time, where somebody takes some: most slices are of prompts that are long, or refused. */
export const FOR_STEPS = 2

/**
 * Somebody takes steps from now on, one in each turn of the event loop, until the returned function is called: a model
 * that writes. Work in slices leaves these steps twice the time that it takes itself.
 */
export function beginSteps(): () => void {
  stepping++
  let over = false
  return () => {
    if (!over) stepping--
    over = true
  }
}

/**
 * Waits for a turn of the event loop that nobody else has: of all who wait here, one goes on per turn. Whoever works in
 * slices and asks before each holds everybody else up for one slice, however many do the same. Callers take turns, so
 * that the work of many requests of one is not all done before that of another. Also for work that cannot pause.
 */
export function myTurn(signal: AbortSignal | undefined, caller = ''): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    // Whoever has left is not to have a turn first: others would wait for it.
    const leave = () => {
      remove()
      reject(signal!.reason)
    }
    const remove = lines.add(caller, () => {
      signal?.removeEventListener('abort', leave)
      resolve()
    })
    signal?.addEventListener('abort', leave, { once: true })
    void serve()
  })
}

async function serve(): Promise<void> {
  if (serving) return
  serving = true
  do {
    await rest()
    begun.clear()
    lines.take()?.()
  } while (!lines.empty)
  serving = false
}

/**
 * A step is short and a slice may be long: one of each in turn would leave a model a twentieth of the time. The same holds
 * for connections, whose turns take long where many come at once; these get more of it, as each waits for all before it.
 */
async function rest(): Promise<void> {
  await breathe()
  const began = performance.now()
  const due = Math.min(owed, MOST_OWED_MS)
  owed = 0
  for (let turns = 1; ; turns++) {
    const taken = performance.now() - began
    const stepsHaveTheirs = stepping === 0 || taken >= Math.min(due * FOR_STEPS, MOST_OWED_MS)
    const othersHaveTheirs = turns >= TURNS_BETWEEN || taken >= due * FOR_OTHERS
    if (stepsHaveTheirs && othersHaveTheirs) return
    await breathe()
  }
}

/**
 * Does the work with a turn of the event loop at each pause, callers in turns; leaves it there once the signal has aborted,
 * where somebody may leave. It begins at once, so that who is new waits for its turns only, not before each short piece.
 * Who has others of its caller before it is in line with them, and so is who has begun much of late: a crowd that leaves
 * again would otherwise have as many beginnings in a row, with nobody of it in line for long.
 */
export async function inTurns<T>(work: Slices<T>, signal: AbortSignal | undefined, caller = ''): Promise<T> {
  let waits = lines.has(caller) || (begun.get(caller) ?? 0) >= BEGIN_MS
  for (;;) {
    if (waits) await myTurn(signal, caller)
    signal?.throwIfAborted()
    const { done, value } = slice(work, caller, !waits)
    if (done) return value
    waits = true
  }
}

/** A refusal may have taken as long as what it refuses. */
function slice<T>(work: Slices<T>, caller: string, begins: boolean): IteratorResult<void, T> {
  const from = performance.now()
  try {
    return work.next()
  } finally {
    const taken = performance.now() - from
    owed += taken
    if (begins) {
      begun.set(caller, (begun.get(caller) ?? 0) + taken)
      if (owed >= BEGIN_MS) void serve()
    }
  }
}

function makeLater(): (go: () => void) => void {
  // A Cloudflare Worker forgets a call or a message with the request that began it; others would wait for it for ever.
  if (globalThis.navigator?.userAgent === 'Cloudflare-Workers') return queueMicrotask
  const immediate = (globalThis as { setImmediate?: (callback: () => void) => unknown }).setImmediate
  if (immediate !== undefined) return immediate
  // A browser's timers wait four milliseconds; a message does not.
  const channel = new MessageChannel()
  let waiting: (() => void) | undefined
  channel.port1.onmessage = () => waiting!()
  return (go) => {
    waiting = go
    channel.port2.postMessage(null)
  }
}
