import { countTexts } from '../automata/count.js'
import { intersect } from '../automata/sets.js'
import type { TextAutomaton } from '../automata/types.js'
import type { SchemaError } from '../schema-error.js'
import { type Atom, OBJECT, type SchemaPart, type WantedMember } from './part.js'
import type { ValueSource } from './value-source.js'

/** A member that must be there, under a key that nobody declared. */
export interface Sought {
  readonly keys: TextAutomaton
  readonly atoms: readonly Atom[]
  readonly error: SchemaError
}

/** More at once have too many ways to be one another. */
const MOST_SOUGHT = 4
/** Of members that are told apart: of more keys than one it would have to be known which has come. */
const MOST_APART = 2

/** The members that must be there, told apart: each way in which some of them are one and the same. */
export function waysToSeek(values: ValueSource, part: SchemaPart): readonly (readonly Sought[])[] {
  const { context } = values
  const [first] = part.sought
  if (first === undefined) return [[]]
  const refused = () => {
    part.obstacles.push({ kinds: OBJECT, error: first.error })
    return [[soughtFor(values, first)]]
  }
  if (part.sought.length > MOST_SOUGHT) return refused()
  let ways: readonly (readonly Sought[])[] = [[]]
  for (const wanted of part.sought) {
    const one = soughtFor(values, wanted)
    ways = ways.flatMap((way) => {
      context.fuel.spend(10 * (way.length + 1))
      const joined = way.map((other, i) => way.with(i, both(values, other, one)))
      return [[...way, one], ...joined]
    })
  }
  const possible = ways
    .filter((way) => way.length <= part.maxProperties && way.every(({ keys }) => !keys.empty))
    .map(inOrder)
  if (possible.some((way) => way.length > MOST_APART)) return refused()
  // A key that one of few takes must not be the last that another could have.
  return possible.some(([, ...others]) => others.some(isOfFew)) ? refused() : possible
}

function soughtFor(values: ValueSource, { keys, value, error }: WantedMember): Sought {
  return { keys: keys((atoms) => values.textsOf(atoms)), atoms: [value], error }
}

function both(values: ValueSource, a: Sought, b: Sought): Sought {
  return { keys: intersect(a.keys, b.keys, values.context.fuel), atoms: [...a.atoms, ...b.atoms], error: a.error }
}

function isOfFew({ keys }: Sought): boolean {
  return countTexts(keys, keys.start) !== Infinity
}

/** Those of few keys first. */
function inOrder(way: readonly Sought[]): readonly Sought[] {
  return way.length < 2 ? way : [...way.filter(isOfFew), ...way.filter((one) => !isOfFew(one))]
}
