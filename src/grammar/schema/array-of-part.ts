import type { SchemaError } from '../schema-error.js'
import { PlainArrays } from '../values/array-shape.js'
import type { ArrayShape, Value } from '../values/value.js'
import { type Context, refusal } from './context.js'
import { CountingArrayShape, MOST_COUNTS, MOST_PLACES, placesOf } from './counting-array-shape.js'
import { ARRAY, type Atom, type SchemaPart } from './part.js'
import { MOST_UNIQUE, UniqueArrayShape } from './unique-array-shape.js'
import type { ValueSource } from './value-source.js'

export function arrayShape(values: ValueSource, part: SchemaPart): ArrayShape {
  const { context } = values
  let obstacle = values.obstacleOf(part, ARRAY)
  const several = part.contains.length > 1 || part.contains.some((one) => (one.from ?? 0) > 0)
  if (several && (part.contains.length > MOST_COUNTS || placesOf(part, part.contains) > MOST_PLACES)) {
    obstacle ??= refusal(part.contains[0]!.atom.site, 'contains', "so many 'contains' for one array are not supported.")
  }
  const prefix = Math.max(0, ...part.items.map((group) => group.prefix.length))
  const unique = part.uniqueItems && part.maxItems > 1
  const alike = unique ? uniqueRefusal(part, context) : undefined
  if (prefix > 0 || part.contains.length > 0) obstacle ??= alike
  const refused = obstacle !== undefined
  if (obstacle !== undefined && context.ignored !== undefined) {
    context.refuse(obstacle)
    obstacle = undefined
  }
  const at = (index: number, extra: readonly Atom[]): Value => {
    const atoms = part.items.map((group) => group.prefix[index] ?? group.rest)
    return values.of([...atoms.filter((atom) => atom !== undefined), ...extra])
  }
  const each = (length: number, extra: readonly Atom[]) => Array.from({ length: length + 1 }, (_, i) => at(i, extra))
  if (several && !refused) {
    const kinds = Array.from({ length: 1 << part.contains.length }, (_, counted) => {
      const extra = part.contains.flatMap((one, i) =>
        (counted >> i) & 1 ? [one.atom] : one.max < Infinity ? [one.inverse] : [],
      )
      return each(prefix, extra)
    })
    return new CountingArrayShape(part, part.contains, kinds, context.layout, obstacle)
  }
  const [contains] = part.contains
  const uncounted = contains !== undefined && contains.max < Infinity ? [contains.inverse] : []
  const plain = each(prefix, uncounted)
  const counted = contains === undefined ? [] : each(prefix, [contains.atom])
  if (alike !== undefined && prefix === 0 && contains === undefined) {
    return new UniqueArrayShape(part, plain[0]!, context, obstacle, alike)
  }
  return new PlainArrays(part, plain, counted, contains, context.layout, obstacle)
}

function uniqueRefusal(part: SchemaPart, context: Context): SchemaError {
  const site = part.places.get('uniqueItems') ?? context.document.root
  const message =
    `'uniqueItems' is supported only for strings, for items with at most ${MOST_UNIQUE} listed values and, if ` +
    `'minItems' is at most 1, for other items without undeclared keys: say "additionalProperties": false.`
  return refusal(site, 'uniqueItems', message)
}
