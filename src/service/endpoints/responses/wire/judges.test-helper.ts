import { existsSync, readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

const OFFICIAL = new URL('../../../../../../shared/openai/responses.schema.json', import.meta.url)
const OPEN = new URL('../../../../../../shared/openai/openresponses.openapi.json', import.meta.url)

/** Both descriptions of the interface lie beside the checkout, where they lie at all. */
export const judgesAreHere = existsSync(OFFICIAL) && existsSync(OPEN)

export interface Judges {
  /** What both descriptions have against a whole response; empty where they have nothing. */
  response(value: unknown): string[]
  /** The same of one event of a stream. */
  event(value: { readonly type: string }): string[]
  /** What Open Responses has against a compaction, which the official description leaves out. */
  compaction(value: unknown): string[]
}

interface Described {
  readonly $ref?: string
  readonly properties?: object
  readonly allOf?: readonly Described[]
}

/** What a request for a response may say, by the official description. */
export function requestFields(): string[] {
  const { $defs } = JSON.parse(readFileSync(OFFICIAL, 'utf8')) as { $defs: Readonly<Record<string, Described>> }
  const fieldsOf = ({ $ref, properties = {}, allOf = [] }: Described): string[] => [
    ...($ref === undefined ? [] : fieldsOf($defs[$ref.split('/').at(-1)!]!)),
    ...Object.keys(properties),
    ...allOf.flatMap(fieldsOf),
  ]
  return [...new Set(fieldsOf($defs.CreateResponse!))]
}

export function judges(): Judges {
  const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: false })
  addFormats.default(ajv)
  ajv.addSchema(JSON.parse(readFileSync(OFFICIAL, 'utf8')) as object, 'official')
  ajv.addSchema(repaired(JSON.parse(readFileSync(OPEN, 'utf8'))), 'open')
  const faults = (name: string, validate: ValidateFunction, value: unknown): string[] =>
    validate(value) ? [] : [`${name}: ${ajv.errorsText(validate.errors)}`]
  const official = (name: string) => ajv.getSchema(`official#/$defs/${name}`)!
  const open = (name: string) => ajv.getSchema(`open#/components/schemas/${name}`)!
  const events = new Map(openEvents(ajv))
  return {
    response: (value) => [
      ...faults('official', official('Response'), value),
      ...(hasCustomTools(value) ? [] : faults('open', open('ResponseResource'), value)),
    ],
    compaction: (value) => faults('open', open('CompactResource'), value),
    event: (value) => [
      ...faults('official', official('ResponseStreamEvent'), value),
      ...(hasCustomTools(value)
        ? []
        : events.has(value.type)
          ? faults('open', events.get(value.type)!, value)
          : [`open: no event ${value.type}`]),
    ],
  }
}

/** Open Responses has no tools that take a text or have a form of their own: only the official description can judge them. */
const hasCustomTools = (value: unknown): boolean =>
  /"type":"(?:response\.)?(?:custom|shell|local_shell|apply_patch|tool_search)/.test(JSON.stringify(value))

function openEvents(ajv: Ajv2020): [string, ValidateFunction][] {
  const { components } = ajv.getSchema('open')!.schema as {
    components: { schemas: Record<string, { properties?: { type?: { enum?: string[] } } }> }
  }
  return Object.entries(components.schemas)
    .filter(([name]) => name.endsWith('StreamingEvent'))
    .map(([name, { properties }]) => [properties!.type!.enum![0]!, ajv.getSchema(`open#/components/schemas/${name}`)!])
}

/**
 * Open Responses admits only null where the official description wants the schema of `text.format` repeated, and every
 * schema of an item that says `oneOf` is broken by the defaults that it leaves out: both are slips of the document.
 */
function repaired(document: { components: { schemas: Record<string, { properties: Record<string, unknown> }> } }) {
  document.components.schemas.JsonSchemaResponseFormat!.properties.schema = { type: ['object', 'boolean', 'null'] }
  return document
}
