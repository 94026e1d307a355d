/**
 * Where a thread shows that it lives and what it is at, in memory that another thread reads: while it computes it hears
 * no messages and can send none.
 */

/** What a thread may be at for long, in words. */
export const STAGES = {
  prompt: 'reading its prompt (chat template, tokenizer)',
  compile: 'compiling its schemas, grammars or tools',
  mask: 'finding the tokens that its schema or grammar allows next',
  check: 'checking its answer against its schema',
  files: "reading the model's files",
} as const
export type Stage = keyof typeof STAGES

/** What a thread is at, and of which request or model. */
export interface Doing {
  readonly stage: Stage
  readonly of: string
}

/** Words of 32 bits: how often it has shown life, the number of the stage, and how many bytes of a name follow. */
const [BEATS, STAGE, LENGTH] = [0, 1, 2]
const HEAD_BYTES = 16
const NAME_BYTES = 240
const NAMES = Object.keys(STAGES) as Stage[]

let words: Int32Array | undefined
let name: Uint8Array | undefined
const encoder = new TextEncoder()
/** Of work within work the innermost counts. */
let current: Doing | undefined

/** From here on this thread shows in `memory` that it lives. */
export function showPulse(memory: SharedArrayBuffer): void {
  words = new Int32Array(memory, 0, HEAD_BYTES / 4)
  name = new Uint8Array(memory, HEAD_BYTES, NAME_BYTES)
}

/** To be called where work goes on before the event loop can run again. */
export function beat(): void {
  if (words) Atomics.add(words, BEATS, 1)
}

/** Does work during which nothing else happens, and shows meanwhile what it is. */
export function during<T>(stage: Stage, of: string, work: () => T): T {
  if (!words) return work()
  const before = current
  show({ stage, of })
  try {
    return work()
  } finally {
    show(before)
    beat()
  }
}

/** The same for work in slices. */
export function* inStage<T>(stage: Stage, of: string, work: Generator<void, T, void>): Generator<void, T, void> {
  for (;;) {
    const { done, value } = during(stage, of, () => work.next())
    if (done) return value
    yield
  }
}

function show(doing: Doing | undefined): void {
  current = doing
  // Meanwhile none, so that nobody reads the stage of one with the name of another.
  Atomics.store(words!, STAGE, 0)
  if (doing === undefined) return
  const bytes = encoder.encode(doing.of).subarray(0, NAME_BYTES)
  name!.set(bytes)
  Atomics.store(words!, LENGTH, bytes.length)
  Atomics.store(words!, STAGE, 1 + NAMES.indexOf(doing.stage))
}

/** What the other thread reads. */
export class Pulse {
  readonly memory = new SharedArrayBuffer(HEAD_BYTES + NAME_BYTES)
  readonly #words = new Int32Array(this.memory, 0, HEAD_BYTES / 4)

  get beats(): number {
    return Atomics.load(this.#words, BEATS)
  }

  get doing(): Doing | undefined {
    const stage = NAMES[Atomics.load(this.#words, STAGE) - 1]
    if (stage === undefined) return undefined
    const bytes = new Uint8Array(this.memory, HEAD_BYTES, Atomics.load(this.#words, LENGTH))
    // A copy: of shared memory no text can be made.
    return { stage, of: new TextDecoder().decode(bytes.slice()) }
  }
}
