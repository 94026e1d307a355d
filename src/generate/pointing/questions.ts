/**
 * What a schema asks of a text: a question for each value that may stand in it. Lists are not asked about, nor what stands
 * where a schema leaves open which of several forms a document has.
 */
import { isRecord, type JsonObject, referredTo } from '../../platform/index.js'

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
  /** It may have no value: its schema allows null, its name may be missing, or a record around it may. */
  readonly absence: 'null' | 'missing' | 'record' | undefined
}

/** Keywords under which a document has one of several forms. */
const FORKS = [
  ...['allOf', 'oneOf', 'not', 'if', 'patternProperties'],
  ...['dependentSchemas', 'dependentRequired', 'dependencies'],
]
/** What may stand beside a reference or a union, for it asks nothing of a value. */
const NOTES = new Set([
  ...['$schema', '$id', '$comment', '$defs', 'definitions', 'title', 'description', 'default', 'examples'],
  ...['deprecated', 'readOnly', 'writeOnly', 'nullable'],
])
/** Of a string that is seldom written so in a text. */
const WRITTEN_ANEW = /^(time|date-time|duration) |HH:MM|24[ -]h/
/** Names within names, and references to references. */
const DEEPEST = 8
/** Of a document: a schema that refers to itself, or to much again and again, has no end of them. */
const MOST_PLACES = 256

interface Resolved {
  readonly plain: JsonObject
  readonly isNullable: boolean
  readonly note: string
}

interface Place extends Resolved {
  readonly path: readonly string[]
  readonly isRequired: boolean
  /** Every record around it must stand there. */
  readonly isSure: boolean
}

/** None of a schema with more places than are looked at. */
export function pointedQuestions(root: unknown): PointedQuestion[] {
  if (!isRecord(root)) return []
  const questions: PointedQuestion[] = []
  let places = 0
  for (const place of within(root, root, { path: [], isRequired: true, isSure: true })) {
    if (++places > MOST_PLACES) return []
    const question = place && questionOf(place)
    if (question) questions.push(question)
  }
  return questions
}

/** Undefined: a place of one of several forms. */
function* within(
  schema: unknown,
  root: JsonObject,
  at: Pick<Place, 'path' | 'isRequired' | 'isSure'>,
): Generator<Place | undefined> {
  const { path, isRequired, isSure } = at
  const found = path.length > DEEPEST ? undefined : resolved(schema, root)
  yield found && { ...found, ...at }
  if (!isRecord(found?.plain.properties)) return
  const { plain, isNullable } = found
  const required = requiredOf(plain)
  for (const [name, inner] of Object.entries(found.plain.properties)) {
    // What a record asks that may be missing itself is asked, too, as if it were there.
    const inside = { path: [...path, name], isRequired: required.includes(name) }
    yield* within(inner, root, { ...inside, isSure: isSure && isRequired && !isNullable })
  }
}

const requiredOf = ({ required }: JsonObject): readonly unknown[] => (Array.isArray(required) ? required : [])

