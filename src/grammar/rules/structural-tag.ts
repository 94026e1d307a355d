import { isRecord, type Slices } from '../../platform/index.js'
import { textsUpTo, textsWithout } from '../automata/search.js'
import { choiceOf, followedBy, inSequence, NOTHING, type Rule, repeated } from '../automaton/rule.js'
import { GrammarError } from '../grammar-error.js'
import type { RuleParts } from './parts.js'

/**
 * Free text with parts of which each begins with a trigger, as vLLM and XGrammar write it: the older form (`structures`
 * and `triggers`) and the newer one (`format`). What is not known is refused by its place.
 */
export function* readStructuralTag(description: unknown, builder: RuleParts): Slices<Rule> {
  const root = fields(description, '')
  if ('format' in root) return yield* new Tags(builder).format(root.format, 'format')
  const { structures, triggers } = root
  const tags = listed(structures, 'structures').map((one, i) => {
    const { begin, schema, end } = fields(one, `structures[${i}]`)
    return { type: 'tag', begin, content: { type: 'json_schema', json_schema: schema }, end }
  })
  return yield* new Tags(builder).format({ type: 'triggered_tags', triggers, tags }, '')
}

interface Tag {
  readonly begin: string
  /** What follows `begin`, up to and with its end. */
  readonly rest: Rule
}

class Tags {
  readonly #builder: RuleParts

  constructor(builder: RuleParts) {
    this.#builder = builder
  }

  /** `place` says where it stands, for whoever reads a refusal. */
  *format(description: unknown, place: string): Slices<Rule> {
    const format = fields(description, place)
    const builder = this.#builder
    switch (format.type) {
      case 'const_string':
        return builder.literal(texted(format.value, `${place}.value`))
      case 'json_schema':
        if ((format.style ?? 'json') !== 'json') throw new GrammarError(`'${place}.style' may only be 'json'.`)
        return yield* builder.rule({ schema: format.json_schema })
      case 'regex':
        return yield* builder.rule({ regex: texted(format.pattern, `${place}.pattern`) })
      case 'grammar':
        return yield* builder.rule({ gbnf: texted(format.grammar, `${place}.grammar`) })
      case 'any_text':
        return builder.free(format.excludes === undefined ? [] : words(format.excludes, `${place}.excludes`))
      case 'sequence':
        return inSequence(yield* this.#all(format.elements, `${place}.elements`))
      case 'or':
        return builder.options(yield* this.#all(format.elements, `${place}.elements`))
      case 'tag': {
        const { begin, rest } = yield* this.#tag(format, place)
        return followedBy(builder.literal(begin), rest)
      }
      case 'triggered_tags':
        return yield* this.#triggered(format, place)
      case 'tags_with_separator':
        return yield* this.#separated(format, place)
      default:
        throw new GrammarError(`'${place}.type' is not known: ${JSON.stringify(format.type) ?? 'it is missing'}.`)
    }
  }

  *#all(list: unknown, place: string): Slices<Rule[]> {
    const rules: Rule[] = []
    for (const [i, one] of listed(list, place).entries()) rules.push(yield* this.format(one, `${place}[${i}]`))
    return rules
  }

  *#tag(description: unknown, place: string): Slices<Tag> {
    if (this.#builder.fuel.tires()) yield
    const { begin, content, end } = fields(description, place)
    const ends = typeof end === 'string' ? [end] : words(end, `${place}.end`)
    const closes = choiceOf(ends.map((one) => this.#builder.literal(one)))
    const inside = fields(content, `${place}.content`)
    // Free text ends where the end first comes.
    const free = inside.type === 'any_text' && inside.excludes === undefined && ends.every((one) => one !== '')
    const rest = free
      ? choiceOf(textsUpTo(ends, this.#builder.fuel).map((text) => this.#builder.text(text)))
      : followedBy(yield* this.format(content, `${place}.content`), closes)
    return { begin: texted(begin, `${place}.begin`), rest }
  }

  *#triggered(format: Record<string, unknown>, place: string): Slices<Rule> {
    const { fuel } = this.#builder
    const at = place === '' ? '' : `${place}.`
    const triggers = words(format.triggers, `${at}triggers`)
    if (triggers.length === 0 || triggers.includes('')) {
      throw new GrammarError(`'${at}triggers' must hold at least one text, and none that is empty.`)
    }
    const tags: Tag[] = []
    for (const [i, tag] of listed(format.tags, `${at}tags`).entries())
      tags.push(yield* this.#tag(tag, `${at}tags[${i}]`))
    const options = textsUpTo(triggers, fuel).flatMap((free, i) => {
      const trigger = triggers[i]!
      const begun = tags.filter(({ begin }) => begin.startsWith(trigger))
      if (begun.length === 0 || free.empty) return []
      const rests = begun.map(({ begin, rest }) => followedBy(this.#builder.literal(begin.slice(trigger.length)), rest))
      return [followedBy(this.#builder.text(free), this.#builder.options(rests))]
    })
    const without_ = tags.find(({ begin }) => !triggers.some((trigger) => begin.startsWith(trigger)))
    if (without_ !== undefined) {
      throw new GrammarError(`no trigger begins the tag '${without_.begin}': it could never come.`)
    }
    const free = this.#builder.text(textsWithout(triggers, fuel))
    const least = format.at_least_one === true ? 1 : 0
    if (options.length === 0) return free
    if (format.stop_after_first === true) return least === 1 ? choiceOf(options) : choiceOf([...options, free])
    return followedBy(repeated(choiceOf(options), least, Infinity), free)
  }

  *#separated(format: Record<string, unknown>, place: string): Slices<Rule> {
    const separator = this.#builder.literal(texted(format.separator, `${place}.separator`))
    const tags = yield* this.#all(format.tags, `${place}.tags`)
    if (tags.length === 0) throw new GrammarError(`'${place}.tags' is empty.`)
    const one = this.#builder.options(tags)
    const some =
      format.stop_after_first === true ? one : followedBy(one, repeated(followedBy(separator, one), 0, Infinity))
    return format.at_least_one === true ? some : choiceOf([some, NOTHING])
  }
}

function fields(value: unknown, place: string): Record<string, unknown> {
  if (isRecord(value)) return value
  throw new GrammarError(place === '' ? 'a structural tag is an object.' : `'${place}' must be an object.`)
}

function listed(value: unknown, place: string): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw new GrammarError(`'${place}' must be a list.`)
}

function texted(value: unknown, place: string): string {
  if (typeof value === 'string') return value
  throw new GrammarError(`'${place}' must be a text.`)
}

function words(value: unknown, place: string): readonly string[] {
  return listed(value, place).map((one, i) => texted(one, `${place}[${i}]`))
}
