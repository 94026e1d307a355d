import {
  type ConstrainCall,
  type Constrained,
  type ConstrainedAnswer,
  type OutputGrammar,
  type QuoteSource,
  type TextPart,
  type TextSource,
  type ToolSpec,
  V1Error,
} from '../../contract/index.js'
import { inTurns, keptError, LruMap, type Slices } from '../../platform/index.js'
import { type DocumentCheck, documentCheck, inputCheck, textCheck } from '../judge.js'
import {
  compile,
  compileInSlices,
  type Formats,
  fromSourceInSlices,
  type Grammar,
  GrammarCache,
  type LayoutOption,
  SchemaError,
  schemaErrorMessage,
} from '../structured.js'
import { layoutOf } from '../values/format.js'
import { quotesOf, saysQuote } from './quoted.js'

/** Steps that all tools of a request may take to compile: about half a second, if none is known yet. */
const MOST_STEPS = 400_000
const TOO_MUCH =
  "The tools together are too complex to enforce. Send fewer of them, make their 'parameters' simpler, or choose one by 'tool_choice'."

const ADVICE = " Leave it out, or set 'strict' to false: what cannot be enforced is then left to the model."

/** Formats beside which 'strict' stands; the others (`guided_json`, Anthropic's, Ollama's) are always strict. */
const CHOSEN = new Set(['response_format', 'text.format'])

/** What is larger is compiled anew each time rather than kept. */
const MAX_KEPT_CHARACTERS = 200_000
/** Of grammars that were asked for before. */
const MAX_KEPT_BYTES = 16 * 2 ** 20
/** As many as run at a time: what is left of others is let go with them. */
const MAX_BEGUN = 8
/** Of sources that were refused, in characters. */
const MAX_REFUSED = 2 ** 20

/** What a request asks of the text of its answer. */
export type ConstrainedSpec = Pick<ConstrainCall, 'output' | 'tools' | 'toolChoice' | 'places' | 'quote'> & {
  readonly caller?: string | undefined
}

/** Compiles what requests ask for, and keeps what was used last: clients send the same schema again and again. */
export class Constraints {
  readonly kept = new GrammarCache({ maxBytes: MAX_KEPT_BYTES })
  /** Apart, so that many bad schemas push out nobody's good one. */
  readonly #refused = new LruMap<string, SchemaError>(MAX_REFUSED, (key, { message }) => key.length + message.length)
  /** Compilations under way, some perhaps left. */
  readonly #begun = new LruMap<string, Slices<Grammar>>(MAX_BEGUN)
  readonly #layout: LayoutOption
  readonly #own: { readonly formats?: Formats }
  /** What it was made with, for who compiles elsewhere. */
  readonly own: Pick<ConstrainCall, 'layout' | 'formats'>

