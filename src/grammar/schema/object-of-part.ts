import type { Slices } from '../../platform/index.js'
import { CountedAutomaton } from '../automata/counted.js'
import type { TextAutomaton } from '../automata/types.js'
import { acceptsText } from '../automata/words.js'
import type { SchemaError } from '../schema-error.js'
import { type Layout, toBytes } from '../values/format.js'
import { KeyProduct, NO_KEYS, uniformKeys } from '../values/key-automaton.js'
import { MOST_DEMANDED } from '../values/object-plan.js'
import { type KeySource, ObjectShape, type Property, Value } from '../values/value.js'
import { refusal } from './context.js'
import { PLACES_TOGETHER } from './document.js'
import { type Atom, OBJECT, type PropertyGroup, type SchemaPart } from './part.js'
import { type Sought, waysToSeek } from './sought.js'
import type { ValueSource } from './value-source.js'

/** Keys of up to so many characters, as many as Pydantic lets a link have, are counted; others have a state for each. */
const LONGEST_KEY = 2083
const isCounted = ({ min, max }: CountedAutomaton) => min <= 1 && max <= LONGEST_KEY

const NOTHING = new Value(-1)
NOTHING.length = 0

/** The arrays of such texts in which none comes twice. */
export function textSet(text: TextAutomaton, part: SchemaPart, layout: Layout): ObjectShape {
  const value = (state: number) => (text.accepts(state) ? NOTHING : undefined)
  const keys = { text, values: [NOTHING], value }
  const source: KeySource = { values: [], now: () => keys }
  const counts = { minProperties: part.minItems, maxProperties: part.maxItems }
  return new ObjectShape(counts, [], [], source, layout, undefined, undefined, true)
}

/** Beyond this many, required keys that are not declared count as declared last: their set is part of every state. */
const MOST_PENDING = 24

/** One for each way in which the members that are sought may be one another. */
export function* objectShapes(values: ValueSource, part: SchemaPart): Slices<ObjectShape[]> {
  const shapes: ObjectShape[] = []
  for (const sought of waysToSeek(values, part)) shapes.push(yield* objectShape(values, part, sought))
  return shapes
}

function* objectShape(values: ValueSource, part: SchemaPart, sought: readonly Sought[]): Slices<ObjectShape> {
  const { context } = values
  // What it was read for has taken its turn.
  const isLarge = part.groups.some((group) => group.properties.size > PLACES_TOGETHER)
  if (isLarge) yield
  const names = part.names.length === 0 ? undefined : values.textsOf(part.names)
  const groups = [...part.groups.filter((group) => !group.aside), ...part.groups.filter((group) => group.aside)]
  const declared = new Set(groups.flatMap((group) => [...group.properties.keys()]))
  let pending = [...part.required].filter((key) => !declared.has(key))
  if (pending.length > MOST_PENDING || sought.length > 0) {
    for (const key of pending) declared.add(key)
    pending = []
  }
  const properties: Property[] = []
  if (isLarge) yield
  // Groups that say nothing of the keys that they do not name need a look only where they name one.
  const open = new Map<string, number[]>()
  const others: number[] = []
  part.groups.forEach((group, i) => {
    if (group.patterns.length > 0 || group.additional !== undefined) others.push(i)
    else {
      for (const key of group.properties.keys()) {
        const known = open.get(key)
        if (known === undefined) open.set(key, [i])
        else known.push(i)
      }
    }
  })
  if (isLarge) yield
  for (const key of declared) {
    if (properties.length % PLACES_TOGETHER === PLACES_TOGETHER - 1) yield
    const groups = merged(others, open.get(key)).map((i) => part.groups[i]!)
    context.fuel.spend(1 + groups.length)
    const named = names === undefined || acceptsText(names, key)
    const value = named ? values.of(atomsFor(groups, key)) : values.never
    const head = toBytes(JSON.stringify(key)).length + context.layout.colon.length
    properties.push({ key, value, required: part.required.has(key), head })
  }
  if (sought.length === 0) return shapeOf(values, part, properties, pending, names)
  const first = seeking(values, part, [...declared], names, sought)
  const none = { values: [], now: () => NO_KEYS }
  const { layout } = context
  return new ObjectShape(part, properties, [], none, layout, first.obstacle, first.tooMany, false, { first })
}

