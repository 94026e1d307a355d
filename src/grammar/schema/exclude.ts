import { literalSet } from '../automata/literals.js'
import { complement } from '../automata/sets.js'
import type { Choice } from './branch.js'
import type { Context } from './context.js'
import type { Schema, Site } from './document.js'
import { FALSE, NULL, TRUE } from './part.js'
import { kindBit } from './shallow.js'
import { placed } from './texts.js'

/** The values that are none of these. One choice: what it says of each kind does not bind the others. */
export function excluding(context: Context, site: Site, keyword: string, values: readonly unknown[]): Choice {
  let constants = 0
  for (const value of values) constants |= kindBit(value) & (NULL | FALSE | TRUE)
  const numbers = values.filter((value): value is number => typeof value === 'number')
  const texts = values.filter((value): value is string => typeof value === 'string')
  const containers = values.filter((value) => typeof value === 'object' && value !== null)
  let others: ReturnType<typeof complement> | undefined
  return {
    edit: (part) => {
      part.kinds &= ~constants
      part.gaps.push(...numbers)
      if (texts.length > 0) {
        const { fuel } = context
        others ??= placed(context, site, keyword, () => complement(literalSet(texts, fuel), fuel))
        if (others !== undefined) part.texts.push(others)
      }
    },
    atoms: containers.map((value) => context.not(context.child(site, equalTo(value as object), keyword))),
  }
}

const spelledOut = new WeakMap<object, Schema>()

/** What an array or object is equal to, said member by member: so that it can be denied member by member. */
function equalTo(value: object): Schema {
  let schema = spelledOut.get(value)
  if (schema === undefined) {
    if (Array.isArray(value)) {
      const items = value.map((item) => ({ enum: [item] }))
      schema = { type: 'array', items, minItems: items.length, maxItems: items.length }
    } else {
      const properties = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, { enum: [item] }]))
      schema = { type: 'object', properties, required: Object.keys(value), additionalProperties: false }
    }
    spelledOut.set(value, schema)
  }
  return schema
}
