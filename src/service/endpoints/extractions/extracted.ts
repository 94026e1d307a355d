/** From stretches of a text to values. */
import type { ExtractCall, ExtractField, FieldAnswer, TextSpan } from '../../../contract/index.js'
import {
  agreedReading,
  getOrMake,
  inTurns,
  type ReadableKind,
  readValue,
  type Slices,
  stretchesIn,
  type ValueReading,
  type ValueType,
} from '../../../platform/index.js'

/** What a model took for an answer, or for an item of a list. */
export interface AnswerStretch {
  /** What was written, where the text does not say it in so many words. */
  readonly text?: string
  /** Where the text says it: one place, or several in the same words. */
  readonly places: readonly TextSpan[]
  readonly confidence?: number
}

export interface ExtractedField {
  readonly field: ExtractField
  readonly call: ExtractCall
  /** Absent: the text has no such value. */
  readonly found: readonly AnswerStretch[] | undefined
  /** What it would be all the same. */
  readonly guess: readonly AnswerStretch[] | undefined
  readonly pNull: number | undefined
}

/** Pauses: the same words may stand in a text ten thousand times, and are read at each place. */
export function* answerOf({ field, call, found, guess, pNull }: ExtractedField): Slices<FieldAnswer> {
  const absent = pNull === undefined ? {} : { pNull }
  const none = found === undefined || (pNull !== undefined && pNull >= field.nullThreshold)
  const stretches = eachPlaceOnce(found ?? guess ?? [])
  // A list may say the same again and again.
  const known = new Map<AnswerStretch['text' | 'places'], ValueReading>()
  const readings: ValueReading[] = []
  for (const stretch of stretches) {
    const words = stretch.text ?? stretch.places
    const reading = known.get(words) ?? (yield* readingOf(field, stretch, call))
    known.set(words, reading)
    readings.push(reading)
  }
  if (field.type === 'list') {
    const values = readings.map(({ value }) => value)
    // A list that lacks what could not be read would be a wrong one.
    if (none || values.length === 0 || values.includes(null)) return { value: null, ...absent }
    const sure = stretches.map(({ confidence }) => confidence)
    const confidence = sure.every((one) => one !== undefined) ? { confidence: sure.reduce((a, b) => a * b, 1) } : {}
    const items = stretches.map(({ confidence, places }) => ({
      ...(confidence !== undefined && { confidence }),
      ...spanOf(places),
    }))
    return { value: values as (string | number)[], ...confidence, ...absent, items }
  }
  const [stretch, reading] = [stretches[0], readings[0]]
  if (!stretch || !reading) return { value: null, ...absent }
  const likely = reading.value ?? reading.guess
  const value = none ? null : reading.value
  return {
    value,
    ...(likely !== undefined && { guess: likely }),
    // How sure a stretch is says nothing of a null that was read from it.
    ...(found && value !== null && stretch.confidence !== undefined && { confidence: stretch.confidence }),
    ...absent,
    ...(found && spanOf(stretch.places)),
  }
}

/** A place is an item once, and words that stand in several places are as many: small models go round in circles. */
function eachPlaceOnce(stretches: readonly AnswerStretch[]): readonly AnswerStretch[] {
  const taken = new Map<string, number>()
  return stretches.filter(({ places }) => {
    // The same words have the same places, of which there may be ten thousand.
    const key = `${places[0]?.start} ${places[0]?.end} ${places.length}`
    const times = taken.get(key) ?? 0
    taken.set(key, times + 1)
    return places.length === 0 || times < places.length
  })
}

/** Where the same words stand in several places, nothing tells which are meant. */
const spanOf = (places: readonly TextSpan[]) => (places.length === 1 ? { span: places[0]! } : {})

/** Whether a stretch says such a value at all. */
export function* saysOne(field: ExtractField, stretch: AnswerStretch, call: ExtractCall): Slices<boolean> {
  const { value, guess } = yield* readingOf(field, stretch, call)
  return value !== null || guess !== undefined
}

/** What a stretch says; in several places it must say the same. */
function* readingOf(field: ExtractField, { text, places }: AnswerStretch, call: ExtractCall): Slices<ValueReading> {
  const { referenceDate: reference, locale, state: around } = call
  const [first] = places
  const wanted = wantedOf(field)
  if (wanted === undefined) {
    const value = first ? around.slice(first.start, first.end) : text!
    return first || around.includes(value) ? { value } : { value: null, guess: value }
  }
  const context = { around, ...(reference && { reference }), ...(locale && { locale }) }
  if (!first) return readValue(wanted, text!, context)
  // What stands alike, what is beside it included, is read once.
  const readings = new Map<string, ValueReading>()
  for (const [i, { start, end }] of places.entries()) {
    if (i % TOGETHER === TOGETHER - 1) yield
    const written = around.slice(start, end)
    const beside = { before: around.slice(Math.max(0, start - BESIDE), start), behind: around.slice(end, end + BESIDE) }
    const key = `${beside.before}\0${written}\0${beside.behind}`
    getOrMake(readings, key, () => readValue(wanted, written, { ...context, beside }))
  }
  return agreedReading([...readings.values()])!
}

/** A unit beside a number is no longer, nor what makes a date part of another. */
const BESIDE = 32

function wantedOf(field: ExtractField): ValueType | undefined {
  if (field.type === 'number' || field.type === 'duration') return field
  if (field.type !== 'list') return field.type === 'text' ? undefined : { type: field.type }
  const { integer, decimals } = field
  if (field.items === 'text') return undefined
  if (field.items === 'date') return { type: 'date' }
  return { type: 'number', ...(integer && { integer }), ...(decimals !== undefined && { decimals }) }
}

// What a field may be read from: all that its text says of that kind, so that a model need only choose.

/** A text with more of them is a table; what is written is then looked up in it. */
const MOST = 4096

/** What may be written, and where the text says it. */
export type Readable = ReadonlyMap<string | number, readonly TextSpan[]>

/** Undefined: it is a stretch of any words. */
export function readableKindOf(field: ExtractField): ReadableKind | undefined {
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
    const kind = readableKindOf(field)
    if (kind === undefined) return Promise.resolve(undefined)
    const { signal, caller } = this.#call
    return getOrMake(this.#found, kind, () => inTurns(readableIn(kind, this.#call), signal, caller))
  }
}

/** So many are read without a pause. */
const TOGETHER = 8

export function* readableIn(
  kind: ReadableKind,
  { state, locale, referenceDate: reference }: ExtractCall,
  read = readValue,
): Slices<Readable | undefined> {
  const context = { around: state, ...(locale && { locale }), ...(reference && { reference }) }
  const readable = new Map<string | number, TextSpan[]>()
  // What stands in many places is read once.
  const numbers = new Map<string, number | undefined>()
  const numberIn = (text: string) => {
    if (!numbers.has(text)) numbers.set(text, numberOf(read({ type: 'number' }, text, context)))
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
  const likely = value ?? guess
  return typeof likely === 'number' ? likely : undefined
}