/** What may stand behind these keys, which are decided. */
export function tailShapes(values: ValueSource, part: SchemaPart, decided: readonly string[]): ObjectShape[] {
  const names = part.names.length === 0 ? undefined : values.textsOf(part.names)
  return waysToSeek(values, part).map((sought) => seeking(values, part, decided, names, sought))
}

/** First one member for each that is sought, then any others. */
function seeking(
  values: ValueSource,
  part: SchemaPart,
  decided: readonly string[],
  names: TextAutomaton | undefined,
  sought: readonly Sought[],
): ObjectShape {
  const { context } = values
  const properties = decided.map((key) => ({ key, value: values.never, required: false, head: 0 }))
  // Whatever else is demanded must have come by then: how many there are is not planned beyond it.
  const [first] = sought
  if (first !== undefined && part.minProperties > part.required.size + sought.length) {
    part.obstacles.push({ kinds: OBJECT, error: first.error })
  }
  const rest = shapeOf(values, part, properties, [], names)
  return sought.reduceRight((behind, one) => {
    const keys = keySource(values, part.groups, names, one)
    const counts = { minProperties: 0, maxProperties: part.maxProperties }
    return new ObjectShape(counts, properties, [], keys, context.layout, behind.obstacle, behind.tooMany, false, {
      behind,
    })
  }, rest)
}

function shapeOf(
  values: ValueSource,
  part: SchemaPart,
  properties: readonly Property[],
  pending: readonly string[],
  names: TextAutomaton | undefined,
): ObjectShape {
  const { context } = values
  const keys = keySource(values, part.groups, names)
  let obstacle = values.obstacleOf(part, OBJECT)
  const most = part.required.size + MOST_DEMANDED
  let tooMany: SchemaError | undefined
  // Where too few keys are allowed there is no such object, and nothing to refuse.
  const closed = keys.values.every((value) => value === values.never)
  if (part.minProperties > most && !(closed && part.minProperties > properties.length)) {
    tooMany = refusal(
      part.places.get('minProperties') ?? context.document.root,
      'minProperties',
      `'minProperties' of more than ${MOST_DEMANDED} beyond the required ones is not supported.`,
    )
  }
  if (context.ignored !== undefined) {
    if (obstacle !== undefined) context.refuse(obstacle)
    if (tooMany !== undefined) context.refuse(tooMany)
    obstacle = undefined
    tooMany = undefined
    part.minProperties = Math.min(part.minProperties, most)
  }
  return new ObjectShape(part, properties, pending, keys, context.layout, obstacle, tooMany)
}

/** Two ascending lists as one. */
function merged(a: readonly number[], b: readonly number[] = []): readonly number[] {
  if (a.length === 0) return b
  return b.length === 0 ? a : [...a, ...b].sort((x, y) => x - y)
}

/** All that the groups say of the property of this name. */
export function atomsFor(groups: readonly PropertyGroup[], key: string): Atom[] {
  return groups.flatMap((group) => {
    const atoms = group.patterns.filter((pattern) => acceptsText(pattern.automaton, key)).map((pattern) => pattern.atom)
    const named = group.properties.get(key)
    if (named !== undefined) atoms.unshift(named)
    return atoms.length > 0 ? atoms : group.additional === undefined ? [] : [group.additional]
  })
}

function keySource(
  values: ValueSource,
  groups: readonly PropertyGroup[],
  names: TextAutomaton | undefined,
  sought?: Sought,
): KeySource {
  const patterns = groups.flatMap((group) => group.patterns.map((pattern) => pattern.automaton))
  if (patterns.length === 0 && names === undefined && sought === undefined) {
    const atoms = groups.map((group) => group.additional).filter((atom) => atom !== undefined)
    return uniformKeys(values.of(atoms))
  }
  if (patterns.length === 0 && sought === undefined && names instanceof CountedAutomaton && isCounted(names)) {
    const atoms = groups.map((group) => group.additional).filter((atom) => atom !== undefined)
    return uniformKeys(values.of(atoms), names)
  }
  const all = [names, sought?.keys].filter((one) => one !== undefined)
  return new KeyProduct(
    [...patterns, ...all],
    (accepted) => {
      if (accepted.slice(patterns.length).includes(false)) return undefined
      let at = 0
      const atoms = groups.flatMap((group) => {
        const matched = group.patterns.filter(() => accepted[at++]).map((pattern) => pattern.atom)
        return matched.length > 0 ? matched : group.additional === undefined ? [] : [group.additional]
      })
      return values.of(sought === undefined ? atoms : [...atoms, ...sought.atoms])
    },
    values.context.fuel,
  )
}
