/**
 * What a schema asks of a text: a question for each value that may stand in it. Lists are not asked about, nor what stands
 * where a schema leaves open which of several forms a document has.
 */
import { isRecord, type JsonObject } from '../../platform/index.js'

/** How a stretch of text becomes a value. */
export type PointedKind = 'text' | 'number' | 'integer' | 'date' | 'option'

export interface PointedQuestion {
  /** Names down to the value. */
  readonly path: readonly string[]
  readonly kind: PointedKind
  /** In the words of the answer's JSON, up to where its value would begin: `the day it is due "invoice":{"due":"`. */
  readonly text: string
  /** Of an `option`. */
  readonly options: readonly (string | number | boolean)[]
  /** The schema of its values but null. */
  readonly schema: JsonObject
  /** It may have no value: its schema allows null, or its name may be missing. */
  readonly absence: 'null' | 'missing' | undefined
}

/** Keywords under which a document has one of several forms. */
const FORKS = ['allOf', 'oneOf', 'not', 'if', 'dependentSchemas', 'dependentRequired', 'patternProperties'] as const
/** Of a string that is seldom written so in a text. */
const WRITTEN_ANEW = /^(time|date-time|duration) |HH:MM|24[ -]h/
/** Names within names. */
const DEEPEST = 8

interface Place {
  readonly path: readonly string[]
  readonly isRequired: boolean
}

export function pointedQuestions(root: unknown): PointedQuestion[] {
  return isRecord(root) ? [...within(root, root, { path: [], isRequired: true })] : []
}

function* within(schema: unknown, root: JsonObject, { path, isRequired }: Place): Generator<PointedQuestion> {
  const found = resolved(schema, root)
  if (!found || path.length > DEEPEST) return
  const { plain, isNullable, note } = found
  const absence = isRequired ? (isNullable ? 'null' : undefined) : isNullable ? 'null' : 'missing'
  const options = optionsOf(plain)
  if (isRecord(plain.properties)) {
    const required = Array.isArray(plain.required) ? plain.required : []
    for (const [name, inner] of Object.entries(plain.properties)) {
      // What a record asks that may be missing itself is asked, too, as if it were there.
      yield* within(inner, root, { path: [...path, name], isRequired: isRequired && required.includes(name) })
    }
    return
  }
  if (path.length === 0) return
  const asked = (kind: PointedKind, isBare: boolean): PointedQuestion => ({
    ...{ path, kind, options: options ?? [], schema: plain, absence },
    text: asField(path, note, isBare),
  })
  if (options) yield asked('option', options[0] === true)
  else if (plain.type === 'number' || plain.type === 'integer') yield asked(plain.type, true)
  else if (plain.type === 'string' && !WRITTEN_ANEW.test(`${plain.format} ${note}`)) {
    const isDate = plain.format === 'date' || /YYYY-MM-DD|ISO/.test(note)
    yield asked(isDate ? 'date' : 'text', false)
  }
}

function optionsOf(plain: JsonObject): PointedQuestion['options'] | undefined {
  if (plain.type === 'boolean' && plain.enum === undefined) return [true, false]
  const listed = 'const' in plain ? [plain.const] : plain.enum
  if (!Array.isArray(listed)) return undefined
  const options = listed.filter((one) => one !== null)
  return options.every((one) => ['string', 'number', 'boolean'].includes(typeof one)) && options.length > 0
    ? (options as (string | number | boolean)[])
    : undefined
}

/** A schema without its references, and without null. Undefined: it has one of several forms. */
function resolved(
  schema: unknown,
  root: JsonObject,
): { readonly plain: JsonObject; readonly isNullable: boolean; readonly note: string } | undefined {
  let plain = schema
  let isNullable = false
  let note = ''
  for (let i = 0; i < DEEPEST; i++) {
    if (!isRecord(plain)) return undefined
    if (typeof plain.description === 'string') note = note || plain.description
    const { $ref: reference, anyOf, type } = plain
    if (typeof reference === 'string') plain = at(root, reference)
    else if (Array.isArray(anyOf)) {
      const others = anyOf.filter((one) => !(isRecord(one) && one.type === 'null'))
      if (others.length !== 1) return undefined
      isNullable ||= others.length < anyOf.length
      plain = others[0]
    } else if (Array.isArray(type)) {
      const others = type.filter((one) => one !== 'null')
      if (others.length !== 1) return undefined
      isNullable ||= others.length < type.length
      plain = { ...plain, type: others[0] }
    } else if (FORKS.some((keyword) => keyword in (plain as JsonObject))) return undefined
    else {
      const hasNull = Array.isArray(plain.enum) && plain.enum.includes(null)
      return { plain, isNullable: isNullable || hasNull, note }
    }
  }
  return undefined
}

function at(root: JsonObject, reference: string): unknown {
  if (!reference.startsWith('#/')) return undefined
  let found: unknown = root
  for (const key of reference.slice(2).split('/')) {
    const name = key.replaceAll('~1', '/').replaceAll('~0', '~')
    found = isRecord(found) && Object.hasOwn(found, name) ? found[name] : undefined
  }
  return found
}

export function asField(path: readonly string[], note: string, isBare: boolean): string {
  const names = path.map((name) => `${JSON.stringify(name)}:`).join('{')
  return `${note ? `${note} ` : ''}${names}${isBare ? '' : '"'}`
}

/** A schema in which some values are settled: `narrow` gives the schema of each, or undefined where it stays as it is. */
export function narrowedSchema(
  root: JsonObject,
  narrow: (path: readonly string[]) => Narrowing | undefined,
): JsonObject {
  const walk = (schema: unknown, path: readonly string[]): unknown => {
    const found = resolved(schema, root)
    if (!found || path.length > DEEPEST) return schema
    const { plain, isNullable } = found
    if (!isRecord(plain.properties)) return schema
    const required = Array.isArray(plain.required) ? [...(plain.required as unknown[])] : []
    const properties = Object.entries(plain.properties).map(([name, inner]) => {
      const own = narrow([...path, name])
      if (!own) return [name, walk(inner, [...path, name])]
      if (own.presence === 'there' && !required.includes(name)) required.push(name)
      return [name, own.schema]
    })
    const made = { ...plain, properties: Object.fromEntries(properties), required }
    return isNullable ? { anyOf: [made, { type: 'null' }] } : made
  }
  const { $defs, definitions } = root
  const made = walk(root, []) as JsonObject
  return { ...made, ...($defs !== undefined && { $defs }), ...(definitions !== undefined && { definitions }) }
}

export interface Narrowing {
  readonly schema: unknown
  /** Whether its name must stand there; absent: as before. */
  readonly presence?: 'there'
}
