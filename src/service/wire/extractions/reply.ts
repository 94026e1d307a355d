import type { Extracted, FieldAnswer, TextSpan } from '../../../contract/index.js'
import type { ExtractionRequest } from './request.js'

export function wireExtraction(id: string, { model, fields }: ExtractionRequest, extracted: Extracted) {
  const { promptTokens, completionTokens, cachedTokens } = extracted.usage
  return {
    id,
    object: 'extraction' as const,
    model,
    answers: Object.fromEntries(fields.map(({ name, type }, i) => [name, answerOf(type, extracted.answers[i]!)])),
    truncated: extracted.truncated,
    usage: {
      input_tokens: promptTokens,
      input_tokens_details: { cached_tokens: cachedTokens },
      output_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
    },
  }
}

function answerOf(type: string, answer: FieldAnswer): object {
  if ('refused' in answer) return { type: 'refusal' }
  const { value, guess, confidence, pNull, span, items } = answer
  return {
    type,
    value,
    ...(guess !== undefined && { guess }),
    ...(confidence !== undefined && { confidence }),
    ...(pNull !== undefined && { p_null: pNull }),
    ...(span && { span: pair(span) }),
    ...(items && { spans: items.map((item) => (item.span ? pair(item.span) : null)), items: items.map(itemOf) }),
  }
}

const pair = ({ start, end }: TextSpan): [number, number] => [start, end]

const itemOf = ({ confidence, span }: { readonly confidence?: number; readonly span?: TextSpan }) => ({
  ...(confidence !== undefined && { confidence }),
  ...(span && { span: pair(span) }),
})
