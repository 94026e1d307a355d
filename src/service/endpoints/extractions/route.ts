import { type Extracted, type FieldAnswer, modelCannot, type TextSpan } from '../../../contract/index.js'
import { readJson } from '../../answer/body.js'
import { once } from '../../answer/once.js'
import type { Route, Service } from '../../answer/service.js'
import { newId } from '../../wire/ids.js'
import { checkNumbers } from '../../wire/parts.js'
import { extractByGenerating, type FieldsCall, fieldsAtOnce } from './extracting.js'
import { pointedFields } from './pointing.js'
import { type ExtractionRequest, readExtraction } from './request.js'

export const extractions: Route = (service, exchange) =>
  once(service, exchange, async ({ signal }) => {
    const request = readExtraction(await readJson(service, exchange, signal))
    const { model, ignored } = request
    let itself = false
    return {
      model,
      ignored,
      // Each field is an answer to the model.
      weight: fieldsAtOnce(request.fields),
      check({ id, capabilities = {} }) {
        itself = capabilities.extractions === true && service.engine.extract !== undefined
        if (itself || (capabilities.chat !== false && capabilities.grammar !== false)) return
        throw modelCannot(id, 'cannot extract: use one that supports JSON schemas')
      },
      async act(signal) {
        const id = newId('ext-')
        const call = { ...request, id, signal, caller: exchange.caller.id }
        const extracted = await (itself ? service.engine.extract!(call) : extractedFields(service, call))
        if (extracted.answers.length !== request.fields.length) throw new Error('The engine sent no answer to a field.')
        checkNumbers('field', extracted.answers.map(numbersOf))
        return { body: wireExtraction(id, request, extracted), usage: extracted.usage }
      },
    }
  })

/** Those that can be pointed at are; the others are written. */
async function extractedFields(service: Service, call: FieldsCall): Promise<Extracted> {
  const pointed = await pointedFields(service, call)
  if (!pointed) return extractByGenerating(service, call)
  const { answers, ...spent } = pointed
  const open = call.fields.filter((_, i) => !answers[i])
  if (open.length === 0) return { answers: answers as FieldAnswer[], truncated: false, ...spent }
  const written = await extractByGenerating(service, { ...call, fields: open })
  return { ...written, answers: call.fields.map((field, i) => answers[i] ?? written.answers[open.indexOf(field)]!) }
}

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

function numbersOf(answer: FieldAnswer): readonly number[] {
  if ('refused' in answer) return []
  const { value, guess, confidence, pNull } = answer
  return [value, guess, confidence, pNull].flat().filter((each) => typeof each === 'number')
}

const pair = ({ start, end }: TextSpan): [number, number] => [start, end]

const itemOf = ({ confidence, span }: { readonly confidence?: number; readonly span?: TextSpan }) => ({
  ...(confidence !== undefined && { confidence }),
  ...(span && { span: pair(span) }),
})
