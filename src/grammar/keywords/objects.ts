import { literalSet } from '../automata/literals.js'
import { complement, union } from '../automata/sets.js'
import { type Dependency, readDependencies, readProperties } from '../schema/arrays-objects.js'
import { dependencyChoices } from '../schema/depend.js'
import { forbid } from '../schema/forbid.js'
import { readStrings } from '../schema/keywords.js'
import { type Atom, aside, OBJECT, type PropertyGroup, type SchemaPart, type WantedMember } from '../schema/part.js'
import { matches } from '../schema/texts.js'
import { type Way, waysOfProperties } from '../schema/unevaluated.js'
import { only, wanting } from './choices.js'
import { type Denying, type Judging, keyword } from './keyword.js'
import { lowerLimit, upperLimit } from './limits.js'
import * as shapes from './shapes.js'
import { assertWays, denyWays, waysHold } from './ways.js'

type Members = Record<string, unknown>

const properties = keyword<PropertyGroup>({
  name: 'properties',
  shape: shapes.mapOf(shapes.schema),
  with: { patternProperties: shapes.mapOf(shapes.schema), additionalProperties: shapes.schema },
  kinds: OBJECT,
  read: ({ context, site, schema }) => readProperties(context, site, schema),
  assert({ part }, group) {
    part.groups.push(group)
  },
  deny: (at, group) => breakProperties(at, group, 'additionalProperties'),
  holds: propertiesHold,
})

function breakProperties({ context, site, choices }: Denying, group: PropertyGroup, name: string): void {
  for (const [key, atom] of group.properties) {
    if (atom.site.schema === true) continue
    const broken = new Map([[key, context.not(atom)]])
    choices.push(
      only(OBJECT, (part) => {
        part.required.add(key)
        part.groups.push(aside(broken))
      }),
    )
  }
  for (const { automaton, atom } of group.patterns) {
    if (atom.site.schema === true) continue
    const has = (key: string) => matches(automaton, key)
    choices.push(wanting(site, 'patternProperties', { has, keys: () => automaton, value: context.not(atom) }))
  }
  if (group.additional === undefined || group.additional.site.schema === true) return
  const others = (key: string) =>
    !group.properties.has(key) && !group.patterns.some(({ automaton }) => matches(automaton, key))
  const keys = () => {
    const { fuel } = context
    const named = literalSet(group.properties.keys(), fuel)
    return complement(
      group.patterns.reduce((all, { automaton }) => union(all, automaton, fuel), named),
      fuel,
    )
  }
  choices.push(wanting(site, name, { has: others, keys, value: context.not(group.additional) }))
}

function propertiesHold({ test }: Judging, group: PropertyGroup, value: unknown): boolean {
  for (const [key, member] of Object.entries(value as Members)) {
    const atoms: Atom[] = []
    for (const { automaton, atom } of group.patterns) if (matches(automaton, key)) atoms.push(atom)
    const named = group.properties.get(key)
    if (named !== undefined) atoms.push(named)
    if (atoms.length === 0 && group.additional !== undefined) atoms.push(group.additional)
    for (const atom of atoms) if (!test(atom, member)) return false
  }
  return true
}

const unevaluatedProperties = keyword<readonly Way<PropertyGroup>[] | 'unknown'>({
  name: 'unevaluatedProperties',
  shape: shapes.schema,
  since: 2019,
  kinds: OBJECT,
  read({ context, site, schema }) {
    if (schema.unevaluatedProperties === undefined || schema.unevaluatedProperties === true) return undefined
    return waysOfProperties(context, site, schema) ?? 'unknown'
  },
  assert: (at, ways) => assertWays(at, 'unevaluatedProperties', OBJECT, ways, (part, group) => part.groups.push(group)),
  deny: (at, ways) => denyWays(at, 'unevaluatedProperties', OBJECT, ways, breakProperties),
  holds: (at, ways, value) => waysHold(at, ways, value, propertiesHold),
})

const required = keyword<readonly string[]>({
  name: 'required',
  shape: shapes.either(shapes.names, shapes.truth),
  kinds: OBJECT,
  read: ({ site, schema }) =>
    schema.required === undefined ? undefined : readStrings(site, 'required', schema.required),
  assert({ part }, keys) {
    for (const key of keys) part.required.add(key)
  },
  deny({ context, choices }, keys) {
    for (const key of keys) choices.push({ edit: (part) => forbid(context, part, key) })
  },
  holds: (_, keys, value) => keys.every((key) => Object.hasOwn(value as Members, key)),
})

const propertyNames = keyword<Atom>({
  name: 'propertyNames',
  shape: shapes.schema,
  since: 6,
  kinds: OBJECT,
  read({ context, site, schema }) {
    if (schema.propertyNames === undefined || schema.propertyNames === true) return undefined
    return context.child(site, schema.propertyNames, 'propertyNames')
  },
  assert({ part }, names) {
    part.names.push(names)
  },
  deny({ context, expander, choices, site }, names) {
    const broken = (key: string) => !expander.holds(names, key)
    const keys: WantedMember['keys'] = (textsOf) => textsOf([context.not(names)])
    const value = context.atom(context.document.everything)
    choices.push(wanting(site, 'propertyNames', { has: broken, keys, value }))
  },
  holds: ({ test }, names, value) => Object.keys(value as Members).every((key) => test(names, key)),
})

const dependencies = keyword<readonly Dependency[]>({
  name: 'dependencies',
  shape: shapes.mapOf(shapes.either(shapes.schema, shapes.names, shapes.text)),
  with: { dependentRequired: shapes.mapOf(shapes.names), dependentSchemas: shapes.mapOf(shapes.schema) },
  kinds: OBJECT,
  read: ({ context, site, schema }) => readDependencies(context, site, schema),
  assert({ context, branch }, demands) {
    branch.later(...dependencyChoices(context, demands))
  },
  deny({ context, choices }, demands) {
    for (const { key, keys, schema } of demands) {
      const holding = (part: SchemaPart) => {
        part.required.add(key)
      }
      if (schema !== undefined) choices.push({ ...only(OBJECT, holding), atoms: [context.not(schema)] })
      for (const missing of keys ?? []) {
        choices.push({
          edit: (part) => {
            holding(part)
            forbid(context, part, missing)
          },
        })
      }
    }
  },
  holds: ({ test }, demands, value) =>
    demands.every(({ key, keys, schema }) => {
      const members = value as Members
      if (!Object.hasOwn(members, key)) return true
      return (
        (keys ?? []).every((other) => Object.hasOwn(members, other)) && (schema === undefined || test(schema, value))
      )
    }),
})

const count = (value: Members) => Object.keys(value).length

export const OBJECTS = [
  properties,
  unevaluatedProperties,
  required,
  propertyNames,
  lowerLimit('minProperties', 'maxProperties', OBJECT, count),
  upperLimit('maxProperties', 'minProperties', OBJECT, count),
  dependencies,
]