  /** `layout` is that of contents; arguments of tools are for programs, and compact. */
  constructor(layout: LayoutOption = 'compact', formats?: Formats) {
    this.#layout = layout
    this.#own = formats ? { formats } : {}
    this.own = { layout, ...this.#own }
    // What cannot be used of them is refused now, not with the first request.
    layoutOf(layout)
    if (!formats) return
    const named = Object.keys(formats).map((format) => [format, { type: 'string', format }])
    compile({ properties: Object.fromEntries(named), additionalProperties: false }, this.#own)
  }

  /**
   * Throws a 400 that names the keyword and its place for a strict schema that cannot be enforced exactly. Pauses before
   * each schema that is not known yet, and every few milliseconds while it is compiled.
   */
  *of({ output, tools, toolChoice, places, quote, caller }: ConstrainedSpec): Slices<Constrained> {
    const notEnforced: string[] = []
    const toolChecks = new Map<string, DocumentCheck>()
    const toolGrammar =
      toolChoice === 'none'
        ? undefined
        : yield* this.#ofTools(tools, toolChoice, places.tools, toolChecks, notEnforced, quote)
    const found = (grammar?: Grammar, check?: DocumentCheck): Constrained => ({
      ...(grammar && { grammar }),
      ...(toolGrammar && { toolGrammar }),
      notEnforced,
      faultOf: (answer) => atOnceOrInTurns(faultOf(answer, check, toolChecks), caller),
    })
    if (output.type === 'text') return found()
    const quotes = quote && quotesOf(output) ? quote : undefined
    if (output.type === 'json_object') {
      const schema = { type: 'object' }
      const layout = output.layout ?? this.#layout
      if (!quotes) {
        const grammar = yield* this.#compile(schema, true, layout)
        return found(grammar, documentCheck(schema, grammar, false))
      }
      const grammar = yield* this.#refusing(places.format, 'response', schema, true, layout, undefined, quotes)
      return found(grammar, documentCheck(schema, grammar, true, undefined, quotes))
    }
    if (output.type === 'grammar') {
      const grammar = yield* this.#ofGrammar(places.format, output.source)
      return found(grammar, textCheck(grammar))
    }
    const { schema, name, strict } = output
    const layout = output.layout ?? this.#layout
    const grammar = yield* this.#refusing(places.format, name, schema, strict, layout, undefined, quotes)
    for (const error of grammar.notEnforced) notEnforced.push(inWords(error))
    return found(grammar, documentCheck(schema, grammar, strict, this.#own.formats, quotes))
  }

  *#ofGrammar(param: string, source: TextSource): Slices<Grammar> {
    const refused = (message: string) => new V1Error(400, `Invalid '${param}': ${message}`, { param })
    try {
      const grammar = yield* this.#remembered(JSON.stringify(source), () => fromSourceInSlices(source))
      const [token] = grammar.silentTokens
      if (token !== undefined) throw refused(`the token ${token} has no text, so it cannot be part of an answer.`)
      return grammar
    } catch (error) {
      if (error instanceof SchemaError) throw refused(error.message)
      throw error
    }
  }

  *#ofTools(
    tools: readonly ToolSpec[],
    choice: ConstrainCall['toolChoice'],
    places: readonly string[],
    checks: Map<string, DocumentCheck>,
    notEnforced: string[],
    quote: QuoteSource | undefined,
  ): Slices<OutputGrammar> {
    const admitted = tools.filter(({ name }) => typeof choice === 'string' || name === choice.name)
    const calls: TextPart[] = []
    let [steps, key] = [0, '']
    let quoting = false
    for (const tool of admitted) {
      const { name, parameters, strict, input } = tool
      const param = places[tools.indexOf(tool)]!
      // The strings of an answer may all be quotes; of arguments those that say so are.
      const quotes = quote && saysQuote(parameters) ? { texts: quote.texts } : undefined
      quoting ||= quotes !== undefined
      let grammar = input || quotes ? undefined : this.kept.get(keyOf(parameters, strict, 'compact'))
      if (input) grammar = yield* this.#ofGrammar(placeOfFormat(param), inputSource(input))
      grammar ??= yield* this.#refusing(param, name, parameters, strict, 'compact', 'function', quotes)
      if (input) checks.set(name, inputCheck(grammar))
      else if (strict) checks.set(name, documentCheck(parameters, grammar, true, this.#own.formats, quotes))
      steps += grammar.steps
      if (steps > MOST_STEPS) throw new V1Error(400, TOO_MUCH, { param: 'tools' })
      for (const error of grammar.notEnforced) notEnforced.push(`${name}: ${inWords(error)}`)
      const head = `{"name":${JSON.stringify(name)},"arguments":`
      calls.push({ sequence: [head, grammar.source, '}'] })
      key += `${head}${grammar.id},`
    }
    // Of a call as engines write it, what may stand in it has been compiled by now: of many tools only the new ones.
    try {
      if (quoting) return yield* fromSourceInSlices({ choice: calls })
      return yield* this.#remembered(key, () => fromSourceInSlices({ choice: calls }))
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
    quote?: QuoteSource,
  ): Slices<Grammar> {
    try {
      return yield* this.#compile(schema, strict, layout, quote)
    } catch (error) {
      if (!(error instanceof SchemaError)) throw error
      const message = schemaErrorMessage(error, name, subject).replace(/[^.?!]$/, '$&.')
      const chosen = subject === 'function' || CHOSEN.has(param)
      const mayBeLenient = strict && chosen && !quote && (yield* this.#isLenientlyGood(schema, layout))
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

  *#compile(schema: unknown, strict: boolean, layout: LayoutOption, quote?: QuoteSource): Slices<Grammar> {
    // What is made for one text is nobody else's, and goes with its request.
    if (quote) return yield* compileInSlices(schema, { strict, layout, ...this.#own, quote })
    return yield* this.#remembered(keyOf(schema, strict, layout), () =>
      compileInSlices(schema, { strict, layout, ...this.#own }),
    )
  }

  *#remembered(key: string, make: () => Slices<Grammar>): Slices<Grammar> {
    const keeps = key.length <= MAX_KEPT_CHARACTERS
    let work: Slices<Grammar> | undefined
    for (;;) {
      const known = this.#known(key)
      if (known !== undefined) return known
      yield
      if (work === undefined && this.#known(key) !== undefined) continue
      // Who asks for the same meanwhile helps to make it, and goes on with it should the first one leave.
      work ??= this.#begun.get(key) ?? make()
      if (keeps) this.#begun.set(key, work)
      try {
        const { done, value } = work.next()
        if (!done) continue
        this.#begun.delete(key)
        work = undefined
        // Somebody else came to its end, and it has been let go since.
        if (value === undefined) continue
        if (keeps) this.kept.set(key, value)
        return value
      } catch (error) {
        this.#begun.delete(key)
        if (error instanceof SchemaError && keeps) this.#refused.set(key, keptError(error))
        throw error
      }
    }
  }

  #known(key: string): Grammar | undefined {
    const refused = this.#refused.get(key)
    if (refused !== undefined) throw refused
    return this.kept.get(key)
  }
}

/** Where such a tool says what the text must be: beside where a function says its parameters. */
const placeOfFormat = (parameters: string): string =>
  parameters.replace('.function.', '.custom.').replace(/\.[^.]*$/, '.format')

/** The arguments of a tool that takes a text. */
const inputSource = (input: TextSource): TextSource => ({ sequence: ['{"input":', { quoted: input }, '}'] })

function keyOf(schema: unknown, strict: boolean, layout: LayoutOption): string {
  return JSON.stringify([strict, layout, schema])
}

function inWords({ path, keyword }: SchemaError): string {
  return ['#', ...path, ...(keyword === '' ? [] : [keyword])].join('/')
}

function* faultOf(
  { text, toolCalls, cut }: ConstrainedAnswer,
  check: DocumentCheck | undefined,
  toolChecks: ReadonlyMap<string, DocumentCheck>,
): Slices<string | undefined> {
  if (check && !(toolCalls.length > 0 && text === '') && !(cut && !check.strict)) {
    const fault = yield* check.faultInSlices(text)
    if (fault !== undefined) return fault
  }
  for (const call of toolCalls) {
    const its = toolChecks.get(call.name)
    const fault = its && (yield* its.faultInSlices(call.arguments))
    if (fault !== undefined) return `${call.name}: ${fault}`
  }
  return undefined
}

/** Most answers are looked at in one slice, and nobody waits for those. */
function atOnceOrInTurns<T>(work: Slices<T>, caller: string | undefined): T | Promise<T> {
  const { done, value } = work.next()
  return done ? value : inTurns(work, undefined, caller)
}
