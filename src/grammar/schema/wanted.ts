import type { Choice } from './branch.js'
import type { Context } from './context.js'
import { aside, type SchemaPart } from './part.js'

/**
 * Which member may be the one that must be such, once all is known that is declared: a declared one, each time the first
 * of them, or another. Undefined where none is wanted.
 */
export function wantedChoice(context: Context, part: SchemaPart): readonly Choice[] | undefined {
  const wanted = part.wanted.shift()
  if (wanted === undefined) return undefined
  const declared = new Set([...part.groups.flatMap((group) => [...group.properties.keys()]), ...part.required])
  const keys = [...declared].filter((key) => wanted.has(key))
  const unlike = context.not(wanted.value)
  const choices = keys.map((key, i): Choice => {
    context.fuel.spend(2 + i)
    return {
      edit: (to) => {
        to.required.add(key)
        to.groups.push(
          aside(new Map([...keys.slice(0, i).map((other) => [other, unlike] as const), [key, wanted.value]])),
        )
      },
    }
  })
  if (!isClosed(part)) {
    choices.push({
      edit: (to) => {
        to.groups.push(aside(new Map(keys.map((key) => [key, unlike]))))
        to.sought.push(wanted)
      },
    })
  }
  return choices
}

/** No keys but declared ones. */
export function isClosed({ groups }: SchemaPart): boolean {
  return groups.some(({ patterns, additional }) => patterns.length === 0 && additional?.site.schema === false)
}
