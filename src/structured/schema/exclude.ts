import { complement, literalSet } from '../text/automaton.js'
import type { Choice } from './branch.js'
import { type Context, refusal } from './context.js'
import type { Site } from './document.js'
import { ANY, ARRAY, FALSE, NULL, NUMBER, OBJECT, type Part, STRING, TRUE } from './part.js'
import { kindBit } from './shallow.js'
import { placed } from './texts.js'

/** The values that are none of these: one choice per kind, numbers as the intervals between them. */
export function excluding(context: Context, site: Site, keyword: string, values: readonly unknown[]): Choice[] {
  const choices: Choice[] = []
  const constants = NULL | FALSE | TRUE
  let kinds = ANY
  for (const value of values) kinds &= ~(kindBit(value) & constants)
  choices.push({
    edit: (part) => {
      part.kinds &= kinds & constants
    },
  })
  const numbers = values.filter((value): value is number => typeof value === 'number').sort((a, b) => a - b)
  for (let i = 0; i <= numbers.length; i++) choices.push(between(numbers[i - 1], numbers[i]))
  choices.push(
    otherTexts(
      context,
      site,
      keyword,
      values.filter((value): value is string => typeof value === 'string'),
    ),
  )
  choices.push(otherContainers(site, keyword, values))
  return choices
}

function between(low: number | undefined, high: number | undefined): Choice {
  return {
    edit: (part: Part) => {
      part.kinds &= NUMBER
      if (low !== undefined) part.number.exclusiveMinimum = Math.max(part.number.exclusiveMinimum, low)
      if (high !== undefined) part.number.exclusiveMaximum = Math.min(part.number.exclusiveMaximum, high)
    },
  }
}

function otherTexts(context: Context, site: Site, keyword: string, texts: readonly string[]): Choice {
  let others: ReturnType<typeof complement> | undefined
  return {
    edit: (part: Part) => {
      part.kinds &= STRING
      if (texts.length === 0 || part.kinds === 0) return
      const { fuel } = context
      others ??= placed(context, site, keyword, () => complement(literalSet(texts, fuel), fuel))
      if (others !== undefined) part.texts.push(others)
    },
  }
}

function otherContainers(site: Site, keyword: string, values: readonly unknown[]): Choice {
  const containers = values.filter((value) => typeof value === 'object' && value !== null)
  return {
    edit: (part: Part) => {
      part.kinds &= ARRAY | OBJECT
      for (const value of containers) {
        if (Array.isArray(value) && value.length === 0) part.minItems = Math.max(part.minItems, 1)
        else if (!Array.isArray(value) && Object.keys(value as object).length === 0) {
          part.minProperties = Math.max(part.minProperties, 1)
        } else {
          const error = refusal(
            site,
            keyword,
            `'${keyword}' with an object or array is not supported inside a negation.`,
          )
          part.obstacles.push({ kinds: kindBit(value), error })
        }
      }
    },
  }
}
