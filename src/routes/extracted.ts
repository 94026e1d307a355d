/** From stretches of a text to values. */
import type { ExtractCall, ExtractField, FieldAnswer, TextSpan } from '../engine.js'
import type { readValue, ValueReading, ValueType } from '../readers/index.js'

/** What a model took for an answer. */
export interface SaidStretch {
  readonly text: string
  /** Where the text says it, if it does. */
  readonly span?: TextSpan
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
    const items = stretches.map(({ confidence, span }) => ({
      ...(confidence !== undefined && { confidence }),
      ...(span && { span }),
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
    ...(said && stretch.span && { span: stretch.span }),
  }
}

/** A text is a stretch of what was read, or a guess. */
function readingOf(
  field: ExtractField,
  { text, span }: SaidStretch,
  call: ExtractCall,
  read: typeof readValue,
): ValueReading {
  const wanted = wantedOf(field)
  if (wanted === undefined) return span || call.state.includes(text) ? { value: text } : { value: null, guess: text }
  const { referenceDate: reference, locale, state: around } = call
  return read(wanted, text, { around, ...(reference && { reference }), ...(locale && { locale }) })
}

function wantedOf(field: ExtractField): ValueType | undefined {
  if (field.type === 'number' || field.type === 'duration') return field
  if (field.type !== 'list') return field.type === 'text' ? undefined : { type: field.type }
  const { integer, decimals } = field
  if (field.items === 'text') return undefined
  return field.items === 'date'
    ? { type: 'date' }
    : { type: 'number', ...(integer && { integer }), ...(decimals !== undefined && { decimals }) }
}
