import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { compile, type Grammar } from '../structured/index.js'
import { judge } from '../structured/judge.js'

/** Looks at a generated document before it is called finished. */
export interface DocumentCheck {
  /** Whether the document must satisfy the schema even when the engine ran out of tokens. */
  readonly strict: boolean
  /** What is wrong with the document; undefined for one that is right. */
  faultOf(text: string): string | undefined
}

/**
 * The second judge beside the grammar: ajv, which shares no code with it. Whoever generated the text, a document that
 * does not satisfy its schema is not sent.
 */
export function documentCheck(schema: unknown, grammar: Grammar, strict: boolean): DocumentCheck {
  let validate: ValidateFunction | null | undefined
  return {
    strict,
    faultOf(text) {
      let value: unknown
      try {
        value = JSON.parse(text)
      } catch (error) {
        return (error as SyntaxError).message
      }
      if (!strict) return undefined
      if (validate === undefined) validate = validatorOf(schema)
      if (validate) {
        if (validate(value) || (validate.errors!.every(isInexact) && grammar.accepts(text))) return undefined
        return `at '${validate.errors![0]!.instancePath}' it ${validate.errors![0]!.message}`
      }
      // The grammar knows one spelling of each value; an engine that does not go by it may have chosen another.
      return grammar.accepts(text) || judge(schema, value) ? undefined : 'it does not satisfy the schema'
    },
  }
}

/** Where ajv calculates in floating point or goes by rules of thumb, and the grammar is exact. */
function isInexact({ keyword }: ErrorObject): boolean {
  return keyword === 'multipleOf' || keyword === 'format'
}

let compiles: boolean | undefined

/** Tried once: under a strict Content-Security-Policy each attempt is reported as a violation of it. */
function mayCompile(): boolean {
  if (compiles === undefined) {
    try {
      new Function('')
      compiles = true
    } catch {
      compiles = false
    }
  }
  return compiles
}

/** Null where ajv cannot judge: `new Function` is forbidden, or the schema is one that only the grammar understands. */
function validatorOf(schema: unknown): ValidateFunction | null {
  // ajv overlooks a property of this name, and would then not let it in.
  if (!mayCompile() || JSON.stringify(schema).includes('"__proto__"')) return null
  try {
    const ajv = new Ajv2020({ strict: false, logger: false, meta: false, validateSchema: false, code: { regExp } })
    addFormats.default(ajv)
    return ajv.compile(withoutDialect(schema))
  } catch {
    return null
  }
}

/**
 * Patterns come from the request and are tried on whatever was generated: JavaScript's RegExp could be made to think
 * for years. Ours is slower to begin with and takes one step for each character.
 */
const regExp = Object.assign(
  (pattern: string) => {
    const grammar = compile({ type: 'string', pattern })
    return { test: (text: string) => grammar.accepts(JSON.stringify(text)), toString: () => pattern }
  },
  { code: 'pattern' },
)

/** `$schema` names the dialect; ajv would look for its meta-schema. */
function withoutDialect(schema: unknown): Record<string, unknown> | boolean {
  if (typeof schema === 'boolean') return schema
  const { $schema, ...rest } = schema as Record<string, unknown>
  return rest
}
