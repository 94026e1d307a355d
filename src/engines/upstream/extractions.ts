import type { ExtractCall, Extracted, ExtractField, FieldAnswer, TextSpan } from '../../contract/index.js'
import { isShare } from './evidence.js'
import { brokenService, countOf, parsed } from './sent.js'

/** A call in the words of `/extractions`. */
export function extractionsBody(call: ExtractCall, model: string): Record<string, unknown> {
  const { state, fields, referenceDate, locale } = call
  return {
    model,
    state,
    fields: Object.fromEntries(fields.map((field) => [field.name, wireField(field)])),
    ...(referenceDate !== undefined && { reference_date: referenceDate }),
    ...(locale !== undefined && { locale }),
  }
}

function wireField({ name, nullThreshold, ...field }: ExtractField): object {
  return { ...field, null_threshold: nullThreshold }
}

interface SentField {
  readonly type?: unknown
  readonly value?: unknown
  readonly guess?: unknown
  readonly confidence?: unknown
  readonly p_null?: unknown
  readonly span?: unknown
  readonly items?: readonly { readonly confidence?: unknown; readonly span?: unknown }[]
}

/** The answers of another service, in the order of the fields; anything may be missing from them. */
export function extractedOf(text: string, { fields, state }: ExtractCall): Extracted {
  const { answers, truncated, usage } = parsed(text) as {
    answers?: Readonly<Record<string, SentField | null>> | null
    truncated?: unknown
    usage?: Record<string, unknown> | null
  }
  const details = (usage?.input_tokens_details ?? {}) as Record<string, unknown>
  return {
    answers: fields.map((field) => {
      const own = answers && Object.hasOwn(answers, field.name) ? answers[field.name] : undefined
      return fieldOf(field, own, state.length)
    }),
    truncated: truncated === true,
    usage: {
      promptTokens: countOf(usage?.input_tokens),
      completionTokens: countOf(usage?.output_tokens),
      cachedTokens: countOf(details.cached_tokens),
    },
  }
}

function fieldOf(field: ExtractField, answer: SentField | null | undefined, length: number): FieldAnswer {
  if (answer?.type === 'refusal') return { refused: true }
  if (answer?.type !== field.type) throw brokenService('sent no answer to one of the fields')
  const { value = null, guess, confidence, p_null: pNull, span, items } = answer
  if (!isValueOf(field, value)) throw brokenService('sent a value that a field cannot have')
  const place = spanOf(span, length)
  return {
    value,
    ...(isScalar(guess) && { guess }),
    ...(isShare(confidence) && { confidence }),
    ...(isShare(pNull) && { pNull }),
    ...(place && { span: place }),
    ...(Array.isArray(items) && {
      items: (items as NonNullable<SentField['items']>).map((item) => {
        const own = spanOf(item?.span, length)
        return { ...(isShare(item?.confidence) && { confidence: item.confidence }), ...(own && { span: own }) }
      }),
    }),
  }
}

const isScalar = (value: unknown): value is string | number =>
  typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))

function isValueOf(
  { type, ...field }: ExtractField,
  value: unknown,
): value is string | number | (string | number)[] | null {
  if (value === null) return true
  const isOne = (kind: string, one: unknown) =>
    isScalar(one) && (typeof one === 'number') === (kind === 'number' || kind === 'duration')
  if (type !== 'list') return isOne(type, value)
  return Array.isArray(value) && value.every((item) => isOne((field as { items: string }).items, item))
}

/** A place that is not in the text is none. */
function spanOf(span: unknown, length: number): TextSpan | undefined {
  if (!Array.isArray(span)) return undefined
  const [start, end] = span as unknown[]
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end)) return undefined
  const [from, to] = [start as number, end as number]
  return from >= 0 && from <= to && to <= length ? { start: from, end: to } : undefined
}
