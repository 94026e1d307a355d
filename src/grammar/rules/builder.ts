import type { GrammarSource, TextPart } from '../../contract/index.js'
import { isRecord, type Slices } from '../../platform/index.js'
import { textsUpTo } from '../automata/search.js'
import { inSequence, type Rule } from '../automaton/rule.js'
import { GrammarError } from '../grammar-error.js'
import { readGbnf } from './gbnf.js'
import { readLark } from './lark.js'
import { listed, RuleParts, worded } from './parts.js'
import { readStructuralTag } from './structural-tag.js'

const MOST_DEPTH = 100

/** Makes the rules of one grammar from what it is described by. */
export class Builder extends RuleParts {
  #depth = 0;

  *rule(part: TextPart): Slices<Rule> {
    if (this.fuel.tires()) yield
    if (typeof part === 'string') return this.literal(part)
    if (++this.#depth > MOST_DEPTH) throw new GrammarError('the grammar is nested too deeply.')
    const rule = yield* this.#rule(part)
    this.#depth--
    return rule
  }

  *#rule(source: GrammarSource): Slices<Rule> {
    if (!isRecord(source)) throw new GrammarError(`a part of a grammar is a text or an object, not ${typeof source}.`)
    if ('schema' in source) return yield* this.document(source)
    if ('regex' in source) return yield* this.regex(source.regex, source.flags)
    if ('choice' in source) return yield* this.choice(source.choice)
    if ('sequence' in source) return inSequence(yield* this.rules(listed(source.sequence, 'sequence')))
    if ('repeat' in source) {
      return this.repeated(yield* this.rule(source.repeat), source.min ?? 0, source.max ?? Infinity)
    }
    if ('without' in source) return this.free(source.without)
    if ('upTo' in source) return this.text(textsUpTo([worded(source.upTo, 'upTo')], this.fuel)[0]!)
    if ('quoted' in source) return yield* this.string(source.quoted)
    if ('token' in source) return this.token(source.token)
    if ('lark' in source) return yield* readLark(worded(source.lark, 'lark'), this)
    if ('gbnf' in source) return yield* readGbnf(worded(source.gbnf, 'gbnf'), this)
    if ('structuralTag' in source) return yield* readStructuralTag(source.structuralTag, this)
    throw new GrammarError(`a part of a grammar with '${Object.keys(source).join("', '")}' is not known.`)
  }
}
