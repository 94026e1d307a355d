import type { GrammarSource, SchemaSource, TextPart } from '../contract/index.js'
import { atOnce, type Slices } from '../platform/index.js'
import { prepare } from './automaton/entry.js'
import { Machine } from './automaton/machine.js'
import { type CompileOptions, compileInSlices } from './compile.js'
import { Fuel } from './fuel.js'
import { Grammar, type GrammarCache } from './grammar.js'
import { GrammarError } from './grammar-error.js'
import { Builder } from './rules/builder.js'
import { withoutLeftRecursion } from './rules/left-recursion.js'
import { measure, namesIn } from './rules/measure.js'

/** Steps that a grammar may take to compile. */
const GRAMMAR_FUEL = 500_000
/** On average what a step leaves behind. */
const RULE_BYTES = 16
/** Of a rule that has a name: with what it is entered by. */
const NAME_BYTES = 2500
/** Shortest texts beyond this many bytes are refused: no model writes them. */
const LONGEST = 1_000_000

export interface SourceOptions {
  /**
   * Where grammars are kept by what they were compiled from, each schema that is a part of one by itself.
   * @default none
   */
  readonly cache?: GrammarCache
}

/** Compiles the source of a grammar. Throws `GrammarError` or, for a schema in it, `SchemaError`. */
export function fromSource(source: GrammarSource, options: SourceOptions = {}): Grammar {
  return atOnce(fromSourceInSlices(source, options))
}

/** Like `fromSource`, as a generator that pauses every few milliseconds. */
export function* fromSourceInSlices(source: GrammarSource, { cache }: SourceOptions = {}): Slices<Grammar> {
  if (cache === undefined || isOfOneText(source)) return yield* compiled(source, cache)
  const key = JSON.stringify(source)
  const known = cache.get(key)
  if (known !== undefined) return known
  const grammar = yield* compiled(source, cache)
  cache.set(key, grammar)
  return grammar
}

/** Whether it is made for texts to quote from, and so for nobody else. */
function isOfOneText(source: TextPart): boolean {
  if (typeof source === 'string') return false
  if ('schema' in source) return source.quote !== undefined
  if ('choice' in source) return source.choice.some(isOfOneText)
  if ('sequence' in source) return source.sequence.some(isOfOneText)
  if ('repeat' in source) return isOfOneText(source.repeat)
  return 'quoted' in source && isOfOneText(source.quoted)
}

function* compiled(source: GrammarSource, cache?: GrammarCache): Slices<Grammar> {
  if ('schema' in source) {
    const { schema, ...options } = source
    return yield* compileInSlices(schema, options as CompileOptions)
  }
  const fuel = new Fuel(GRAMMAR_FUEL, new Set(), 'the grammar')
  try {
    const builder = new Builder(
      fuel,
      cache &&
        function* (part): Slices<SchemaSource> {
          return (yield* fromSourceInSlices(part, { cache })).source as SchemaSource
        },
    )
    const rule = yield* builder.rule(source)
    yield* measure(rule, fuel)
    const names = yield* namesIn(rule)
    if (names.length > 0) {
      yield* withoutLeftRecursion(names, fuel)
      yield* measure(rule, fuel)
    }
    if (rule.length === Infinity) throw new GrammarError('no text satisfies the grammar.')
    if (rule.length > LONGEST) throw new GrammarError(`every text would be longer than ${LONGEST} bytes.`)
    const machine = new Machine(yield* prepare(rule, fuel), () => builder.forget(), builder.tokens, true)
    const steps = fuel.spent
    return new Grammar(machine, {
      notEnforced: builder.notEnforced,
      source,
      steps,
      bytes: builder.bytes + RULE_BYTES * steps + NAME_BYTES * names.length,
    })
  } catch (error) {
    // The engine's own limit on recursion: the one thing that steps do not count.
    if (error instanceof RangeError) throw new GrammarError('the grammar is nested too deeply.')
    throw error
  }
}

/** A grammar of a schema that is a part of another is not compiled again. */
export type GrammarPart = TextPart | Grammar

function partOf(part: GrammarPart): TextPart {
  return part instanceof Grammar ? part.source : part
}

/**
 * The texts that a regular expression (ECMAScript's, `u`) matches as a whole; flags `i`, `s` and `v`. But for `v` its
 * classes, such as `\s` and `\W`, hold what Python and Rust have in them as well.
 */
export function regex(source: string | RegExp, flags?: string): Grammar {
  if (typeof source !== 'string') return regex(source.source, source.flags)
  return fromSource({ regex: source, ...(flags !== undefined && { flags }) })
}

/** One of these. */
export function choice(options: readonly GrammarPart[]): Grammar {
  return fromSource({ choice: options.map(partOf) })
}

/** One after the other. */
export function sequence(parts: readonly GrammarPart[]): Grammar {
  return fromSource({ sequence: parts.map(partOf) })
}

/** From `min` to `max` times. */
export function repeat(part: GrammarPart, { min = 0, max = Infinity }: { min?: number; max?: number } = {}): Grammar {
  return fromSource({ repeat: partOf(part), min, ...(max !== Infinity && { max }) })
}

/** Any text in which none of these occurs. */
export function without(...words: readonly string[]): Grammar {
  return fromSource({ without: words })
}

/** Any text that ends where this first occurs. */
export function upTo(word: string): Grammar {
  return fromSource({ upTo: word })
}

/** A JSON string, with quotes and escapes, of one of these texts. */
export function quoted(part: GrammarPart): Grammar {
  return fromSource({ quoted: partOf(part) })
}

/** A grammar as Lark writes it; docs/grammars.md says what is supported. */
export function lark(grammar: string): Grammar {
  return fromSource({ lark: grammar })
}

/** A grammar as llama.cpp writes it. */
export function gbnf(grammar: string): Grammar {
  return fromSource({ gbnf: grammar })
}

/** Free text with parts that begin with a trigger, as vLLM and XGrammar write them. */
export function structuralTag(description: unknown): Grammar {
  return fromSource({ structuralTag: description })
}
