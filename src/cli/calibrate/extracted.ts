/** How sure a model is of the values that it extracts, beside whether they are right. */
import { valueAt } from '../../../adapters/client/pointer.js'
import { type JsonObject, sameJson } from '../../platform/index.js'
import type { V1 } from '../../service/index.js'
import { Fault } from '../fault.js'
import type { ExtractionExample } from './examples.js'
import type { SureValue } from './sureness.js'

/** Of each value that has a confidence. */
export async function sureValues(v1: V1, model: string, example: ExtractionExample): Promise<SureValue[]> {
  return 'fields' in example ? fieldsOf(v1, model, example) : documentOf(v1, model, example)
}

type Wire = Readonly<
  Record<string, { readonly confidence?: number; readonly p_null?: number; readonly value?: unknown }>
>

async function fieldsOf(
  v1: V1,
  model: string,
  { input, fields, more, place }: Extract<ExtractionExample, { readonly fields: unknown }>,
): Promise<SureValue[]> {
  const open = Object.fromEntries(Object.entries(fields).map(([name, { answer, ...field }]) => [name, field]))
  const { answers } = await post<{ answers: Wire }>(
    v1,
    '/extractions',
    { ...more, model, state: input, fields: open },
    place,
  )
  return Object.entries(fields).flatMap(([name, { answer }]) => {
    const { value = null, confidence, p_null: none } = answers[name] ?? {}
    // Of what is said to be absent it is as sure as that.
    const sure = value === null ? none : confidence
    return sure === undefined ? [] : [{ confidence: sure, right: sameJson(value, answer) }]
  })
}

async function documentOf(
  v1: V1,
  model: string,
  { input, schema, answer, instructions, place }: Extract<ExtractionExample, { readonly schema: unknown }>,
): Promise<SureValue[]> {
  const { choices } = await post<{ choices: readonly [{ message: { content: string }; evidence?: Wire }] }>(
    v1,
    '/chat/completions',
    {
      model,
      messages: [
        ...(instructions ? [{ role: 'system', content: instructions }] : []),
        { role: 'user', content: input },
      ],
      temperature: 0,
      response_format: { type: 'json_schema', json_schema: { name: 'document', strict: true, schema } },
      evidence: true,
    },
    place,
  )
  const [{ message, evidence = {} }] = choices
  return judgedValues(JSON.parse(message.content), answer, evidence)
}

/** A value is right where the right document has the same there. */
export function judgedValues(document: unknown, answer: unknown, evidence: Wire): SureValue[] {
  return Object.entries(evidence).map(([pointer, { confidence }]) => ({
    confidence: confidence!,
    right: sameJson(valueAt(document, pointer), valueAt(answer, pointer)),
  }))
}

async function post<T>(v1: V1, path: string, body: JsonObject, place: string): Promise<T> {
  const response = await v1.fetch(
    new Request(`http://localhost${v1.basePath}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  )
  const answer = (await response.json()) as T & { error?: { message: string } }
  if (answer.error) throw new Fault(`${place}: ${answer.error.message}`, 1)
  return answer
}
