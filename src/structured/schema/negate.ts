import { complement } from '../text/automaton.js'
import { NUMBER_FORMATS } from '../text/formats.js'
import { readContains, readDependencies, readItems, readProperties } from './arrays-objects.js'
import type { Branch, Choice } from './branch.js'
import { type Context, ignoresSiblings, refusal } from './context.js'
import type { Schema, Site } from './document.js'
import { excluding } from './exclude.js'
import type { Expander } from './expand.js'
import { forbid } from './forbid.js'
import { has } from './json.js'
import {
  readBounds,
  readConstant,
  readConstants,
  readCount,
  readList,
  readNumber,
  readString,
  readStrings,
  readType,
  refuseForeign,
} from './keywords.js'
import { ANY, ARRAY, type Atom, NUMBER, OBJECT, type Part, STRING } from './part.js'
import { formatOf, patternAutomaton, placed } from './texts.js'
import { canDeny } from './unlike.js'

type Keywords = Exclude<Schema, boolean>

/**
 * The values that break a schema: a choice between breaking one keyword or another. What cannot be said exactly becomes
 * an obstacle of the kinds of value that it concerns, and is refused only if such values remain possible.
 */
export function negate(expander: Expander, site: Site, schema: Keywords, branch: Branch): void {
  const { context } = expander
  const child = (value: unknown, ...steps: (string | number)[]): Atom => context.child(site, value, ...steps)
  if (typeof schema.$ref === 'string') {
    const target = context.not(expander.follow(site, schema.$ref))
    if (ignoresSiblings(site) || Object.keys(schema).length === 1) {
      branch.next(target)
      return
    }
  }
  refuseForeign(context, site, schema)
  const choices: Choice[] = []
  if (typeof schema.$ref === 'string') choices.push({ atoms: [context.not(expander.follow(site, schema.$ref))] })
  negateValues(context, site, schema, choices)
  negateTexts(context, site, schema, choices)
  negateArrays(context, site, schema, choices)
  negateObjects(expander, site, schema, choices)
  const list = (keyword: string) =>
    schema[keyword] === undefined
      ? []
      : readList(site, keyword, schema[keyword]).map((item, i) => child(item, keyword, i))
  for (const atom of list('allOf')) choices.push({ atoms: [context.not(atom)] })
  if (schema.anyOf !== undefined) choices.push({ atoms: list('anyOf').map((atom) => context.not(atom)) })
  if (schema.oneOf !== undefined) choices.push(notExactlyOne(expander, site, list('oneOf')))
  if (schema.not !== undefined) choices.push({ atoms: [child(schema.not, 'not')] })
  if (schema.if !== undefined && site.resource.draft >= 7) {
    const test = child(schema.if, 'if')
    if (schema.then !== undefined) choices.push({ atoms: [test, context.not(child(schema.then, 'then'))] })
    if (schema.else !== undefined) choices.push({ atoms: [context.not(test), context.not(child(schema.else, 'else'))] })
  }
  for (const keyword of ['unevaluatedProperties', 'unevaluatedItems', '$dynamicRef', '$recursiveRef']) {
    if (schema[keyword] !== undefined) choices.push(obstacle(ANY, site, keyword))
  }
  // Next, before choices that stand further out: contradictions show early, and do not multiply.
  branch.sooner(choices)
}

/** A way to break the schema that cannot be described exactly. */
function obstacle(kinds: number, site: Site, keyword: string): Choice {
  const error = refusal(site, keyword, `'${keyword}' is not supported inside a negation.`)
  return {
    edit: (part) => {
      part.kinds &= kinds
      part.obstacles.push({ kinds, error })
    },
  }
}

function only(kinds: number, edit: (part: Part) => void): Choice {
  return {
    edit: (part) => {
      part.kinds &= kinds
      edit(part)
    },
  }
}

