import { type AnySchema, jsonSchemaOf } from './schema.js'

export interface DocumentOptions {
  /** What to do with the text, for the model. */
  readonly instructions?: string
  /** @default 0: the most likely document */
  readonly temperature?: number
  /**
   * Every string of the document is a stretch of the text, word for word, but those that the schema spells out. For some
   * strings alone say `"x-quote": true` in their schema.
   * @default false
   */
  readonly quote?: boolean
  /** @default as far as the context reaches */
  readonly maxTokens?: number
  /**
   * The same seed gives the same answer where `temperature` is not 0.
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
