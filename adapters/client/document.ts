import { inOtherWords } from './endpoint.js'
import { type AnySchema, jsonSchemaOf } from './schema.js'

export interface DocumentOptions {
  /** What to do with the text, for the model. */
  readonly instructions?: string
  /** @default 0: the most likely document */
  readonly temperature?: number
  /**
   * Every string of the document is quoted from the text, word for word, except those with an `enum` or a `const`. For only
   * some strings, write `"x-quote": true` in their schema.
   * @default false
   */
  readonly quote?: boolean
  /** @default as the context allows */
  readonly maxTokens?: number
  /**
   * The same seed gives the same answer if `temperature` is not 0.
   * @default none
   */
  readonly seed?: number
}

/** The request for one document from one text. */
export function documentRequest(
  model: string,
  schema: AnySchema,
  text: string,
  options: DocumentOptions & { readonly evidence?: boolean },
): object {
  const { instructions, temperature = 0, maxTokens, seed, evidence, quote } = options
  return {
    model,
    messages: [
      ...(instructions === undefined ? [] : [{ role: 'system', content: instructions }]),
      { role: 'user', content: text },
    ],
    temperature,
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...(seed !== undefined && { seed }),
    ...(quote && { quote }),
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'document', strict: true, schema: jsonSchemaOf(schema) },
    },
    ...(evidence && { evidence }),
  }
}

/** Which of the request's messages is the text. */
export const textMessage = ({ instructions }: DocumentOptions): number => (instructions === undefined ? 0 : 1)

/** That the schema is strict is none of the caller's choices: what the service advises about it is left out. */
export const withoutStrict = (error: unknown): never => {
  throw inOtherWords(error, (text) => text.replace(/, or set 'strict' to false: [^.]*\.$/, '.'))
}
