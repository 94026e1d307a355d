import { V1Error } from '../../src/contract/errors.js'
import { type DecisionPart, textOfPart } from './decision-model.js'
import { askJson, type OpenEndpoint } from './endpoint.js'

/** A text, or what JSON can say. */
type Input = string | Readonly<Record<string, unknown>> | readonly unknown[]
type DurationUnit = 'seconds' | 'minutes' | 'hours' | 'days' | 'weeks' | 'months' | 'years'

interface Decimals {
  readonly integer?: boolean
  readonly decimals?: number
}

/** A field of the AI SDK. */
export type ExtractionField = { readonly instructions?: Input | null } & (
  | { readonly type: 'text' | 'date' | 'time' | 'datetime' }
  | ({ readonly type: 'number'; readonly unit?: string } & Decimals)
  | ({ readonly type: 'duration'; readonly unit?: DurationUnit } & Decimals)
  | ({ readonly type: 'list'; readonly items: 'text' | 'number' | 'date' } & Decimals)
)

/** What the AI SDK asks of a model for `experimental_extract`. */
export interface Extracting {
  readonly state: readonly DecisionPart[]
  readonly fields: Readonly<Record<string, ExtractionField>>
  readonly referenceDate?: string
  readonly maxOutputTokens?: number
  readonly reasoning?: string
  readonly abortSignal?: AbortSignal
  readonly headers?: Readonly<Record<string, string | undefined>>
}

/** Where a text part of the state says it, in UTF-16 code units. */
export interface ExtractionSource {
  type: 'text'
  part: number
  start: number
  end: number
}

interface Confidence {
  pNull?: number
  confidence?: number
}
interface Valued<Type extends string, Value> extends Confidence {
  type: Type
  value: Value | null
  guess?: Value
  source?: ExtractionSource
}

export type ExtractionAnswer =
  | Valued<'text', string>
  | Valued<'date', string>
  | Valued<'time', string>
  | Valued<'datetime', string>
  | Valued<'number', number>
  | Valued<'duration', number>
  | ({
      type: 'list'
      value: string[] | number[] | null
      items?: { confidence?: number; source?: ExtractionSource }[]
    } & Confidence)
  | { type: 'refusal' }

const TYPES = ['text', 'number', 'date', 'time', 'datetime', 'duration', 'list'] as const

/** A model for `experimental_extract` of the AI SDK, in the form that its version 7 takes. */
export interface LocalExtractions {
  readonly specificationVersion: 'v4'
  readonly provider: string
  readonly modelId: string
  readonly supportedFieldTypes: readonly (typeof TYPES)[number][]
  doExtract(call: Extracting): Promise<{
    answers: Record<string, ExtractionAnswer>
    usage: { inputTokens: number; outputTokens: number }
    warnings: { type: 'unsupported'; feature: string }[]
    response: { id: string; modelId: string }
  }>
}

/** `POST extractions`, whose state is one text: its parts stand in it one below the other. */
export function localExtractions(endpoint: OpenEndpoint, modelId: string): LocalExtractions {
  return {
    specificationVersion: 'v4',
    provider: 'local-v1.extraction',
    modelId,
    supportedFieldTypes: TYPES,
    async doExtract({ state, fields, referenceDate, abortSignal: signal, headers, ...rest }) {
      const placed = placesOf(state)
      const body = {
        model: modelId,
        state: placed.map(({ text }) => text).join('\n'),
        fields: Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, wireField(field)])),
        ...(referenceDate !== undefined && { reference_date: referenceDate }),
      }
      const { id, answers, usage } = await askJson<WireExtraction>(endpoint, '/extractions', {
        body,
        signal,
        ...(headers && { headers }),
      })
      const replies = Object.keys(fields).map((name) => [name, answerOf(name, answers[name], placed)])
      return {
        answers: Object.fromEntries(replies),
        usage: { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens },
        warnings: warningsOf(rest),
        response: { id, modelId },
      }
    },
  }
}

/** Stretches end where they end, and nothing is thought about. */
function warningsOf({ maxOutputTokens, reasoning }: Pick<Extracting, 'maxOutputTokens' | 'reasoning'>) {
  const features = [
    ...(maxOutputTokens === undefined ? [] : ['maxOutputTokens']),
    ...(reasoning === undefined || ['none', 'provider-default'].includes(reasoning) ? [] : ['reasoning']),
  ]
  return features.map((feature) => ({ type: 'unsupported' as const, feature }))
}

interface PlacedPart {
  /** Undefined: what it says has no place that the SDK knows. */
  readonly part: number | undefined
  readonly text: string
  /** In the whole. */
  readonly start: number
}

function placesOf(state: readonly DecisionPart[]): PlacedPart[] {
  let start = 0
  return state.map((part, i) => {
    const text = textOfPart(part, i, 'read')
    const placed = { part: part.type === 'text' ? i : undefined, text, start }
    start += text.length + 1
    return placed
  })
}

function wireField({ instructions, ...field }: ExtractionField): object {
  if (instructions === undefined || instructions === null) return field
  return { ...field, instructions: typeof instructions === 'string' ? instructions : JSON.stringify(instructions) }
}

type WireSpan = readonly [number, number]

interface WireAnswer {
  readonly type: string
  readonly value?: unknown
  readonly guess?: unknown
  readonly confidence?: number
  readonly p_null?: number
  readonly span?: WireSpan
  readonly items?: readonly { readonly confidence?: number; readonly span?: WireSpan }[]
}

interface WireExtraction {
  readonly id: string
  readonly answers: Readonly<Record<string, WireAnswer>>
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number }
}

function answerOf(name: string, answer: WireAnswer | undefined, placed: readonly PlacedPart[]): ExtractionAnswer {
  if (!answer) throw new V1Error(502, `The field '${name}' was not answered.`, { code: 'invalid_output', param: name })
  const { type, value = null, guess, confidence, p_null: pNull, span, items } = answer
  if (type === 'refusal') return { type }
  const source = sourceOf(span, placed)
  const found = items?.map((item) => {
    const place = sourceOf(item.span, placed)
    return { ...(item.confidence !== undefined && { confidence: item.confidence }), ...(place && { source: place }) }
  })
  return {
    type,
    value,
    ...(guess !== undefined && { guess }),
    ...(confidence !== undefined && { confidence }),
    ...(pNull !== undefined && { pNull }),
    ...(source && { source }),
    ...(found && { items: found }),
  } as ExtractionAnswer
}

/** A stretch over several parts is in none of them. */
function sourceOf(span: WireSpan | undefined, placed: readonly PlacedPart[]): ExtractionSource | undefined {
  if (!span) return undefined
  const [start, end] = span
  const one = placed.find((part) => start >= part.start && end <= part.start + part.text.length)
  if (one?.part === undefined) return undefined
  return { type: 'text', part: one.part, start: start - one.start, end: end - one.start }
}
