/** What a field may be read from: all that its text says of that kind, so that a model need only choose. */
import type { ExtractCall, ExtractField, TextSpan } from '../../contract/index.js'
import { inTurns, type ReadableKind, type Slices, type ValueReading } from '../../platform/index.js'

/** A text with more of them is a table; what is written is then looked up in it. */
const MOST = 4096

/** What may be written, and where the text says it. */
export type Readable = ReadonlyMap<string | number, readonly TextSpan[]>

/** Undefined: it is a stretch of any words. */
export function kindOf(field: ExtractField): ReadableKind | undefined {
  const kind = field.type === 'list' ? field.items : field.type
  return kind === 'text' ? undefined : kind
}

/** Each kind is looked for once, however many fields are of it. */
export class Readables {
  readonly #call: ExtractCall
  readonly #found = new Map<ReadableKind, Promise<Readable | undefined>>()

  constructor(call: ExtractCall) {
    this.#call = call
  }

  /** Undefined: any stretch may be written. Where the text says nothing of the kind, the model shows what comes nearest. */
  of(field: ExtractField): Promise<Readable | undefined> {
    const kind = kindOf(field)
    if (kind === undefined) return Promise.resolve(undefined)
    let found = this.#found.get(kind)
    if (!found) {
      found = this.#look(kind)
      this.#found.set(kind, found)
    }
    return found
  }

  async #look(kind: ReadableKind): Promise<Readable | undefined> {
    const { signal, caller } = this.#call
    return inTurns(readableIn(kind, this.#call, await import('../../platform/readers/index.js')), signal, caller)
  }
}

/** So many are read without a pause. */
const TOGETHER = 8

export function* readableIn(
  kind: ReadableKind,
  { state, locale, referenceDate: reference }: ExtractCall,
  { readValue, stretchesIn }: typeof import('../../platform/readers/index.js'),
): Slices<Readable | undefined> {
  const context = { around: state, ...(locale && { locale }), ...(reference && { reference }) }
  const readable = new Map<string | number, TextSpan[]>()
  // What stands in many places is read once.
  const numbers = new Map<string, number | undefined>()
  const numberIn = (text: string) => {
    if (!numbers.has(text)) numbers.set(text, numberOf(readValue({ type: 'number' }, text, context)))
    return numbers.get(text)
  }
  for (const [i, stretch] of (yield* stretchesIn(kind, state, context)).entries()) {
    if (i % TOGETHER === TOGETHER - 1) yield
    const text = state.slice(stretch.start, stretch.end)
    const written = kind === 'number' ? numberIn(text) : text
    if (written === undefined) continue
    const places = readable.get(written)
    if (places) places.push(stretch)
    else if (readable.size === MOST) return undefined
    else readable.set(written, [stretch])
  }
  return readable.size > 0 ? readable : undefined
}

const numberOf = ({ value, guess }: ValueReading): number | undefined => {
  const said = value ?? guess
  return typeof said === 'number' ? said : undefined
}
