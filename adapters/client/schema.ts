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

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

// A schema may be a function too (arktype's).
const isStandard = (schema: unknown): schema is StandardSchema =>
  (typeof schema === 'function' || isObject(schema)) && '~standard' in schema

/** What the model has to keep to. A Standard Schema means the document before it is transformed. */
export function jsonSchemaOf(schema: AnySchema): JsonSchema {
  if (!isStandard(schema)) return plainSchema(schema)
  const { vendor, jsonSchema } = schema['~standard']
  if (jsonSchema) return closed(jsonSchema.input({ target: 'draft-2020-12' })) as JsonSchema
  const how = HOW_TO.get(vendor) ?? 'pass a JSON Schema instead'
  throw refusal(`This ${vendor} schema has no JSON Schema ('~standard'.jsonSchema): ${how}.`)
}

const HOW_TO: ReadonlyMap<string, string> = new Map([
  ['valibot', "pass 'toStandardJsonSchema(schema)' of @valibot/to-json-schema instead"],
  ['zod', 'it needs zod 4.2 or newer'],
])

function plainSchema(schema: unknown): JsonSchema {
  if (!isObject(schema)) throw refusal('The schema must be an object: a JSON Schema, or one of zod or another library.')
  const field = Object.keys(schema).find((name) => isStandard(schema[name]))
  if (field === undefined) return schema
  throw refusal(`'${field}' is a schema of its own, and no keyword of a JSON Schema: pass 'z.object({ ${field}: … })'.`)
}

const refusal = (message: string) => new V1Error(400, message, { code: 'invalid_value', param: 'schema' })

/**
 * Libraries take more properties than they name; a model that may write more would. What an intersection is made of must
 * take each other's properties: only the whole is closed.
 */
function closed(schema: unknown, isPart = false): unknown {
  if (Array.isArray(schema)) return schema.map((each) => closed(each, isPart))
  if (!isObject(schema)) return schema
  const made = mapped(schema, (value, name) => {
    if (VALUES.has(name)) return value
    if (NAMED.has(name) && isObject(value)) return mapped(value, (each) => closed(each))
    return closed(value, name === 'allOf' || (isPart && CHOICES.has(name)))
  })
  if (isPart) return made
  if (Array.isArray(made.allOf) && isOpen(made)) return { unevaluatedProperties: false, ...made }
  return namesProperties(made) ? { ...made, additionalProperties: false } : made
}

const mapped = (from: Record<string, unknown>, map: (value: unknown, name: string) => unknown) =>
  Object.fromEntries(Object.entries(from).map(([name, value]) => [name, map(value, name)]))

const namesProperties = ({ type, properties, additionalProperties }: Record<string, unknown>) =>
  type === 'object' && properties !== undefined && additionalProperties === undefined

const isOpen = (schema: unknown): boolean =>
  isObject(schema) &&
  (namesProperties(schema) || ['allOf', ...CHOICES].some((name) => [schema[name]].flat().some(isOpen)))

const CHOICES: ReadonlySet<string> = new Set(['anyOf', 'oneOf'])

/** Keywords whose values are schemas by names, which may be those of keywords. */
const NAMED: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions'])

/** Keywords whose values are documents and no schemas. */
const VALUES: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples'])

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
