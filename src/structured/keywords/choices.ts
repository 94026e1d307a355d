import type { Choice } from '../schema/branch.js'
import { refusal } from '../schema/context.js'
import type { Site } from '../schema/document.js'
import type { SchemaPart } from '../schema/part.js'

/** A way to break a schema that only values of these kinds have. */
export function only(kinds: number, edit: (part: SchemaPart) => void): Choice {
  return {
    edit: (part) => {
      part.kinds &= kinds
      edit(part)
    },
  }
}

/** A way that cannot be described exactly: refused only if such values remain possible in the end. */
export function obstacle(kinds: number, site: Site, keyword: string): Choice {
  const error = refusal(site, keyword, `'${keyword}' is not supported inside a negation.`)
  return only(kinds, (part) => part.obstacles.push({ kinds, error }))
}
