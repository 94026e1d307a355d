/** From stretches of a text to values. */
import type { ExtractCall, ExtractField, FieldAnswer, TextSpan } from '../../contract/index.js'
import { oneOf, type readValue, type ValueReading, type ValueType } from '../../platform/index.js'

/** What a model took for an answer. */
export interface SaidStretch {
  /** What was written, where the text does not say it in so many words. */
  readonly text?: string
  /** Where the text says it: one place, or several in the same words. */
  readonly places: readonly TextSpan[]
  readonly confidence?: number
}

export interface Said {
  readonly field: ExtractField
  readonly call: ExtractCall
  /** Absent: that the text says nothing of it. */
  readonly said: readonly SaidStretch[] | undefined
  /** What it would be all the same. */
  readonly guess: readonly SaidStretch[] | undefined
  readonly pNull: number | undefined
}

export function answerOf({ field, call, said, guess, pNull }: Said, read: typeof readValue): FieldAnswer {
  const absent = pNull === undefined ? {} : { pNull }
  const none = said === undefined || (pNull !== undefined && pNull >= field.nullThreshold)
  const stretches = said ?? guess ?? []
  const readings = stretches.map((stretch) => readingOf(field, stretch, call, read))
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
    ...(said && value !== null && stretch.confidence !== undefined && { confidence: stretch.confidence }),
    ...absent,
    ...(said && spanOf(stretch.places)),
  }
}

/** Where the same words stand in several places, nothing tells which are meant. */
const spanOf = (places: readonly TextSpan[]) => (places.length === 1 ? { span: places[0]! } : {})

/** What a stretch says; in several places it must say the same. */
function readingOf(
  field: ExtractField,
  { text, places }: SaidStretch,
  call: ExtractCall,
  read: typeof readValue,
): ValueReading {
  const { referenceDate: reference, locale, state: around } = call
  const [first] = places
  const wanted = wantedOf(field)
  if (wanted === undefined) {
    const said = first ? around.slice(first.start, first.end) : text!
    return first || around.includes(said) ? { value: said } : { value: null, guess: said }
  }
  const context = { around, ...(reference && { reference }), ...(locale && { locale }) }
  if (!first) return read(wanted, text!, context)
  const readings = places.map(({ start, end }) => {
    const beside = { before: around.slice(Math.max(0, start - BESIDE), start), behind: around.slice(end, end + BESIDE) }
    return read(wanted, around.slice(start, end), { ...context, beside })
  })
  return oneOf(readings)!
}

/** A unit beside a number is no longer. */
const BESIDE = 16

function wantedOf(field: ExtractField): ValueType | undefined {
  if (field.type === 'number' || field.type === 'duration') return field
  if (field.type !== 'list') return field.type === 'text' ? undefined : { type: field.type }
  const { integer, decimals } = field
  if (field.items === 'text') return undefined
  return field.items === 'date'
    ? { type: 'date' }
    : { type: 'number', ...(integer && { integer }), ...(decimals !== undefined && { decimals }) }
}
