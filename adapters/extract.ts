import { V1Error } from '../src/index.js'
import { type DocumentOptions, documentRequest } from './client/document.js'
import { ask, endpointOf, firstModel, type Target } from './client/endpoint.js'
import { type AnySchema, type Output, outputOf } from './client/schema.js'

export {
  type Answers,
  type ChoiceAnswer,
  type ChoiceQuestion,
  type DecideOptions,
  decide,
  type PredicateAnswer,
  type PredicateQuestion,
  type Questions,
  type ScoreAnswer,
  type ScoreQuestion,
} from './client/decide.js'
export type { DocumentOptions } from './client/document.js'
export type { DeviceTarget, Endpoint, ServiceTarget, Target } from './client/endpoint.js'
export type { FromSchema } from './client/json-schema-type.js'
export type { AnySchema, JsonSchema, Output, StandardSchema } from './client/schema.js'

export interface ExtractOptions extends DocumentOptions {
  /** What answers: a service of `createV1`, what `install` gives, or `{ baseURL }` of any `/v1`. */
  readonly from: Target
  /** @default the first that `from` offers */
  readonly model?: string
  /** Ends the request, and what runs for it. */
  readonly signal?: AbortSignal
}

/**
 * The document that a schema describes, from a text, in one call and with its type. The schema is zod's (or any other
 * Standard Schema that says its JSON Schema), or a JSON Schema.
 *
 * ```ts
 * const order = await extract(z.object({ product: z.string(), quantity: z.int() }), 'Send 12 lamps.', { from: v1 })
 * ```
 */
export async function extract<const S extends AnySchema>(
  schema: S,
  text: string,
  { from, model, signal, ...options }: ExtractOptions,
): Promise<Output<S>> {
  const endpoint = endpointOf(from)
  const id = model ?? (await firstModel(endpoint, signal))
  const response = await ask(endpoint, '/chat/completions', {
    body: documentRequest(id, schema, text, options),
    signal,
  })
  const { choices } = (await response.json()) as {
    choices: { message: { content: string | null; refusal?: string } }[]
  }
  const content = choices[0]?.message.content
  if (typeof content !== 'string') {
    throw new V1Error(502, choices[0]?.message.refusal ?? 'The answer holds no document.', { code: 'invalid_output' })
  }
  return outputOf(schema, JSON.parse(content))
}
