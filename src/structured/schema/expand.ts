import { NUMBER_FORMATS } from '../text/formats.js'
import { readContains, readDependencies, readItems, readProperties } from './arrays-objects.js'
import { Branch, type Choice } from './branch.js'
import { type Context, ignoresSiblings, refusal } from './context.js'
import { dependencyChoices } from './depend.js'
import type { Schema, Site } from './document.js'
import { canonical, has } from './json.js'
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
  refuseUnsupported,
} from './keywords.js'
import { negate } from './negate.js'
import type { Atom, Part } from './part.js'
import { kindBit, Shallow } from './shallow.js'
import { formatOf, patternAutomaton } from './texts.js'
import { readUnevaluatedItems, readUnevaluatedProperties } from './unevaluated.js'

type Keywords = Exclude<Schema, boolean>

/** Answers whether two subschemas may share a value. */
export type Overlap = (a: Atom, b: Atom) => boolean

/** Turns conjunctions of subschemas into lists of parts whose union they are. */
export class Expander {
  readonly context: Context
  readonly overlap: Overlap
  readonly shallow: Shallow

  constructor(context: Context, overlap: Overlap) {
    this.context = context
    this.overlap = overlap
    this.shallow = new Shallow(context)
  }

  expand(atoms: readonly Atom[]): Part[] {
    const parts: Part[] = []
    const open = [new Branch(atoms)]
    for (let branch = open.pop(); branch !== undefined; branch = open.pop()) {
      // A fork copies what is settled so far.
      this.context.fuel.spend(branch.forked ? 40 : 5)
      for (let atom = branch.take(); atom !== undefined; atom = branch.take()) this.#read(atom, branch)
      if (branch.prune(this.shallow, this.context.fuel)) continue
      const group = branch.choice
      if (group === undefined) parts.push(branch.part)
      else for (let i = group.length - 1; i >= 0; i--) open.push(branch.fork(group[i]!))
    }
    return parts
  }

