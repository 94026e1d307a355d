/** What a field may be read from: all that its text says of that kind, so that a model need only choose. */
import type { ExtractCall, ExtractField, TextSpan } from '../engine.js'
import { inTurns } from '../platform/turns.js'
import type { ReadableKind, ValueReading } from '../readers/index.js'

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
    const { state, locale, referenceDate, signal, caller } = this.#call
    const { readValue, stretchesIn } = await import('../readers/index.js')
    const context = { around: state, ...(locale && { locale }), ...(referenceDate && { reference: referenceDate }) }
    const stretches = await inTurns(stretchesIn(kind, state, context), signal, caller)
    const readable = new Map<string | number, TextSpan[]>()
    for (const stretch of stretches) {
      const text = state.slice(stretch.start, stretch.end)
      const written = kind === 'number' ? numberOf(readValue({ type: 'number' }, text, context)) : text
      if (written === undefined) continue
      const places = readable.get(written)
      if (places) places.push(stretch)
      else readable.set(written, [stretch])
    }
    return readable.size > 0 && readable.size <= MOST ? readable : undefined
  }
}

const numberOf = ({ value, guess }: ValueReading): number | undefined => {
  const said = value ?? guess
  return typeof said === 'number' ? said : undefined
}
