import { getOrMake } from '../../platform/index.js'
import type { TextAutomaton } from '../automata/types.js'
import { acceptsText } from '../automata/words.js'
import { MemberGraph } from '../values/object-graph.js'
import type { GraphNode, ObjectGraph, ObjectShape, Take } from '../values/value.js'
import type { Expander, Factors } from './expand.js'
import { orderOf } from './key-order.js'
import { atomsFor, tailShapes } from './object-of-part.js'
import { type Atom, aside, OBJECT, type PropertyGroup, SchemaPart, type WantedMember } from './part.js'
import { type Alternative, type List, type Standing, standingName, standsOf } from './standing.js'
import type { ValueSource } from './value-source.js'
import { isClosed } from './wanted.js'

/** What is demanded of one declared key. */
interface KeyClaim {
  /** What its value must satisfy if it is there. */
  readonly atoms: readonly Atom[]
  readonly required: boolean
}

interface Mention extends KeyClaim {
  readonly alternative: Alternative
}

/** A value of a key, by what holds of it and what does not, and what is open behind it. */
interface Cell {
  readonly atoms: readonly Atom[]
  readonly then: Standing
  readonly key: string
}

/** The objects of some factors, told apart member by member. Undefined where there are none. */
export function graphOf(values: ValueSource, expander: Expander, factors: Factors): ObjectGraph | undefined {
  const builder = new GraphBuilder(values, expander, factors)
  const start = builder.start()
  return start && new MemberGraph(builder.keys, start, values.context.layout)
}

class GraphBuilder {
  readonly keys: readonly string[]
  readonly #values: ValueSource
  readonly #expander: Expander
  readonly #base: SchemaPart
  readonly #lists: readonly List[]
  #alternatives = 0
  readonly #mentions: readonly (readonly Mention[])[]
  readonly #claims: ReadonlyMap<number, KeyClaim>
  readonly #places: ReadonlyMap<string, number>
  readonly #scratch: Readonly<Record<'alive' | 'pending' | 'lists' | 'wanted', Uint8Array>>
  readonly #nodes = new Map<string, GraphNode>()
  readonly #tails = new Map<string, readonly ObjectShape[]>()

