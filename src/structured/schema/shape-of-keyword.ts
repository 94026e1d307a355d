import { isObject } from './json.js'

/** Whether a value is of the kind that a keyword takes, also where it was put into quotes by mistake. */
export function suits(keyword: string, value: unknown): boolean {
  return (Object.hasOwn(KINDS, keyword) ? KINDS[keyword]! : ANYTHING)(value)
}

type Test = (value: unknown) => boolean

const ANYTHING: Test = () => true
const TYPES = new Set(['null', 'boolean', 'number', 'integer', 'string', 'array', 'object', 'any'])

const text: Test = (value) => typeof value === 'string'
const number: Test = (value) => typeof value === 'number' || (text(value) && /^-?\d+(\.\d+)?$/.test(value as string))
const truth: Test = (value) => typeof value === 'boolean' || value === 'true' || value === 'false'
const schema: Test = (value) => isObject(value) || truth(value)
const listOf =
  (test: Test): Test =>
  (value) =>
    Array.isArray(value) && value.every(test)
const mapOf =
  (test: Test): Test =>
  (value) =>
    isObject(value) && Object.values(value).every(test)
const either =
  (...tests: Test[]): Test =>
  (value) =>
    tests.some((test) => test(value))

const type = either((value) => TYPES.has(value as string), schema)
const schemas = listOf(schema)
const names = listOf(text)
const bound = either(number, truth)
/** An address: a bare word is a name of something else. */
const reference: Test = (value) => typeof value === 'string' && /[#/]|\.json$/.test(value)

const KINDS: Readonly<Record<string, Test>> = {
  type: either(type, listOf(type)),
  enum: Array.isArray,
  $ref: reference,
  ...all(['anyOf', 'oneOf', 'allOf', 'prefixItems'], schemas),
  ...all(['format', 'pattern', 'regexp'], text),
  ...all(['minLength', 'maxLength', 'minItems', 'maxItems', 'minContains', 'maxContains'], number),
  ...all(['minProperties', 'maxProperties', 'multipleOf', 'divisibleBy'], number),
  ...all(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'], bound),
  ...all(['formatMinimum', 'formatMaximum', 'formatExclusiveMinimum', 'formatExclusiveMaximum'], either(text, bound)),
  ...all(['uniqueItems', 'allRequired', 'exclusiveRange'], truth),
  ...all(['additionalItems', 'additionalProperties', 'contains', 'propertyNames'], schema),
  ...all(['unevaluatedItems', 'unevaluatedProperties'], schema),
  items: either(schema, schemas),
  extends: either(isObject, listOf(isObject)),
  ...all(['properties', 'patternProperties', 'dependentSchemas', 'deepProperties'], mapOf(schema)),
  dependencies: mapOf(either(schema, names, text)),
  dependentRequired: mapOf(names),
  required: either(names, truth),
  disallow: either(type, listOf(type)),
  ...all(['instanceof', 'typeof'], either(text, names)),
  ...all(['anyRequired', 'oneRequired', 'patternRequired', 'deepRequired', 'prohibited'], names),
  uniqueItemProperties: names,
  ...all(['$merge', '$patch'], isObject),
}

function all(keywords: readonly string[], test: Test): Record<string, Test> {
  return Object.fromEntries(keywords.map((keyword) => [keyword, test]))
}
