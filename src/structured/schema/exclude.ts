import { literalSet } from '../automata/literals.js'
import { complement } from '../automata/sets.js'
import type { Choice } from './branch.js'
import { type Context, refusal } from './context.js'
import type { Site } from './document.js'
import { FALSE, NULL, type SchemaPart, TRUE } from './part.js'
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
      for (const value of containers) excludeContainer(site, keyword, value as object, part)
    },
  }
}

function excludeContainer(site: Site, keyword: string, value: object, part: SchemaPart): void {
  if (Array.isArray(value) && value.length === 0) part.minItems = Math.max(part.minItems, 1)
  else if (!Array.isArray(value) && Object.keys(value).length === 0)
    part.minProperties = Math.max(part.minProperties, 1)
  else {
    const error = refusal(site, keyword, `'${keyword}' with an object or array is not supported inside a negation.`)
    part.obstacles.push({ kinds: kindBit(value), error })
  }
}