function negateValues(context: Context, site: Site, schema: Keywords, choices: Choice[]): void {
  if (schema.type !== undefined) {
    const { kinds, integer } = readType(site, schema.type)
    choices.push(only(ANY & ~kinds, () => {}))
    if (integer) choices.push(only(NUMBER, (part) => part.number.denied.push(1)))
  }
  if (schema.enum !== undefined)
    choices.push(excluding(context, site, 'enum', readConstants(site, 'enum', schema.enum)))
  if (has(schema, 'const') && site.resource.draft >= 6)
    choices.push(excluding(context, site, 'const', [readConstant(site, 'const', schema.const)]))
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum } = readBounds(site, schema)
  const bound = (value: number, edit: (n: Part['number']) => void) => {
    if (Number.isFinite(value)) choices.push(only(NUMBER, (part) => edit(part.number)))
  }
  bound(minimum, (n) => (n.exclusiveMaximum = Math.min(n.exclusiveMaximum, minimum)))
  bound(exclusiveMinimum, (n) => (n.maximum = Math.min(n.maximum, exclusiveMinimum)))
  bound(maximum, (n) => (n.exclusiveMinimum = Math.max(n.exclusiveMinimum, maximum)))
  bound(exclusiveMaximum, (n) => (n.minimum = Math.max(n.minimum, exclusiveMaximum)))
  const fitting = typeof schema.format === 'string' ? NUMBER_FORMATS.get(schema.format) : undefined
  if (fitting !== undefined) {
    choices.push(only(NUMBER, (part) => part.number.denied.push(1)))
    bound(fitting.minimum, (n) => (n.exclusiveMaximum = Math.min(n.exclusiveMaximum, fitting.minimum)))
    bound(fitting.maximum, (n) => (n.exclusiveMinimum = Math.max(n.exclusiveMinimum, fitting.maximum)))
  }
  if (schema.multipleOf !== undefined) {
    const step = readNumber(site, 'multipleOf', schema.multipleOf)
    const tellable = step > 0 && canDeny(step)
    choices.push(
      tellable ? only(NUMBER, (part) => part.number.denied.push(step)) : obstacle(NUMBER, site, 'multipleOf'),
    )
  }
}

function negateTexts(context: Context, site: Site, schema: Keywords, choices: Choice[]): void {
  if (schema.minLength !== undefined) {
    const limit = readCount(site, 'minLength', schema.minLength)
    choices.push(only(STRING, (part) => (part.maxLength = Math.min(part.maxLength, limit - 1))))
  }
  if (schema.maxLength !== undefined) {
    const limit = readCount(site, 'maxLength', schema.maxLength)
    choices.push(only(STRING, (part) => (part.minLength = Math.max(part.minLength, limit + 1))))
  }
  const opposite = (keyword: string, automaton: ReturnType<typeof formatOf>) => {
    const inverse = automaton && placed(context, site, keyword, () => complement(automaton))
    if (inverse !== undefined) choices.push(only(STRING, (part) => part.texts.push(inverse)))
    else if (context.ignored !== undefined) choices.push(only(STRING, () => {}))
  }
  if (schema.pattern !== undefined) {
    opposite('pattern', patternAutomaton(context, site, 'pattern', readString(site, 'pattern', schema.pattern)))
  }
  if (typeof schema.format === 'string') opposite('format', formatOf(context, site, schema.format))
}