  constructor(values: ValueSource, expander: Expander, { base, lists }: Factors) {
    this.#values = values
    this.#expander = expander
    this.#base = base
    this.keys = orderOf([[base], ...lists])
    this.#places = new Map(this.keys.map((key, i) => [key, i]))
    const wantedOf = new Map<SchemaPart, readonly SchemaPart[]>()
    const spread = (part: SchemaPart) => getOrMake(wantedOf, part, () => this.#spread(part))
    const spreadLists = [
      ...lists.map((list) => [...new Set(list.flatMap(spread))]),
      ...base.wanted.map((wanted) => this.#membersFor(wanted, anyObject())),
    ]
    base.wanted = []
    const mentions: Mention[][] = this.keys.map(() => [])
    const known = new Map<SchemaPart, Alternative>()
    const alternative = (part: SchemaPart): Alternative =>
      getOrMake(known, part, () => {
        const claims = this.#claimsOf(part)
        const found = { id: this.#alternatives++, part, last: Math.max(-1, ...claims.keys()), open: isOpen(part) }
        for (const [i, one] of claims) mentions[i]!.push({ alternative: found, ...one })
        return found
      })
    this.#lists = spreadLists.map((list, id) => ({ id, of: list.map(alternative) }))
    this.#mentions = mentions
    this.#claims = this.#claimsOf(base)
    const [ofAlternatives, ofLists] = [
      () => new Uint8Array(this.#alternatives),
      () => new Uint8Array(this.#lists.length),
    ]
    this.#scratch = { alive: ofAlternatives(), pending: ofAlternatives(), wanted: ofAlternatives(), lists: ofLists() }
  }

  start(): GraphNode | undefined {
    const standing = this.#settle(-1, {
      lists: new Uint8Array(this.#lists.length).fill(1),
      alive: new Uint8Array(this.#alternatives).fill(1),
    })
    return standing && this.#node(0, standing)
  }

  /** Of each declared key what a part says, by the places of those of which it says something. */
  #claimsOf(part: SchemaPart): Map<number, KeyClaim> {
    const { context } = this.#values
    const names = this.#namesOf(part)
    const nothing = context.atom(context.document.nothing)
    const all = names !== undefined || !part.groups.every(saysNothingElse)
    const keys = all
      ? this.keys
      : new Set([...part.groups.flatMap(({ properties }) => [...properties.keys()]), ...part.required])
    const found: [number, KeyClaim][] = []
    for (const key of keys) {
      context.fuel.spend(1 + part.groups.length)
      const atoms = atomsFor(part.groups, key).filter((atom) => atom.site.schema !== true)
      if (names !== undefined && !acceptsText(names, key)) atoms.push(nothing)
      const required = part.required.has(key)
      if (required || atoms.length > 0) found.push([this.#places.get(key)!, { atoms, required }])
    }
    return new Map(found.sort(([a], [b]) => a - b))
  }

  #namesOf({ names }: SchemaPart): TextAutomaton | undefined {
    return names.length === 0 ? undefined : this.#values.textsOf(names)
  }

  /** Without wanted members: one part for each that may be the one. */
  #spread(part: SchemaPart): readonly SchemaPart[] {
    let parts = [part]
    if (part.wanted.length > 0) {
      const without = part.clone()
      without.wanted = []
      parts = part.wanted.reduce((list, wanted) => list.flatMap((one) => this.#membersFor(wanted, one)), [without])
    }
    return parts
  }

  #membersFor(wanted: WantedMember, part: SchemaPart): SchemaPart[] {
    const found: SchemaPart[] = []
    for (const key of this.keys) {
      this.#values.context.fuel.spend(1)
      if (!wanted.has(key)) continue
      const one = part.clone()
      one.required.add(key)
      one.groups.push(aside(new Map([[key, wanted.value]])))
      found.push(one)
    }
    const other = part.clone()
    other.sought.push(wanted)
    return [...found, other]
  }

  /** What is open once all keys up to this one are decided; undefined where a list has no alternative left. */
  #settle(index: number, { lists, alive }: Standing): Standing | undefined {
    const open = new Uint8Array(lists.length)
    const possible = new Uint8Array(alive.length)
    this.#values.context.fuel.spend(1 + (lists.length >> 3))
    for (const list of this.#lists) {
      if (lists[list.id] === 0) continue
      const certain = standsOf(list, alive, index)
      if (certain === undefined) return undefined
      if (certain) continue
      open[list.id] = 1
      for (const { id } of list.of) possible[id] = alive[id]!
    }
    return { lists: open, alive: possible }
  }

  #node(index: number, standing: Standing): GraphNode {
    const key = `${index}|${standingName(standing)}`
    let node = this.#nodes.get(key)
    if (node === undefined) {
      this.#values.context.fuel.spend(10)
      const id = this.#nodes.size
      const growing = { id, index, skip: undefined, takes: [], tails: [] } as {
        -readonly [K in keyof GraphNode]: GraphNode[K]
      }
      node = growing
      this.#nodes.set(key, node)
      if (index === this.keys.length) growing.tails = this.#tailsOf(standing)
      else {
        growing.takes = this.#takes(index, standing)
        growing.skip = this.#skip(index, standing)
      }
    }
    return node
  }

  #skip(index: number, { lists, alive }: Standing): GraphNode | undefined {
    if (this.#claims.get(index)?.required) return undefined
    const left = alive.slice()
    for (const { alternative, required } of this.#mentions[index]!) if (required) left[alternative.id] = 0
    const then = this.#settle(index, { lists, alive: left })
    return then && this.#node(index + 1, then)
  }

  #takes(index: number, standing: Standing): Take[] {
    const own = this.#claims.get(index)?.atoms ?? []
    if (own.some((atom) => atom.site.schema === false)) return []
    const mentions = this.#mentions[index]!.filter(
      ({ alternative, atoms }) => atoms.length > 0 && standing.alive[alternative.id] === 1,
    )
    const decided = new Map(own.map((atom) => [atom.id >> 1, !atom.negated]))
    return this.#cells(index, standing, mentions, own, decided).map(({ atoms, then }) => ({
      value: this.#values.of([...own, ...atoms]),
      next: this.#node(index + 1, then),
    }))
  }

  /** The values of a key, decided by one subschema after the other as far as it matters. */
  #cells(
    index: number,
    standing: Standing,
    mentions: readonly Mention[],
    own: readonly Atom[],
    decided: Map<number, boolean>,
  ): Cell[] {
    const { context } = this.#values
    context.fuel.spend(5)
    // Used before this goes deeper, and no longer: made anew for every decision they would be most of what it costs.
    const { alive, pending, lists, wanted } = this.#scratch
    alive.set(standing.alive)
    pending.fill(0)
    lists.fill(0)
    wanted.fill(0)
    // Those that hang on what is not decided yet are not certain.
    const unsure: Mention[] = []
    for (const mention of mentions) {
      const { id } = mention.alternative
      const all = allHold(mention.atoms, decided)
      if (all === false) alive[id] = 0
      else if (all === undefined) {
        unsure.push(mention)
        pending[id] = 1
      }
    }
    context.fuel.spend(1 + (standing.lists.length >> 3))
    for (const list of this.#lists) {
      if (standing.lists[list.id] === 0) continue
      const certain = standsOf(list, alive, index, pending)
      if (certain === undefined) return []
      if (certain) continue
      lists[list.id] = 1
      for (const { id } of list.of) wanted[id] = alive[id]!
    }
    const next = unsure.find(({ alternative }) => wanted[alternative.id] === 1)
    if (next === undefined) {
      const then = this.#settle(index, { lists, alive })
      return then === undefined ? [] : [{ atoms: [], then, key: standingName(then) }]
    }
    const atom = next.atoms.find((one) => !decided.has(one.id >> 1))!
    const [yes, no] = [atom, context.not(atom)].map((side) => {
      context.fuel.spend(2 + own.length)
      const all = [...own, side]
      if (this.#expander.shallow.contradict(all)) return undefined
      // One map for all: copies of it were most of what a deep tree of decisions costs.
      decided.set(atom.id >> 1, !side.negated)
      const cells = this.#cells(index, standing, mentions, all, decided)
      decided.delete(atom.id >> 1)
      return cells
    })
    // Where one cannot be, or both lead to the same, there is nothing to tell apart.
    if (yes === undefined || no === undefined) return yes ?? no ?? []
    if (alike(yes, no)) return yes
    const under = (side: Atom, cells: readonly Cell[]) =>
      cells.map((cell) => ({ ...cell, atoms: [side, ...cell.atoms] }))
    return [...under(atom, yes), ...under(context.not(atom), no)]
  }

  /** The ways to satisfy every list that is still open by what stands behind the declared keys. */
  #tailsOf({ lists, alive }: Standing): ObjectShape[] {
    const found = new Map<string, readonly ObjectShape[]>()
    const choose = (chosen: readonly Alternative[], at: number): void => {
      const { fuel } = this.#values.context
      fuel.spend(5 + chosen.length)
      const rest = this.#lists.findIndex(
        (list, i) => i >= at && lists[i] === 1 && !list.of.some((one) => chosen.includes(one)),
      )
      const closed = [this.#base, ...chosen.map(({ part }) => part)].some(isClosed)
      if (closed && chosen.some(({ part }) => part.sought.length > 0)) return
      if (rest >= 0) {
        for (const one of this.#lists[rest]!.of) if (alive[one.id] === 1) choose([...chosen, one], rest + 1)
        return
      }
      const ids = [...chosen].sort((a, b) => a.id - b.id)
      const key = ids.map(({ id }) => id).join()
      found.set(
        key,
        getOrMake(this.#tails, key, () => tailShapes(this.#values, joined(this.#base, ids), this.keys)),
      )
    }
    choose([], 0)
    return [...found.values()].flat()
  }
}

function anyObject(): SchemaPart {
  const part = new SchemaPart()
  part.kinds = OBJECT
  return part
}

/** Undefined where it hangs on what is not decided yet. */
function allHold(atoms: readonly Atom[], decided: ReadonlyMap<number, boolean>): boolean | undefined {
  let known = true
  for (const atom of atoms) {
    const side = decided.get(atom.id >> 1)
    if (atom.site.schema === false || side === atom.negated) return false
    if (side === undefined) known = false
  }
  return known ? true : undefined
}

function alike(a: readonly Cell[], b: readonly Cell[]): boolean {
  return (
    a.length === b.length &&
    a.every((cell, i) => {
      const other = b[i]!
      return (
        cell.key === other.key &&
        cell.atoms.length === other.atoms.length &&
        cell.atoms.every((atom, k) => atom === other.atoms[k])
      )
    })
  )
}

/** Nothing that could be broken by members beyond the declared ones. */
function isOpen({ groups, names, minProperties, maxProperties, obstacles, sought }: SchemaPart): boolean {
  const counted = minProperties > 0 || maxProperties !== Infinity
  return !counted && names.length + obstacles.length + sought.length === 0 && groups.every(saysNothingElse)
}

function saysNothingElse({ patterns, additional }: PropertyGroup): boolean {
  const free = (atom: Atom | undefined) => atom === undefined || atom.site.schema === true
  return free(additional) && patterns.every(({ atom }) => free(atom))
}

function joined(base: SchemaPart, others: readonly Alternative[]): SchemaPart {
  const all = base.clone()
  for (const { part } of others) {
    all.groups.push(...part.groups)
    all.names.push(...part.names)
    all.obstacles.push(...part.obstacles)
    all.sought.push(...part.sought.filter((one) => !all.sought.includes(one)))
    all.minProperties = Math.max(all.minProperties, part.minProperties)
    all.maxProperties = Math.min(all.maxProperties, part.maxProperties)
  }
  return all
}
