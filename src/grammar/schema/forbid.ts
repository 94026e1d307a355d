import type { Context } from './context.js'
import { aside, OBJECT, type SchemaPart } from './part.js'

/** An object that lacks the property. */
export function forbid(context: Context, part: SchemaPart, key: string): void {
  const nothing = context.atom(context.document.nothing)
  part.kinds &= OBJECT
  part.groups.push(aside(new Map([[key, nothing]])))
}
