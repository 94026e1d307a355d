import type { Context } from './context.js'
import { OBJECT, type SchemaPart } from './part.js'

/** An object that lacks the property. */
export function forbid(context: Context, part: SchemaPart, key: string): void {
  const nothing = context.atom(context.document.nothing)
  part.kinds &= OBJECT
  part.groups.push({ properties: new Map([[key, nothing]]), patterns: [], additional: undefined })
}
