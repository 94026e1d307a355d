import { V1Error } from '../src/contract/errors.js'
import { type DocumentOptions, documentRequest, textMessage, withoutStrict } from './client/document.js'
import { askJson, endpointOf, firstModel, type Target } from './client/endpoint.js'
import { checkEvidenceReply, type EvidenceOf, type EvidenceReply, evidenceOf } from './client/evidence.js'
import { type AnySchema, type DocumentOf, type Output, outputOf } from './client/schema.js'

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
export type { EvidenceOf, PointerIn, ValueEvidence } from './client/evidence.js'
export type { FromSchema } from './client/json-schema-type.js'
export type { AnySchema, DocumentOf, JsonSchema, Output, StandardSchema } from './client/schema.js'

export interface ExtractOptions extends DocumentOptions {
  /** What answers: a service of `createV1`, the result of `install`, or `{ baseURL }` of any `/v1`. */
  readonly from: Target
  /** @default the first that `from` offers */
  readonly model?: string
  /** Stops the request. */
  readonly signal?: AbortSignal
}

export interface Grounded<S> {
  /** The document, as without evidence. */
  readonly value: Output<S>
  /** For each value of the document, before any transforms of the schema. */
  readonly evidence: EvidenceOf<DocumentOf<S>>
}

/**
 * Turns a text into a document that satisfies a schema, in one call and with its type. The schema is zod's (or another
 * Standard Schema that has a JSON Schema), or a JSON Schema.
 *
 * ```ts
 * const order = await extract(z.object({ product: z.string(), quantity: z.int() }), 'Send 12 lamps.', { from: v1 })
 * ```
 *
 * With `evidence: true` it also returns how sure the model is of each value, and where the text says it:
 * `const { value, evidence } = await extract(schema, text, { from: v1, evidence: true })`.
 */
export async function extract<const S extends AnySchema>(
  schema: S,
  text: string,
  options: ExtractOptions & { readonly evidence: true },
): Promise<Grounded<S>>
export async function extract<const S extends AnySchema>(
  schema: S,
  text: string,
  options: ExtractOptions & { readonly evidence?: false },
): Promise<Output<S>>
export async function extract<const S extends AnySchema>(
  schema: S,
  text: string,
  { from, model, signal, ...options }: ExtractOptions & { readonly evidence?: boolean } = {} as ExtractOptions,
): Promise<Output<S> | Grounded<S>> {
  const endpoint = endpointOf(from)
  const id = model ?? (await firstModel(endpoint, signal))
  const body = documentRequest(id, schema, text, options)
  const { choices } = await askJson<Completion>(endpoint, '/chat/completions', { body, signal }).catch(withoutStrict)
  const { message, evidence: reply } = choices?.[0] ?? {}
  if (typeof message?.content !== 'string') {
    throw new V1Error(502, message?.refusal ?? 'The answer has no document.', { code: 'invalid_output' })
  }
  const document = documentIn(message.content)
  if (!options.evidence) return outputOf(schema, document)
  checkEvidenceReply(reply, document)
  const evidence = evidenceOf(reply ?? {}, textMessage(options)) as EvidenceOf<DocumentOf<S>>
  return { value: await outputOf(schema, document), evidence }
}

interface Completion {
  readonly choices?: readonly {
    readonly message?: { readonly content?: string | null; readonly refusal?: string }
    readonly evidence?: EvidenceReply
  }[]
}

function documentIn(content: string): unknown {
  try {
    return JSON.parse(content)
  } catch (cause) {
    const message = 'The answer is no JSON: what answers does not keep to a schema (response_format), or broke off.'
    throw new V1Error(502, message, { code: 'invalid_output', cause })
  }
}
