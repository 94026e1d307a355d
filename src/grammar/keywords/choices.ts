import type { Choice } from '../schema/branch.js'
import { refusal } from '../schema/context.js'
import type { Site } from '../schema/document.js'
import { OBJECT, type SchemaPart, type WantedMember } from '../schema/part.js'

/** A way to break a schema that only values of these kinds have. */
export function only(kinds: number, edit: (part: SchemaPart) => void): Choice {
  return {
    edit: (part) => {
      part.kinds &= kinds
      edit(part)
    },
  }
}

/** Some member must be such. */
export function wanting(site: Site, keyword: string, { has, keys, value }: Omit<WantedMember, 'error'>): Choice {
  const error = refusal(
    site,
    keyword,
    `'${keyword}' is not supported inside several negations if undeclared keys are allowed.`,
  )
  return only(OBJECT, (part) => part.wanted.push({ has, keys, value, error }))
}

/** A way that cannot be described exactly: refused only if such values remain possible in the end. */
export function obstacle(kinds: number, site: Site, keyword: string): Choice {
  const error = refusal(site, keyword, `'${keyword}' is not supported inside a negation.`)
  return only(kinds, (part) => part.obstacles.push({ kinds, error }))
}