  #read(atom: Atom, branch: Branch): void {
    const { site } = atom
    const { schema } = site
    this.context.fuel.spend(10)
    this.context.fuel.place = site
    if (typeof schema === 'boolean') {
      if (!schema) branch.part.kinds = 0
    } else if (atom.negated) {
      negate(this, site, schema, branch)
    } else if (typeof schema.$ref === 'string' && ignoresSiblings(site)) {
      branch.next(this.follow(site, schema.$ref))
    } else {
      refuseUnsupported(this.context, site, schema)
      this.#values(site, schema, branch.part)
      this.#texts(site, schema, branch.part)
      this.#arrays(site, schema, branch.part)
      this.#objects(site, schema, branch)
      this.#combined(site, schema, branch)
    }
  }

  follow(site: Site, reference: string): Atom {
    try {
      return this.context.atom(this.context.document.resolve(site, reference, '$ref'))
    } catch (error) {
      this.context.refuse(error)
      return this.context.atom(this.context.document.everything)
    }
  }

  #values(site: Site, schema: Keywords, part: Part): void {
    if (schema.type !== undefined) {
      const { kinds, integer } = readType(site, schema.type)
      part.kinds &= kinds
      if (integer) part.number.integer = true
    }
    if (schema.enum !== undefined) limitTo(part, readConstants(site, 'enum', schema.enum))
    if (has(schema, 'const') && site.resource.draft >= 6) limitTo(part, [readConstant(site, 'const', schema.const)])
    const bounds = readBounds(site, schema)
    const n = part.number
    n.minimum = Math.max(n.minimum, bounds.minimum)
    n.exclusiveMinimum = Math.max(n.exclusiveMinimum, bounds.exclusiveMinimum)
    n.maximum = Math.min(n.maximum, bounds.maximum)
    n.exclusiveMaximum = Math.min(n.exclusiveMaximum, bounds.exclusiveMaximum)
    const fitting = typeof schema.format === 'string' ? NUMBER_FORMATS.get(schema.format) : undefined
    if (fitting !== undefined) {
      n.integer = true
      n.minimum = Math.max(n.minimum, fitting.minimum)
      n.maximum = Math.min(n.maximum, fitting.maximum)
    }
    if (schema.multipleOf !== undefined) {
      const step = readNumber(site, 'multipleOf', schema.multipleOf)
      if (step <= 0) throw refusal(site, 'multipleOf', "'multipleOf' must be greater than 0.")
      if (!n.multiples.includes(step)) n.multiples.push(step)
      part.places.set('multipleOf', site)
    }
  }

  #texts(site: Site, schema: Keywords, part: Part): void {
    if (schema.minLength !== undefined) {
      part.minLength = Math.max(part.minLength, readCount(site, 'minLength', schema.minLength))
    }
    if (schema.maxLength !== undefined) {
      part.maxLength = Math.min(part.maxLength, readCount(site, 'maxLength', schema.maxLength))
    }
    if (schema.pattern !== undefined) {
      const source = readString(site, 'pattern', schema.pattern)
      const automaton = patternAutomaton(this.context, site, 'pattern', source)
      if (automaton !== undefined) part.texts.push(automaton)
      part.places.set('pattern', site)
    }
    if (typeof schema.format === 'string') {
      const automaton = formatOf(this.context, site, schema.format)
      if (automaton !== undefined) part.texts.push(automaton)
    }
  }

  #arrays(site: Site, schema: Keywords, part: Part): void {
    const group = readItems(this.context, site, schema)
    if (group !== undefined) part.items.push(group)
    const unevaluated = readUnevaluatedItems(this.context, site, schema)
    if (unevaluated !== undefined) part.items.push(unevaluated)
    const contains = readContains(this.context, site, schema)
    if (contains !== undefined && (contains.min > 0 || contains.max < Infinity)) part.contains.push(contains)
    if (schema.minItems !== undefined)
      part.minItems = Math.max(part.minItems, readCount(site, 'minItems', schema.minItems))
    if (schema.maxItems !== undefined)
      part.maxItems = Math.min(part.maxItems, readCount(site, 'maxItems', schema.maxItems))
    if (schema.uniqueItems === true) {
      part.uniqueItems = true
      part.places.set('uniqueItems', site)
    }
  }

  #objects(site: Site, schema: Keywords, branch: Branch): void {
    const { part } = branch
    const group = readProperties(this.context, site, schema)
    if (group !== undefined) part.groups.push(group)
    const unevaluated = readUnevaluatedProperties(this.context, site, schema)
    if (unevaluated !== undefined) part.groups.push(unevaluated)
    if (schema.required !== undefined) {
      for (const key of readStrings(site, 'required', schema.required)) part.required.add(key)
    }
    if (schema.propertyNames !== undefined && site.resource.draft >= 6) {
      const names = this.context.child(site, schema.propertyNames, 'propertyNames')
      if (names.site.schema !== true) part.names.push(names)
    }
    if (schema.minProperties !== undefined) {
      const least = readCount(site, 'minProperties', schema.minProperties)
      if (least > part.minProperties) part.places.set('minProperties', site)
      part.minProperties = Math.max(part.minProperties, least)
    }
    if (schema.maxProperties !== undefined) {
      part.maxProperties = Math.min(part.maxProperties, readCount(site, 'maxProperties', schema.maxProperties))
    }
    branch.later(...dependencyChoices(this.context, readDependencies(this.context, site, schema)))
  }

  #combined(site: Site, schema: Keywords, branch: Branch): void {
    const children = (keyword: string) =>
      readList(site, keyword, schema[keyword]).map((child, i) => this.context.child(site, child, keyword, i))
    const first: Atom[] = []
    if (typeof schema.$ref === 'string') first.push(this.follow(site, schema.$ref))
    if (schema.allOf !== undefined) first.push(...children('allOf'))
    if (schema.not !== undefined) first.push(this.context.not(this.context.child(site, schema.not, 'not')))
    branch.next(...first)
    if (schema.anyOf !== undefined) branch.later(children('anyOf').map((atom) => ({ atoms: [atom] })))
    if (schema.oneOf !== undefined) branch.later(this.exactlyOne(children('oneOf')))
    if (schema.if !== undefined && site.resource.draft >= 7 && (schema.then ?? schema.else) !== undefined) {
      const test = this.context.child(site, schema.if, 'if')
      const branchOf = (keyword: string) =>
        schema[keyword] === undefined ? [] : [this.context.child(site, schema[keyword], keyword)]
      branch.later([{ atoms: [test, ...branchOf('then')] }, { atoms: [this.context.not(test), ...branchOf('else')] }])
    }
  }

  /** Each alternative with those that it may share a value with shut out. */
  exactlyOne(atoms: readonly Atom[]): Choice[] {
    const shared = atoms.map(() => [] as Atom[])
    for (let i = 0; i < atoms.length; i++) {
      for (let j = i + 1; j < atoms.length; j++) {
        this.context.fuel.spend(10)
        if (this.shallow.apart(atoms[i]!, atoms[j]!) || !this.overlap(atoms[i]!, atoms[j]!)) continue
        shared[i]!.push(this.context.not(atoms[j]!))
        shared[j]!.push(this.context.not(atoms[i]!))
      }
    }
    return atoms.map((atom, i) => ({ atoms: [atom, ...shared[i]!] }))
  }
}

function limitTo(part: Part, values: readonly unknown[]): void {
  if (part.literals === undefined) {
    part.literals = [...values]
  } else {
    const allowed = new Set(values.map(canonical))
    part.literals = part.literals.filter((value) => allowed.has(canonical(value)))
  }
  let kinds = 0
  for (const value of part.literals) kinds |= kindBit(value)
  part.kinds &= kinds
}
