import { canonical, getOrMake } from '../../platform/index.js'
import { excluding } from '../schema/exclude.js'
import { readConstant, readConstants, readType } from '../schema/keywords.js'
import { ANY, NUMBER, type SchemaPart } from '../schema/part.js'
import { kindBit } from '../schema/shallow.js'
import { only } from './choices.js'
import { keyword } from './keyword.js'
import { anything, either, list, listOf, truth, type as typeShape } from './shapes.js'

/** What says of all kinds of values which ones may be. */

const type = keyword({
  name: 'type',
  shape: either(typeShape, listOf(typeShape)),
  with: { nullable: truth },
  kinds: ANY,
  read: ({ site, schema }) => (schema.type === undefined ? undefined : readType(site, schema)),
  assert({ part }, { kinds, integer }) {
    part.kinds &= kinds
    if (integer) part.number.integer = true
  },
  deny({ choices }, { kinds, integer }) {
    choices.push(only(ANY & ~kinds, () => {}))
    if (integer) choices.push(only(NUMBER, (part) => part.number.denied.push(1)))
  },
  holds: (_, { kinds, integer }, value) =>
    (kinds & kindBit(value)) !== 0 && !(integer && typeof value === 'number' && !Number.isInteger(value)),
})

const spelled = new WeakMap<readonly unknown[], Set<string>>()

function includes(values: readonly unknown[], value: unknown): boolean {
  const texts = getOrMake(spelled, values, () => new Set(values.map(canonical)))
  return texts.has(canonical(value))
}

const enumeration = keyword<readonly unknown[]>({
  name: 'enum',
  shape: list,
  kinds: ANY,
  read: ({ site, schema }) => (schema.enum === undefined ? undefined : readConstants(site, schema.enum)),
  assert: ({ part }, values) => limitTo(part, values),
  deny({ context, site, choices }, values) {
    choices.push(excluding(context, site, 'enum', values))
  },
  holds: (_, values, value) => includes(values, value),
})

const constant = keyword<readonly [unknown]>({
  name: 'const',
  shape: anything,
  since: 6,
  kinds: ANY,
  read: ({ site, schema }) =>
    Object.hasOwn(schema, 'const') ? [readConstant(site, 'const', schema.const)] : undefined,
  assert: ({ part }, values) => limitTo(part, values),
  deny({ context, site, choices }, values) {
    choices.push(excluding(context, site, 'const', values))
  },
  holds: (_, values, value) => includes(values, value),
})

function limitTo(part: SchemaPart, values: readonly unknown[]): void {
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

export const VALUES = [type, enumeration, constant]
