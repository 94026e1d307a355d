import { isRecord, type JsonObject, referredTo } from '../platform/index.js'

/**
 * A schema in the words of a prompt, for models that have never seen JSON Schema spelled out and for contexts too small
 * to hold it. The grammar enforces the schema in any case: this only tells the model what its fields mean. The embedded
 * model is trained on this exact form, so a change here costs a training run.
 */

/** What one prompt may spend on its schema; beyond it, parts are left out rather than the prompt being refused. */
const MAX_CHARS = 8000
const MAX_DEPTH = 12
const MAX_ENUM = 64
const MAX_DESCRIPTION = 200

const WORD_FOR_WORD = 'copied word for word'

/** `Answer with JSON: {"title": string - the title of the book, "tags": [string], "note"?: string}` */
export function describeSchema(schema: JsonObject | boolean): string {
  const writer: Writer = { root: schema, left: MAX_CHARS, open: ['#'] }
  return `Answer with JSON: ${withNote(schema, describe(schema, writer))}`
}

interface Writer {
  readonly root: JsonObject | boolean
  /** Characters still to be spent. */
  left: number
  /** References being described: one that is met again recurs, and is named instead. */
  readonly open: string[]
}

function describe(schema: unknown, writer: Writer): string {
  if (writer.left <= 0 || writer.open.length > 2 * MAX_DEPTH) return '...'
  if (!isRecord(schema)) return schema === false ? 'nothing' : 'any'
  if (typeof schema.$ref === 'string') return describeRef(schema.$ref, schema, writer)
  if (Array.isArray(schema.enum)) return spend(describeEnum(schema.enum), writer)
  if ('const' in schema) return spend(JSON.stringify(schema.const), writer)
  for (const keyword of ['anyOf', 'oneOf'] as const) {
    const branches = schema[keyword]
    if (Array.isArray(branches)) return describeBranches(branches, writer)
  }
  if (Array.isArray(schema.allOf)) return describeAll(schema, schema.allOf, writer)
  return describeTypes(schema, writer)
}

function describeBranches(branches: readonly unknown[], writer: Writer): string {
  writer.open.push('')
  const texts = branches.slice(0, MAX_ENUM).map((branch) => withNote(branch, describe(branch, writer)))
  writer.open.pop()
  return union(texts)
}

function describeTypes(schema: JsonObject, writer: Writer): string {
  const types = typesOf(schema)
  if (types.length === 0) return spend('any', writer)
  return union(types.map((type) => describeType(type, schema, writer)))
}

function typesOf(schema: JsonObject): string[] {
  if (typeof schema.type === 'string') return schema.nullable === true ? [schema.type, 'null'] : [schema.type]
  if (Array.isArray(schema.type)) return schema.type.filter((type) => typeof type === 'string')
  if ('properties' in schema || 'additionalProperties' in schema || 'patternProperties' in schema) return ['object']
  if ('items' in schema || 'prefixItems' in schema) return ['array']
  if ('pattern' in schema || 'format' in schema || 'maxLength' in schema || 'minLength' in schema) return ['string']
  if ('minimum' in schema || 'maximum' in schema || 'multipleOf' in schema) return ['number']
  return []
}

function describeType(type: string, schema: JsonObject, writer: Writer): string {
  if (writer.open.length > MAX_DEPTH) return spend(type, writer)
  if (type === 'object') return describeObject(schema, writer)
  if (type === 'array') return describeArray(schema, writer)
  const limits =
    type === 'string' ? stringLimits(schema) : type === 'null' || type === 'boolean' ? [] : numberLimits(schema)
  return spend(limits.length === 0 ? type : `${type} (${limits.join(', ')})`, writer)
}

function describeObject(schema: JsonObject, writer: Writer): string {
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const fields: string[] = []
  writer.open.push('')
  for (const [name, field] of Object.entries(isRecord(schema.properties) ? schema.properties : {})) {
    if (field === false) continue
    if (writer.left <= 0) {
      fields.push('...')
      break
    }
    const key = spend(`${JSON.stringify(name)}${required.has(name) ? '' : '?'}: `, writer)
    writer.left -= 2
    fields.push(key + withNote(field, describe(field, writer), name))
  }
  for (const [pattern, field] of Object.entries(isRecord(schema.patternProperties) ? schema.patternProperties : {})) {
    if (field !== false) fields.push(`/${pattern}/: ${describe(field, writer)}`)
  }
  const others = schema.additionalProperties
  const rest = isRecord(others) ? withNote(others, describe(others, writer)) : 'any'
  if (rest !== 'any') fields.push(`...: ${rest}`)
  writer.open.pop()
  // An object of which nothing is known reads better by its name.
  return fields.length === 0 && others !== false ? spend('object', writer) : `{${fields.join(', ')}}`
}

function describeArray(schema: JsonObject, writer: Writer): string {
  writer.open.push('')
  const list = Array.isArray(schema.prefixItems) ? schema.prefixItems : Array.isArray(schema.items) ? schema.items : []
  const parts = list.map((item) => withNote(item, describe(item, writer)))
  const rest = Array.isArray(schema.items) ? schema.additionalItems : schema.items
  if (isRecord(rest)) parts.push((parts.length > 0 ? '...' : '') + withNote(rest, describe(rest, writer)))
  writer.open.pop()
  const limits = span(schema.minItems || undefined, lengthOf(schema.maxItems), ' items')
  return `[${parts.join(', ') || 'any'}]${limits ? ` (${limits})` : ''}`
}