function questionOf({ path, plain, isNullable, isRequired, isSure, note }: Place): PointedQuestion | undefined {
  if (path.length === 0 || isRecord(plain.properties)) return undefined
  const absence = isNullable ? 'null' : !isRequired ? 'missing' : isSure ? undefined : 'record'
  const options = optionsOf(plain)
  const question = (kind: PointedKind, isBare: boolean): PointedQuestion => ({
    ...{ path, kind, options: options ?? [], schema: plain, absence },
    text: asField(path, note, isBare),
  })
  if (options) return question('option', options[0] === true)
  if (plain.type === 'number' || plain.type === 'integer') return question(plain.type, true)
  if (plain.type !== 'string' || WRITTEN_ANEW.test(`${plain.format} ${note}`)) return undefined
  const isDate = plain.format === 'date' || /YYYY-MM-DD|ISO/.test(note)
  return question(isDate ? 'date' : 'text', false)
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
function resolved(schema: unknown, root: JsonObject): Resolved | undefined {
  let plain = schema
  let isNullable = false
  for (let i = 0; i < DEEPEST; i++) {
    if (!isRecord(plain)) return undefined
    const { $ref: reference, anyOf } = plain
    if (typeof reference === 'string') {
      if (!isAlone(plain, '$ref')) return undefined
      // The whole document within itself has no end.
      plain = reference === '#' ? undefined : referredTo(root, reference)
    } else if (Array.isArray(anyOf)) {
      const others = anyOf.filter((one) => !(isRecord(one) && one.type === 'null' && isAlone(one, 'type')))
      if (others.length !== 1 || !isAlone(plain, 'anyOf')) return undefined
      isNullable ||= others.length < anyOf.length
      plain = others[0]
    } else {
      const { type, nullable, description } = plain
      const types = [type].flat()
      if (nullable === true) types.push('null')
      const others = types.filter((one) => one !== 'null')
      if (others.length !== 1 || FORKS.some((keyword) => keyword in (plain as JsonObject))) return undefined
      const listed = 'const' in plain ? [plain.const] : plain.enum
      const isTyped = type !== undefined
      const isOfType = isTyped ? others.length < types.length : Array.isArray(listed)
      isNullable ||= isOfType && (!Array.isArray(listed) || listed.includes(null))
      const notes = [description, (schema as JsonObject).description]
      const note = notes.find((one): one is string => typeof one === 'string') ?? ''
      const typed = { ...plain, type: others[0], ...(nullable === true && { nullable: false }) }
      return { plain: isTyped ? typed : plain, isNullable, note }
    }
  }
  return undefined
}

/** Whether a schema asks nothing more of a value than one keyword of it does. */
const isAlone = (schema: JsonObject, keyword: string) =>
  Object.keys(schema).every((key) => key === keyword || NOTES.has(key))

export function asField(path: readonly string[], note: string, isBare: boolean): string {
  const names = path.map((name) => `${JSON.stringify(name)}:`).join('{')
  return `${note ? `${note} ` : ''}${names}${isBare ? '' : '"'}`
}

export interface Narrowing {
  /** Those that may still stand at a place; empty: none does. */
  readonly values: readonly (string | number | boolean)[]
}

/** Of a document's schema, whichever part of it says what a document is. */
const AROUND = ['$schema', '$id', '$defs', 'definitions']
/** To what may be narrowed. */
const REFERENCE = /"\$(?:ref|dynamicRef|recursiveRef)":"(?!#\/(?:\$defs|definitions)\/)/

/**
 * A schema in which some values are settled: `narrow` says which are left of each, or undefined where it stays as it is.
 * Whatever it allows the schema itself allows. Undefined: what stays as it is refers to what does not.
 */
export function narrowedSchema(
  root: JsonObject,
  narrow: (path: readonly string[]) => Narrowing | undefined,
): JsonObject | undefined {
  const walk = (schema: unknown, path: readonly string[]): unknown => {
    const found = path.length > DEEPEST ? undefined : resolved(schema, root)
    if (!isRecord(found?.plain.properties)) return schema
    const { plain, isNullable } = found
    const required = [...requiredOf(plain)]
    const properties = Object.entries(found.plain.properties).map(([name, inner]) => {
      const values = narrow([...path, name])?.values
      const own = values && resolved(inner, root)
      if (!own) return [name, walk(inner, [...path, name])]
      if (values.length > 0) {
        if (!required.includes(name)) required.push(name)
        const listed = own.plain.enum
        return [
          name,
          { ...own.plain, enum: Array.isArray(listed) ? values.filter((one) => listed.includes(one)) : values },
        ]
      }
      return [name, own.isNullable ? { type: 'null' } : false]
    })
    const made = { ...plain, properties: Object.fromEntries(properties), required }
    return isNullable ? { anyOf: [made, { type: 'null' }] } : made
  }
  const around = Object.entries(root).filter(([name]) => AROUND.includes(name))
  const made = { ...(walk(root, []) as JsonObject), ...Object.fromEntries(around) }
  return REFERENCE.test(JSON.stringify(made)) ? undefined : made
}
