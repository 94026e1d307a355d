import type { Dependency } from './arrays-objects.js'
import type { Choice } from './branch.js'
import type { Context } from './context.js'
import { forbid } from './forbid.js'
import { OBJECT, type SchemaPart } from './part.js'

/** One property that may only stand beside another. */
export interface Implication {
  readonly key: string
  readonly demands: string
}

/** What is demanded of objects alone: one choice of kind, whatever the number of dependencies. */
export function dependencyChoices(
  context: Context,
  dependencies: readonly Dependency[],
): readonly (readonly Choice[])[] {
  const implications = dependencies.flatMap(({ key, keys }) =>
    (keys ?? []).filter((demands) => demands !== key).map((demands) => ({ key, demands })),
  )
  const choices = [...implicationChoices(context, implications)]
  for (const { key, schema } of dependencies) {
    if (schema === undefined) continue
    const absent: Choice = { edit: (part) => forbid(context, part, key) }
    choices.push([absent, { atoms: [schema], edit: (part) => part.required.add(key) }])
  }
  if (choices.length === 0) return []
  const other: Choice = { edit: (part) => without(part, OBJECT) }
  const object: Choice = { edit: (part) => without(part, ~OBJECT), choices }
  return [[other, object]]
}

/** Each key that is decided settles all that it demands and all that demands it: few of them settle everything. */
function implicationChoices(context: Context, implications: readonly Implication[]): (readonly Choice[])[] {
  const choices: (readonly Choice[])[] = []
  let open = implications
  while (open.length > 0) {
    const counts = new Map<string, number>()
    for (const { key, demands } of open) {
      for (const each of [key, demands]) counts.set(each, (counts.get(each) ?? 0) + 1)
    }
    const most = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a))[0]
    const demanded = open.filter(({ key }) => key === most).map(({ demands }) => demands)
    const demanding = open.filter(({ demands }) => demands === most).map(({ key }) => key)
    choices.push([
      {
        edit: (part) => {
          for (const key of [most, ...demanding]) forbid(context, part, key)
        },
      },
      {
        edit: (part) => {
          for (const key of [most, ...demanded]) part.required.add(key)
        },
      },
    ])
    open = open.filter(({ key, demands }) => key !== most && demands !== most)
  }
  return choices
}

function without(part: SchemaPart, kinds: number): void {
  part.kinds &= ~kinds
}
