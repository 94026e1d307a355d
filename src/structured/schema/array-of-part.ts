import type { SchemaError } from '../schema-error.js'
import { ArrayShape } from './array-shape.js'
import { type Context, refusal } from './context.js'
import { ARRAY, type Atom, type SchemaPart } from './part.js'
import { MOST_UNIQUE, UniqueArrayShape } from './unique-array-shape.js'
import type { Value, ValueSource } from './value.js'

export function arrayShape(values: ValueSource, part: SchemaPart): ArrayShape {
  const { context } = values
  let obstacle = values.obstacleOf(part, ARRAY)
  const [contains, ...more] = part.contains
  if (more.length > 0)
    obstacle ??= refusal(contains!.atom.site, 'contains', "several 'contains' for one array are not supported.")
  const prefix = Math.max(0, ...part.items.map((group) => group.prefix.length))
  const unique = part.uniqueItems && part.maxItems > 1
  const alike = unique ? uniqueRefusal(part, context) : undefined
  if (prefix > 0 || contains !== undefined) obstacle ??= alike
  if (obstacle !== undefined && context.ignored !== undefined) {
    context.refuse(obstacle)
    obstacle = undefined
  }
  const at = (index: number, extra: readonly Atom[]): Value => {
    const atoms = part.items.map((group) => group.prefix[index] ?? group.rest)
    return values.of([...atoms.filter((atom) => atom !== undefined), ...extra])
  }
  const uncounted = contains !== undefined && contains.max < Infinity ? [contains.inverse] : []
  const plain = Array.from({ length: prefix + 1 }, (_, i) => at(i, uncounted))
  const counted = contains === undefined ? [] : Array.from({ length: prefix + 1 }, (_, i) => at(i, [contains.atom]))
  if (alike !== undefined && prefix === 0 && contains === undefined) {
    return new UniqueArrayShape(part, plain[0]!, context.layout, obstacle, alike)
  }
  return new ArrayShape(part, plain, counted, contains, context.layout, obstacle)
}

function uniqueRefusal(part: SchemaPart, context: Context): SchemaError {
  const site = part.places.get('uniqueItems') ?? context.document.root
  const message = `'uniqueItems' is not supported, but for items of at most ${MOST_UNIQUE} values that are listed.`
  return refusal(site, 'uniqueItems', message)
}
