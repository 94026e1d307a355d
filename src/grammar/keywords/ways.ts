import type { Choice } from '../schema/branch.js'
import { refusal } from '../schema/context.js'
import type { SchemaPart } from '../schema/part.js'
import type { Way } from '../schema/unevaluated.js'
import { obstacle, only } from './choices.js'
import type { Asserting, Denying, Judging } from './keyword.js'

/** What is left unevaluated, whichever way a value goes: `unknown` where the ways cannot be told apart. */
type Ways<Group> = readonly Way<Group>[] | 'unknown'

export function assertWays<Group>(
  { context, site, branch, part }: Asserting,
  name: string,
  kinds: number,
  ways: Ways<Group>,
  add: (part: SchemaPart, group: Group) => void,
): void {
  if (ways === 'unknown') {
    const why = `'${name}' is not supported if the value decides in so many ways which of its parts are evaluated.`
    context.refuse(refusal(site, name, why))
    return
  }
  const [first] = ways
  if (ways.length === 1 && first!.conditions.length === 0) {
    if (first!.group !== undefined) add(part, first!.group)
    return
  }
  const others: Choice = { edit: (to) => (to.kinds &= ~kinds) }
  const choices = ways.map(({ conditions, group }) => ({
    ...only(kinds, (to) => {
      if (group !== undefined) add(to, group)
    }),
    atoms: conditions,
  }))
  branch.later([others, ...choices])
}

export function denyWays<Group>(
  at: Denying,
  name: string,
  kinds: number,
  ways: Ways<Group>,
  breaking: (at: Denying, group: Group, name: string) => void,
): void {
  if (ways === 'unknown') {
    at.choices.push(obstacle(kinds, at.site, name))
    return
  }
  for (const { conditions, group } of ways) {
    if (group === undefined) continue
    const choices: Choice[] = []
    breaking({ ...at, choices }, group, name)
    at.choices.push(...choices.map((choice) => ({ ...choice, atoms: [...conditions, ...(choice.atoms ?? [])] })))
  }
}

export function waysHold<Group>(
  at: Judging,
  ways: Ways<Group>,
  value: unknown,
  holds: (at: Judging, group: Group, value: unknown) => boolean,
): boolean {
  if (ways === 'unknown') return true
  return ways.some(
    ({ conditions, group }) =>
      conditions.every((condition) => at.test(condition, value)) && (group === undefined || holds(at, group, value)),
  )
}
