import { type ChatCall, type OutputGrammar, type TextPart, type ToolSpec, V1Error } from '../../contract/index.js'
import { fromSource, GrammarCache, GrammarError, SchemaError } from '../../grammar/index.js'
import { isRecord, type JsonObject } from '../../platform/index.js'

/** Of requests that send the same tools again and again, perhaps one of them changed. */
const kept = new GrammarCache({ maxBytes: 24 * 2 ** 20 })

/** How a family spells one call of a tool. */
export type SpellCall = (name: string, parameters: Parameters) => TextPart

/** The grammar of one call, for families that do not write it as a JSON document with `name` and `arguments`. */
export function callGrammar(spell: SpellCall): (call: ChatCall) => OutputGrammar {
  return ({ tools, toolChoice }) =>
    compiled(
      tools.filter(({ name }) => typeof toolChoice === 'string' || name === toolChoice.name),
      spell,
    )
}

function compiled(tools: readonly ToolSpec[], spell: SpellCall): OutputGrammar {
  try {
    return fromSource({ choice: tools.map((tool) => spell(tool.name, new Parameters(tool))) }, { cache: kept })
  } catch (error) {
    if (!(error instanceof SchemaError || error instanceof GrammarError)) throw error
    throw refused(`${error.message} This model's tool call format cannot enforce it.`)
  }
}

const refused = (message: string) => new V1Error(400, `Invalid 'tools': ${message}`, { param: 'tools' })

export const ANY_ARGUMENT: TextPart = { without: [] }

/** What may stand beside `properties` without restricting more than is kept to here. */
const PLAIN = new Set([
  ...['type', 'properties', 'required', 'additionalProperties', '$defs', 'definitions'],
  ...['title', 'description', '$schema', '$id', '$comment', 'examples', 'default', 'strict'],
])

/** The parameters of a tool one by one: schemas of their own, of which some may be left out. */
export class Parameters {
  readonly names: readonly string[]
  readonly #tool: ToolSpec
  readonly #properties: JsonObject
  readonly #required: ReadonlySet<unknown>
  readonly #shared: JsonObject
  /** Of a tool that takes a text. */
  readonly #input: JsonObject = { type: 'string' }

  constructor(tool: ToolSpec) {
    const { name, parameters, strict } = tool
    this.#tool = tool
    this.#properties = isRecord(parameters.properties) ? parameters.properties : {}
    this.#required = new Set(Array.isArray(parameters.required) ? parameters.required : [])
    this.names = Object.keys(this.#properties)
    const { $defs, definitions } = parameters
    this.#shared = { ...($defs !== undefined && { $defs }), ...(definitions !== undefined && { definitions }) }
    if (!strict) return
    const beyond = Object.keys(parameters).find((keyword) => !PLAIN.has(keyword))
    const lost = [...this.#required].find((each) => !this.names.includes(each as string))
    const open = isRecord(parameters.additionalProperties) || parameters.additionalProperties === true
    const keyword =
      beyond ?? (lost === undefined ? undefined : 'required') ?? (open ? 'additionalProperties' : undefined)
    if (keyword === undefined) return
    throw refused(`'${keyword}' of the parameters of '${name}' cannot be enforced in this model's tool call format.`)
  }

  /** All of them, as one object. */
  get whole(): TextPart {
    return this.value(this.#tool.parameters)
  }

  /** A value that satisfies a schema, as JSON. */
  value(schema: JsonObject): TextPart {
    const { input } = this.#tool
    if (input && schema === this.#tool.parameters) return { sequence: ['{"input":', { quoted: input }, '}'] }
    if (input && schema === this.#input) return { quoted: input }
    return { schema, strict: this.#tool.strict, layout: 'compact' }
  }

  /** What a text must be where it stands as it is; undefined for what is no text, or one that only JSON can be held to. */
  text(schema: JsonObject): TextPart | undefined {
    const { input } = this.#tool
    if (!input) return isAnyText(schema) ? ANY_ARGUMENT : undefined
    return 'without' in input && input.without.length === 0 ? ANY_ARGUMENT : input
  }

  /** The schema of one. */
  schema(name: string): JsonObject {
    if (this.#tool.input) return this.#input
    const own = this.#properties[name]
    if (!isRecord(own)) return own === false ? { not: {} } : {}
    return { ...this.#shared, ...own }
  }

  /** Each in its turn, as `spell` has it, those that are not required perhaps not; `between` two that are there. */
  inOrder(spell: (name: string, schema: JsonObject) => TextPart, between: string, names = this.names): TextPart {
    const parts = names.map((name) => spell(name, this.schema(name)))
    const follows = (index: number): TextPart => {
      const part: TextPart = { sequence: [between, parts[index]!] }
      return this.#required.has(names[index]) ? part : maybe(part)
    }
    const after = (index: number) => names.slice(index + 1).map((_, i) => follows(index + 1 + i))
    const first = names.findIndex((name) => this.#required.has(name))
    if (first >= 0) {
      const before = parts.slice(0, first).map((part) => maybe({ sequence: [part, between] }))
      return { sequence: [...before, parts[first]!, ...after(first)] }
    }
    return maybe(...parts.map((part, i): TextPart => ({ sequence: [part, ...after(i)] })))
  }
}

/** One of these, or nothing. */
const maybe = (...parts: readonly TextPart[]): TextPart => ({ choice: ['', ...parts] })

/** What a schema may say of a text without restricting it. */
const SAYS_NOTHING = new Set([
  'type',
  'title',
  'description',
  'default',
  'examples',
  '$comment',
  '$defs',
  'definitions',
])

/** Whether a schema admits any text, and nothing else: what restricts it is kept to in JSON alone. */
export function isAnyText(schema: JsonObject): boolean {
  return schema.type === 'string' && Object.keys(schema).every((keyword) => SAYS_NOTHING.has(keyword))
}

/** The texts of a schema that names them one by one. */
export function namedTexts({ enum: values, const: only }: JsonObject): readonly string[] | undefined {
  if (only !== undefined) return typeof only === 'string' ? [only] : undefined
  return Array.isArray(values) && values.every((value) => typeof value === 'string') ? values : undefined
}