function negateArrays(context: Context, site: Site, schema: Keywords, choices: Choice[]): void {
  const group = readItems(context, site, schema)
  const anything = context.atom(context.document.everything)
  group?.prefix.forEach((atom, i) => {
    const prefix = [...group.prefix.slice(0, i).map(() => anything), context.not(atom)]
    choices.push(
      only(ARRAY, (part) => {
        part.minItems = Math.max(part.minItems, i + 1)
        part.items.push({ prefix, rest: undefined })
      }),
    )
  })
  const rest = group?.rest
  if (group !== undefined && rest !== undefined) {
    if (rest.site.schema === false) {
      choices.push(only(ARRAY, (part) => (part.minItems = Math.max(part.minItems, group.prefix.length + 1))))
    } else if (group.prefix.length > 0) choices.push(obstacle(ARRAY, site, 'items'))
    else {
      const contains = { atom: context.not(rest), inverse: rest, min: 1, max: Infinity }
      choices.push(only(ARRAY, (part) => part.contains.push(contains)))
    }
  }
  const contains = readContains(context, site, schema)
  if (contains !== undefined) {
    const { min, max } = contains
    if (min > 0) choices.push(only(ARRAY, (part) => part.contains.push({ ...contains, min: 0, max: min - 1 })))
    if (max < Infinity)
      choices.push(only(ARRAY, (part) => part.contains.push({ ...contains, min: max + 1, max: Infinity })))
  }
  if (schema.minItems !== undefined) {
    const limit = readCount(site, 'minItems', schema.minItems)
    choices.push(only(ARRAY, (part) => (part.maxItems = Math.min(part.maxItems, limit - 1))))
  }
  if (schema.maxItems !== undefined) {
    const limit = readCount(site, 'maxItems', schema.maxItems)
    choices.push(only(ARRAY, (part) => (part.minItems = Math.max(part.minItems, limit + 1))))
  }
  if (schema.uniqueItems === true) choices.push(obstacle(ARRAY, site, 'uniqueItems'))
}

function negateObjects(expander: Expander, site: Site, schema: Keywords, choices: Choice[]): void {
  const { context } = expander
  if (schema.required !== undefined) {
    for (const key of readStrings(site, 'required', schema.required)) {
      choices.push({ edit: (part) => forbid(context, part, key) })
    }
  }
  const group = readProperties(context, site, schema)
  for (const [key, atom] of group?.properties ?? []) {
    if (atom.site.schema === true) continue
    const properties = new Map([[key, context.not(atom)]])
    choices.push(
      only(OBJECT, (part) => {
        part.required.add(key)
        part.groups.push({ properties, patterns: [], additional: undefined })
      }),
    )
  }
  const trivial = (atom: Atom | undefined) => atom === undefined || atom.site.schema === true
  if (group?.patterns.some((pattern) => !trivial(pattern.atom)))
    choices.push(obstacle(OBJECT, site, 'patternProperties'))
  if (group !== undefined && !trivial(group.additional)) choices.push(obstacle(OBJECT, site, 'additionalProperties'))
  if (schema.propertyNames !== undefined && schema.propertyNames !== true && site.resource.draft >= 6) {
    choices.push(obstacle(OBJECT, site, 'propertyNames'))
  }
  if (schema.minProperties !== undefined) {
    const limit = readCount(site, 'minProperties', schema.minProperties)
    choices.push(only(OBJECT, (part) => (part.maxProperties = Math.min(part.maxProperties, limit - 1))))
  }
  if (schema.maxProperties !== undefined) {
    const limit = readCount(site, 'maxProperties', schema.maxProperties)
    choices.push(only(OBJECT, (part) => (part.minProperties = Math.max(part.minProperties, limit + 1))))
  }
  for (const { key, keys, schema: demanded } of readDependencies(context, site, schema)) {
    const holding = (part: Part) => part.required.add(key)
    if (demanded !== undefined) choices.push({ atoms: [context.not(demanded)], edit: only(OBJECT, holding).edit! })
    for (const missing of keys ?? []) {
      choices.push({
        edit: (part) => {
          holding(part)
          forbid(context, part, missing)
        },
      })
    }
  }
}

/** None of them, or two at once. */
function notExactlyOne(expander: Expander, site: Site, atoms: readonly Atom[]): Choice {
  for (let i = 0; i < atoms.length; i++) {
    for (let j = i + 1; j < atoms.length; j++) {
      if (expander.overlap(atoms[i]!, atoms[j]!)) return obstacle(ANY, site, 'oneOf')
    }
  }
  return { atoms: atoms.map((atom) => expander.context.not(atom)) }
}
