import type { OutputGrammar, TextSource, ToolSpec } from '../engine.js'
import { V1Error } from '../errors.js'
import { LruMap } from '../platform/lru-map.js'
import type { Slices } from '../platform/turns.js'
import {
  compile,
  fromSource,
  type Grammar,
  type LayoutOption,
  SchemaError,
  schemaErrorMessage,
} from '../structured/index.js'
import type { CallSpec, FieldNames } from '../wire/reply.js'
import { type DocumentCheck, documentCheck, textCheck } from './verify.js'

/** What a request demands of the generated text, compiled: for the engine to keep to, and for us to check. */
export interface OutputConstraint {
  readonly grammar?: OutputGrammar
  readonly toolGrammar?: OutputGrammar
  /** What lenient schemas ask for and nothing enforces, in words. */
  readonly notEnforced: readonly string[]
  /** Of the content. */
  readonly check?: DocumentCheck
  /** Of the arguments, by tool. */
  readonly toolChecks: ReadonlyMap<string, DocumentCheck>
}

interface Compiled {
  readonly grammar: Grammar
  readonly check: DocumentCheck
}

/** Steps that all tools of a request may take to compile: about half a second. */
const MOST_STEPS = 500_000
/** And their calls, one beside the other: they share what is known by then. */
const MOST_STEPS_TOGETHER = 700_000
const TOO_MUCH =
  "The tools together are too complex to enforce. Send fewer of them, make their 'parameters' simpler, or choose one by 'tool_choice'."

const ADVICE = " Leave it out, or set 'strict' to false: what cannot be enforced is then left to the model."

/** Schemas that are larger are compiled anew each time rather than kept. */
const MAX_KEPT_CHARACTERS = 200_000

/** What a request asks of the text of its answer. */
export type ConstrainedSpec = Pick<CallSpec, 'output' | 'tools' | 'toolChoice' | 'fields'>

/** Compiles what requests ask for, and keeps what was used last: clients send the same schema again and again. */
export class Constraints {
  readonly #kept: LruMap<string, Compiled>
  /** Apart, so that many bad schemas push out nobody's good one. */
  readonly #refused: LruMap<string, SchemaError>
  readonly #layout: LayoutOption

  /** `layout` is that of contents; arguments of tools are for programs, and compact. */
  constructor(layout: LayoutOption = 'compact', maxKept = 64) {
    this.#layout = layout
    this.#kept = new LruMap(maxKept)
    this.#refused = new LruMap(maxKept)
    // A layout that there is not is refused now, not with the first request.
    compile(true, { layout })
  }

  /**
   * Throws a 400 that names the keyword and its place for a strict schema that cannot be enforced exactly. Pauses before
   * each schema that is not known yet: compiling one may take a while.
   */
  *of({ output, tools, toolChoice, fields }: ConstrainedSpec): Slices<OutputConstraint> {
    const notEnforced: string[] = []
    const toolChecks = new Map<string, DocumentCheck>()
    const toolGrammar =
      toolChoice === 'none' ? undefined : yield* this.#ofTools(tools, toolChoice, fields, toolChecks, notEnforced)
    if (output.type === 'text') return { toolGrammar, toolChecks, notEnforced }
    if (output.type === 'json_object') {
      const { grammar, check } = yield* this.#compile({ type: 'object' }, true, this.#layout)
      return { grammar, check: { ...check, strict: false }, toolGrammar, toolChecks, notEnforced }
    }
    if (output.type === 'grammar') {
      const { grammar, check } = yield* this.#ofGrammar(fields.format, output.source)
      return { grammar, check, toolGrammar, toolChecks, notEnforced }
    }
    const { schema, name, strict } = output
    const { grammar, check } = yield* this.#refusing(fields.format, name, schema, strict, this.#layout)
    for (const error of grammar.notEnforced) notEnforced.push(inWords(error))
    return { grammar, check, toolGrammar, toolChecks, notEnforced }
  }

