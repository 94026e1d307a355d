import { V1Error } from '../../src/contract/errors.js'
import type { FromSchema } from './json-schema-type.js'

/** A Standard Schema (standardschema.dev) with a JSON Schema, such as those of zod 4.2. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => Result<Output> | Promise<Result<Output>>
    readonly jsonSchema?: { readonly input: (options: { readonly target: 'draft-2020-12' }) => unknown }
    readonly types?: { readonly input?: unknown; readonly output: Output } | undefined
  }
}

type Result<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] }

/** A JSON Schema. TypeScript knows its type if it is written in the call; add `as const` to one in a variable. */
export type JsonSchema = Readonly<Record<string, unknown>>

export type AnySchema = StandardSchema | JsonSchema

/** The type of the result: the output of a Standard Schema, or the document that a JSON Schema describes. */
export type Output<S> = S extends {
  readonly '~standard': { readonly types?: { readonly output: infer O } | undefined }
}
  ? O
  : FromSchema<S>

/** The document before any transforms: the input of a Standard Schema. */
export type DocumentOf<S> = S extends {
  readonly '~standard': { readonly types?: { readonly input: infer I } | undefined }
}
  ? I
  : S extends { readonly '~standard': unknown }
    ? unknown
    : FromSchema<S>

const isStandard = (schema: AnySchema): schema is StandardSchema => '~standard' in schema

/** What the model has to keep to. A Standard Schema means the document before it is transformed. */
export function jsonSchemaOf(schema: AnySchema): JsonSchema {
  if (!isStandard(schema)) return schema
  const { vendor, jsonSchema } = schema['~standard']
  if (!jsonSchema) {
    const message = `This ${vendor} schema has no JSON Schema ('~standard'.jsonSchema): pass a JSON Schema instead.`
    throw new V1Error(400, message, { code: 'invalid_value', param: 'schema' })
  }
  return closed(jsonSchema.input({ target: 'draft-2020-12' })) as JsonSchema
}

/** Libraries take more properties than they name; a model that may write more would. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries(schema).map(([name, value]) => [name, VALUES.has(name) ? value : closed(value)])
  const made = Object.fromEntries(entries) as Record<string, unknown>
  const open = made.type === 'object' && made.properties !== undefined && made.additionalProperties === undefined
  return open ? { ...made, additionalProperties: false } : made
}

/** Keywords whose values are documents and no schemas. */
const VALUES = new Set(['const', 'enum', 'default', 'examples'])

/** The document as the schema gives it out. It cannot be another than the schema allows, but it may be refined. */
export async function outputOf<S extends AnySchema>(schema: S, document: unknown): Promise<Output<S>> {
  if (!isStandard(schema)) return document as Output<S>
  const result = await schema['~standard'].validate(document)
  if (!result.issues) return result.value as Output<S>
  const [{ message, path = [] } = { message: 'It is not valid.' }] = result.issues
  const place = path.map((each) => (typeof each === 'object' && each !== null && 'key' in each ? each.key : each))
  throw new V1Error(
    500,
    `The document does not pass the schema${place.length > 0 ? ` at ${place.join('.')}` : ''}: ${message}`,
    {
      code: 'invalid_output',
      cause: result.issues,
    },
  )
}