function describeEnum(values: readonly unknown[]): string {
  const shown = values.slice(0, MAX_ENUM).map((value) => JSON.stringify(value))
  return union(values.length > MAX_ENUM ? [...shown, '...'] : shown)
}

function describeAll(schema: JsonObject, parts: readonly unknown[], writer: Writer): string {
  const { allOf: _, ...own } = schema
  const all = typesOf(own).length > 0 ? [own, ...parts] : parts
  writer.open.push('')
  const texts = new Set(all.slice(0, MAX_ENUM).map((part) => describe(part, writer)))
  writer.open.pop()
  return [...texts].filter((text) => text !== 'any').join(' & ') || 'any'
}

function describeRef(ref: string, schema: JsonObject, writer: Writer): string {
  const name = ref.slice(ref.lastIndexOf('/') + 1)
  if (writer.open.includes(ref)) return spend(name === '#' || name === '' ? 'the same again' : name, writer)
  const target = referredTo(writer.root, ref)
  if (target === undefined) return describeTypes(schema, writer)
  writer.open.push(ref)
  const text = describe(target, writer)
  writer.open.pop()
  return text
}

function stringLimits(schema: JsonObject): string[] {
  const limits: string[] = []
  if (schema['x-quote'] === true) limits.push(WORD_FOR_WORD)
  if (typeof schema.format === 'string') limits.push(schema.format)
  const pattern = patternOf(schema)
  if (pattern !== undefined) limits.push(`/${pattern}/`)
  const least = schema.minLength === 0 || schema.minLength === 1 ? undefined : schema.minLength
  const length = span(least, lengthOf(schema.maxLength), ' characters')
  if (length) limits.push(length)
  return limits
}

function numberLimits(schema: JsonObject): string[] {
  const limits: string[] = []
  const [least, most, above, below] = boundsOf(schema)
  const range = span(least, most, '')
  if (range) limits.push(range)
  if (above !== undefined) limits.push(`more than ${above}`)
  if (below !== undefined) limits.push(`less than ${below}`)
  if (typeof schema.multipleOf === 'number' && schema.multipleOf !== 1)
    limits.push(`a multiple of ${schema.multipleOf}`)
  return limits
}

function span(low: unknown, high: unknown, unit: string): string {
  const from = typeof low === 'number'
  const to = typeof high === 'number'
  if (from && to) return low === high ? `${low}${unit}` : `${low} to ${high}${unit}`
  if (from) return `at least ${low}${unit}`
  return to ? `at most ${high}${unit}` : ''
}

function union(texts: readonly string[]): string {
  return [...new Set(texts)].join('|') || 'nothing'
}

/** `text - what the field means`; the description of a reference's target stands in for a missing one of its own. */
function withNote(schema: unknown, text: string, name?: string): string {
  const line = isRecord(schema) ? noteOf(schema, name) : ''
  if (line === '') return text
  return `${text} - ${line.length > MAX_DESCRIPTION ? `${line.slice(0, MAX_DESCRIPTION).trimEnd()}...` : line}`
}

function spend(text: string, writer: Writer): string {
  writer.left -= text.length
  return text
}

// What stands in a schema without saying anything about the answer is left out: tools write it for machines. A small model
// takes every word of its prompt for a hint, and answers a quantity with the largest safe integer where that is its bound.

/** The ends of the number types of machines and databases; whatever is not a safe integer is beyond them all. */
const ENDS = new Set([2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32])
const LONGEST_PATTERN = 80
/** What a column holds: 255 is not how long a name is. */
const COLUMNS = new Set([255, 256, 65_535, 65_536, 2 ** 24 - 1, 2 ** 24])

/** The bounds that say something: `[minimum, maximum, exclusiveMinimum, exclusiveMaximum]`. */
function boundsOf(schema: JsonObject): [number?, number?, number?, number?] {
  const low = (bound: unknown) => (typeof bound === 'number' && !isEnd(-bound) ? bound : undefined)
  const high = (bound: unknown) => (typeof bound === 'number' && !isEnd(bound) ? bound : undefined)
  return [low(schema.minimum), high(schema.maximum), low(schema.exclusiveMinimum), high(schema.exclusiveMaximum)]
}

/** A greatest length or count, unless it is only that of a type or of a column. */
function lengthOf(most: unknown): number | undefined {
  return typeof most === 'number' && !isEnd(most) && !COLUMNS.has(most) ? most : undefined
}

function isEnd(bound: number): boolean {
  return bound >= Number.MAX_SAFE_INTEGER || ENDS.has(bound)
}

/** A pattern that a reader would read: not the one that spells out a format, nor a page of it. */
function patternOf({ pattern, format }: JsonObject): string | undefined {
  return typeof pattern === 'string' && typeof format !== 'string' && pattern.length <= LONGEST_PATTERN
    ? pattern
    : undefined
}

/** The description, or the title of a field that has none; nothing where it says only the field's name again. */
function noteOf({ description, title }: JsonObject, name?: string): string {
  for (const note of [description, name === undefined ? undefined : title]) {
    const line = typeof note === 'string' ? note.replace(/\s+/g, ' ').trim() : ''
    if (line !== '' && (name === undefined || bare(line) !== bare(name))) return line
  }
  return ''
}

/** `orderNo`, `Order No` and `order_no.` are one. */
function bare(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
}
