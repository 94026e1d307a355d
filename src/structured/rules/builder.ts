import type { GrammarSource, SchemaSource, TextPart } from '../../engine.js'
import type { CharSet } from '../automata/charset.js'
import { literalSet, oneOf } from '../automata/literals.js'
import { upTo, without } from '../automata/search.js'
import { type TextAutomaton, TextError } from '../automata/types.js'
import { FixedFrame } from '../automaton/fixed.js'
import { FrameTable } from '../automaton/frame-table.js'
import { PlainTextFrame } from '../automaton/plain-text.js'
import { choice, leaf, NOTHING, type Rule, repeat, sequence } from '../automaton/rule.js'
import { FIRST_TOKEN, TokenFrame } from '../automaton/token.js'
import type { Fuel } from '../fuel.js'
import { GrammarError } from '../grammar-error.js'
import { compileRegex } from '../regex/regex.js'
import { Context } from '../schema/context.js'
import { Document } from '../schema/document.js'
import { layoutOf, toBytes } from '../schema/format.js'
import { isObject } from '../schema/json.js'
import { Values } from '../schema/values.js'
import type { SchemaError } from '../schema-error.js'
import { gbnf } from './gbnf.js'
import { lark } from './lark.js'
import { structuralTag } from './structural-tag.js'

/** More rounds than any text has. */
const MOST_ROUNDS = 100_000
const MOST_DEPTH = 100
const REGEX_COST = 200

/** Makes the rules of one grammar from what it is described by. */
export class Builder {
  readonly fuel: Fuel
  /** The tokens without text, in the order of their symbols. */
  readonly tokens: string[] = []
  /** What lenient schemas could not enforce. */
  readonly notEnforced: SchemaError[] = []
  readonly #tables = new Map<string, FrameTable>()
  /** A schema may stand in several places. */
  readonly #documents = new Map<SchemaSource, Rule>()
  #depth = 0

  constructor(fuel: Fuel) {
    this.fuel = fuel
  }

  /** Drops what was only kept to be quick. */
  forget(): void {
    for (const table of this.#tables.values()) table.forget()
  }

  rule(part: TextPart): Rule {
    if (typeof part === 'string') return this.literal(part)
    if (++this.#depth > MOST_DEPTH) throw new GrammarError('the grammar is nested too deeply.')
    const rule = this.#rule(part)
    this.#depth--
    return rule
  }

  #rule(source: GrammarSource): Rule {
    if (!isObject(source)) throw new GrammarError(`a part of a grammar is a text or an object, not ${typeof source}.`)
    if ('schema' in source) return this.document(source)
    if ('regex' in source) return this.regex(source.regex, source.flags)
    if ('choice' in source) return this.#choice(source.choice)
    if ('sequence' in source) return sequence(listed(source.sequence, 'sequence').map((part) => this.rule(part)))
    if ('repeat' in source) return this.repeated(this.rule(source.repeat), source.min ?? 0, source.max ?? Infinity)
    if ('without' in source) return this.free(source.without)
    if ('upTo' in source) return this.text(upTo([worded(source.upTo, 'upTo')], this.fuel)[0]!)
    if ('token' in source) return this.token(source.token)
    if ('lark' in source) return lark(worded(source.lark, 'lark'), this)
    if ('gbnf' in source) return gbnf(worded(source.gbnf, 'gbnf'), this)
    if ('structuralTag' in source) return structuralTag(source.structuralTag, this)
    throw new GrammarError(`a part of a grammar with '${Object.keys(source).join("', '")}' is not known.`)
  }

  literal(text: string): Rule {
    if (/\p{Surrogate}/u.test(text)) throw new GrammarError('a text holds half a character (a lone surrogate).')
    this.fuel.spend(text.length >> 2)
    const frame = FixedFrame.of(toBytes(text))
    return frame === undefined ? NOTHING : leaf(frame)
  }

  #choice(options: readonly TextPart[]): Rule {
    if (listed(options, 'choice').length === 0) throw new GrammarError("'choice' is empty: nothing could be said.")
    const texts = options.filter((option): option is string => typeof option === 'string')
    const others = options.filter((option) => typeof option !== 'string')
    // Many texts are one automaton, which knows what they share.
    const words = texts.length > 1 ? [this.text(literalSet(texts, this.fuel))] : texts.map((text) => this.literal(text))
    return choice([...words, ...others.map((option) => this.rule(option))])
  }

  text(automaton: TextAutomaton): Rule {
    return leaf(PlainTextFrame.of(automaton))
  }

  /** One character of a set. */
  characters(set: CharSet): Rule {
    return this.text(oneOf(set))
  }

  free(words: readonly string[]): Rule {
    if (listed(words, 'without').some((word) => word === '')) throw new GrammarError("'without' holds an empty text.")
    return this.text(
      without(
        words.map((word) => worded(word, 'without')),
        this.fuel,
      ),
    )
  }

  /** `at`: what to say where it is wrong. */
  regex(source: string, flags = '', place?: { readonly text: string; readonly at: number }): Rule {
    // Also where it is known already: reading it again takes its time.
    this.fuel.spend(REGEX_COST)
    try {
      return this.text(compileRegex(worded(source, 'regex'), this.fuel, { flags, whole: true }))
    } catch (error) {
      if (error instanceof TextError) throw new GrammarError(`/${source}/: ${error.message}`, place)
      throw error
    }
  }

  document(source: SchemaSource): Rule {
    let rule = this.#documents.get(source)
    if (rule === undefined) {
      rule = this.#document(source)
      this.#documents.set(source, rule)
    }
    return rule
  }

  #document({ schema, strict = true, layout: chosen = 'compact' }: SchemaSource): Rule {
    const layout = layoutOf(chosen)
    const context = new Context(new Document(schema), this.fuel, layout, strict ? undefined : this.notEnforced)
    const key = JSON.stringify(chosen)
    let table = this.#tables.get(key)
    if (table === undefined) {
      table = new FrameTable(layout)
      this.#tables.set(key, table)
    }
    return leaf(table.value(new Values(context).root()))
  }

  token(name: string): Rule {
    let index = this.tokens.indexOf(worded(name, 'token'))
    if (index < 0) index = this.tokens.push(name) - 1
    return leaf(new TokenFrame(FIRST_TOKEN + index))
  }

  repeated(body: Rule, min: number, max: number): Rule {
    const good = (count: number) => Number.isInteger(count) && count >= 0 && count <= MOST_ROUNDS
    if (!good(min) || !(good(max) || max === Infinity) || min > max) {
      throw new GrammarError(`from ${min} to ${max} times: that is no repetition of up to ${MOST_ROUNDS}.`)
    }
    return repeat(body, min, max)
  }
}

function listed<T>(list: readonly T[], name: string): readonly T[] {
  if (!Array.isArray(list)) throw new GrammarError(`'${name}' must be a list.`)
  return list
}

function worded(text: string, name: string): string {
  if (typeof text !== 'string') throw new GrammarError(`'${name}' must be a text.`)
  return text
}