  *#ofGrammar(param: string, source: TextSource): Slices<Compiled> {
    const refused = (message: string) => new V1Error(400, `Invalid '${param}': ${message}`, { param })
    try {
      const kept = yield* this.#remembered(JSON.stringify(source), () => compiledGrammar(source))
      const [token] = kept.grammar.silentTokens
      if (token !== undefined) throw refused(`the token ${token} stands for no text, and an answer is text.`)
      return kept
    } catch (error) {
      if (error instanceof SchemaError) throw refused(error.message)
      throw error
    }
  }

  *#ofTools(
    tools: readonly ToolSpec[],
    choice: CallSpec['toolChoice'],
    fields: FieldNames,
    checks: Map<string, DocumentCheck>,
    notEnforced: string[],
  ): Slices<OutputGrammar> {
    const admitted = tools.filter(({ name }) => typeof choice === 'string' || name === choice.name)
    const calls: unknown[] = []
    let steps = 0
    for (const tool of admitted) {
      const param = fields.parameters(tools.indexOf(tool))
      const { parameters, strict } = tool
      const { check, grammar } = yield* this.#refusing(param, tool.name, parameters, strict, 'compact', 'function')
      if (tool.strict) checks.set(tool.name, check)
      steps += grammar.steps
      if (steps > MOST_STEPS) throw new V1Error(400, TOO_MUCH, { param: 'tools' })
      for (const error of grammar.notEnforced) notEnforced.push(`${tool.name}: ${inWords(error)}`)
      calls.push(callSchema(tool))
    }
    // Each tool has been judged by itself above, strictly where it asked for that.
    try {
      const all = calls.length === 1 ? calls[0] : { anyOf: calls }
      return (yield* this.#compile(all, false, 'compact', MOST_STEPS_TOGETHER)).grammar
    } catch (error) {
      if (error instanceof SchemaError) throw new V1Error(400, TOO_MUCH, { param: 'tools' })
      throw error
    }
  }

  *#refusing(
    param: string,
    name: string,
    schema: unknown,
    strict: boolean,
    layout: LayoutOption,
    subject = 'response_format',
  ): Slices<Compiled> {
    try {
      return yield* this.#compile(schema, strict, layout)
    } catch (error) {
      if (!(error instanceof SchemaError)) throw error
      const message = schemaErrorMessage(error, name, subject).replace(/[^.?!]$/, '$&.')
      const mayBeLenient = strict && (yield* this.#isLenientlyGood(schema, layout))
      throw new V1Error(400, mayBeLenient ? message + ADVICE : message, { param })
    }
  }

  *#isLenientlyGood(schema: unknown, layout: LayoutOption): Slices<boolean> {
    try {
      yield* this.#compile(schema, false, layout)
      return true
    } catch (error) {
      if (error instanceof SchemaError) return false
      throw error
    }
  }

  *#compile(schema: unknown, strict: boolean, layout: LayoutOption = 'compact', fuel?: number): Slices<Compiled> {
    const key = JSON.stringify([strict, layout, fuel, schema])
    return yield* this.#remembered(key, () => compiled(schema, strict, layout, fuel))
  }

  *#remembered(key: string, make: () => Compiled | SchemaError): Slices<Compiled> {
    const known = () => this.#kept.get(key) ?? this.#refused.get(key)
    if (known() === undefined) yield
    // Another request may have brought the same one meanwhile.
    const found = known() ?? make()
    const keeps = key.length <= MAX_KEPT_CHARACTERS
    if (found instanceof SchemaError) {
      if (keeps) this.#refused.set(key, found)
      throw found
    }
    if (keeps) this.#kept.set(key, found)
    return found
  }
}

function compiledGrammar(source: TextSource): Compiled | SchemaError {
  try {
    const grammar = fromSource(source)
    return { grammar, check: textCheck(grammar) }
  } catch (error) {
    if (error instanceof SchemaError) return error
    throw error
  }
}

function compiled(schema: unknown, strict: boolean, layout: LayoutOption, fuel?: number): Compiled | SchemaError {
  try {
    const grammar = compile(schema, { strict, layout, ...(fuel !== undefined && { fuel }) })
    return { grammar, check: documentCheck(schema, grammar, strict) }
  } catch (error) {
    if (error instanceof SchemaError) return error
    throw error
  }
}

/** A call as engines write it. The parameters get a base of their own, so that `#/$defs/...` in them still points there. */
function callSchema({ name, parameters }: ToolSpec): unknown {
  const own = { $id: `urn:local-v1:tool:${name}`, ...parameters }
  return {
    type: 'object',
    properties: { name: { const: name }, arguments: own },
    required: ['name', 'arguments'],
    additionalProperties: false,
  }
}

function inWords({ path, keyword }: SchemaError): string {
  return ['#', ...path, ...(keyword === '' ? [] : [keyword])].join('/')
}
