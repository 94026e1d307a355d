import { atOnce, canonical, getOrMake, type Slices } from '../../platform/index.js'
import { Complement } from '../automata/complement.js'
import { withLengthInSlices } from '../automata/lengths.js'
import { literalSet } from '../automata/literals.js'
import { ANY_TEXT, intersectInSlices, NO_TEXT, union } from '../automata/sets.js'
import type { TextAutomaton } from '../automata/types.js'
import { Fuel } from '../fuel.js'
import { numberAutomaton, numberAutomatonInSlices } from '../numbers/number.js'
import { SchemaError } from '../schema-error.js'
import type { Layout } from '../values/format.js'
import { type ArrayShape, type ObjectShape, Value } from '../values/value.js'
import { arrayShape } from './array-of-part.js'
import { Context, refusal } from './context.js'
import { Document, type Site } from './document.js'
import { satisfies } from './evaluate.js'
import { Expander } from './expand.js'
import { graphOf } from './graph-of-factors.js'
import { impossible } from './impossible.js'
import { allParts, objectLength, obligatoryParts, relax } from './lengths.js'
import { objectShapes } from './object-of-part.js'
import { ARRAY, type Atom, FALSE, isUnbounded, NULL, NUMBER, OBJECT, type SchemaPart, STRING, TRUE } from './part.js'
import { unlike } from './unlike.js'
import type { ValueSource } from './value-source.js'

const NO_NAMES = "'x-quote' is for values: names of properties cannot be quotes."
/** Steps from one pause to the next, of which a thousand take a millisecond or less. */
const SLICE = 3000
/** Values of an `enum`, each held against all that is said beside it, from one pause to the next. */
const LITERALS = 256

/** Any value at all, which nearly every schema lets stand somewhere: made once for a layout, and nobody pays. */
const anything = new WeakMap<Layout, Value>()

function anyValue(layout: Layout): Value {
  return getOrMake(anything, layout, () => {
    const context = new Context(new Document(true), new Fuel(), layout, undefined)
    return atOnce(new Values(context, true).root())
  })
}

/** All the values of one compilation, one per distinct conjunction of subschemas. */
export class Values implements ValueSource {
  readonly context: Context
  readonly expander: Expander
  readonly never = new Value(0)
  readonly #known = new Map<string, Value>()
  readonly #atoms = new Map<Value, readonly Atom[]>()
  readonly #building = new Set<Value>()
  readonly #sites = new Map<Value, Site>()
  readonly #numbers = new Map<string, TextAutomaton | undefined>()
  readonly #overlaps = new Map<string, boolean>()

  /** Built and measured. Absent where this is what is built, and where strings are quotes. */
  readonly #any: Value | undefined

  constructor(context: Context, buildsAny = false) {
    this.context = context
    this.#any = buildsAny || context.quotes?.all ? undefined : anyValue(context.layout)
    this.expander = new Expander(context, (a, b) => this.overlap(a, b))
  }

  /** The values that satisfy all of these. */
  of(atoms: readonly Atom[]): Value {
    const distinct = new Map<number, Atom>()
    for (const atom of atoms) {
      if (atom.site.schema === true) continue
      if (atom.site.schema === false || distinct.has(atom.id ^ 1)) return this.never
      distinct.set(atom.id, atom)
    }
    if (distinct.size === 0 && this.#any !== undefined) return this.#any
    const key = [...distinct.keys()].sort((a, b) => a - b).join()
    let value = this.#known.get(key)
    if (value === undefined) {
      value = new Value(this.#known.size + 1)
      this.#known.set(key, value)
      this.#atoms.set(value, [...distinct.values()])
      const [first] = distinct.values()
      if (first !== undefined) this.#sites.set(value, first.site)
    }
    return value
  }

  /**
   * The value of the whole schema, with everything that it reaches built and measured. Throws if there is none. Pauses
   * between values.
   */
  *root(): Slices<Value> {
    const value = this.of([this.context.atom(this.context.document.root)])
    const all = (yield* this.#explore(value, allParts)).values
    relax(all, this.context)
    // What could not be described matters where it can occur, and where it may be why nothing can.
    for (const { arrays, objects, graph } of all) {
      for (const shape of arrays) {
        if (shape.obstacle && !(value.possible && shape.rest(0, 0) === Infinity)) this.context.refuse(shape.obstacle)
      }
      for (const shape of objects) {
        if (shape.tooMany) throw shape.tooMany
        if (shape.obstacle && !(value.possible && objectLength(shape, this.context.fuel) === Infinity))
          throw shape.obstacle
      }
      for (const tail of graph?.tails ?? []) {
        const refusal = tail.tooMany ?? tail.obstacle
        if (refusal !== undefined) throw refusal
      }
    }
    if (!value.possible) throw impossible(value, (one) => this.#sites.get(one), this.context)
    return value
  }

  /** Builds what is not built yet among the values reached from here; `open` are those whose building led here. */
  *#explore(from: Value, parts: (value: Value) => readonly Value[]): Slices<{ values: Value[]; open: Value[] }> {
    const seen = new Set([from])
    const open: Value[] = []
    const values: Value[] = []
    const { fuel } = this.context
    let rested = fuel.spent
    for (const value of seen) {
      if (value === this.#any) continue
      if (fuel.spent - rested > SLICE) {
        yield
        rested = fuel.spent
      }
      if (this.#building.has(value)) {
        open.push(value)
        continue
      }
      const atoms = this.#atoms.get(value)
      if (atoms !== undefined) {
        this.#building.add(value)
        yield* this.#fill(value, atoms)
        this.#building.delete(value)
        this.#atoms.delete(value)
      }
      values.push(value)
      for (const part of parts(value)) seen.add(part)
    }
    return { values, open }
  }

  /** Whether two subschemas may share a value. Errs on the side of yes. Pauses as building a value does. */
  *overlap(a: Atom, b: Atom): Slices<boolean> {
    const key = a.id < b.id ? `${a.id},${b.id}` : `${b.id},${a.id}`
    const known = this.#overlaps.get(key)
    if (known !== undefined) return known
    // Meeting the same question while answering it: undecided counts as yes.
    this.#overlaps.set(key, true)
    const value = this.of([a, b])
    const { values, open } = yield* this.#explore(value, obligatoryParts)
    for (const unknown of open) unknown.length = 1
    relax(values, this.context)
    const answer = value.possible
    // Measured without the optional parts: good for a yes or no, not as lengths.
    for (const measured of [...open, ...values]) measured.length = Infinity
    this.#overlaps.set(key, answer)
    return answer
  }

  *#fill(value: Value, atoms: readonly Atom[]): Slices<void> {
    const { fuel } = this.context
    const literals = new Map<string, unknown>()
    const numbers = new Set<TextAutomaton>()
    const strings: TextAutomaton[] = []
    const arrays: ArrayShape[] = []
    const objects: ObjectShape[] = []
    const { parts, objects: factors } = yield* this.expander.expandObjects(atoms)
    for (const part of parts) {
      fuel.spend(10)
      if (part.literals !== undefined) {
        for (const [i, item] of part.literals.entries()) {
          if (i % LITERALS === LITERALS - 1) yield
          const holds = () => atoms.every((atom) => satisfies(this.context, atom, item))
          const text = canonical(item)
          if (!literals.has(text) && (this.#trivial(atoms) || holds())) literals.set(text, item)
        }
        continue
      }
      if (part.kinds & NULL) literals.set('null', null)
      if (part.kinds & TRUE) literals.set('true', true)
      if (part.kinds & FALSE) literals.set('false', false)
      for (const piece of part.kinds & NUMBER ? betweenGaps(part) : []) {
        const number = yield* this.#number(piece, atoms[0])
        if (number !== undefined && !number.empty) numbers.add(number)
      }
      const text = part.kinds & STRING ? yield* this.#string(part) : undefined
      if (text !== undefined && !text.empty && !strings.includes(text)) strings.push(text)
      if (part.kinds & ARRAY) arrays.push(arrayShape(this, part))
      if (part.kinds & OBJECT) objects.push(...(yield* objectShapes(this, part)))
    }
    value.literals = [...literals.values()]
    value.numbers = [...numbers]
    value.strings = strings
    value.arrays = arrays
    value.objects = objects
    value.graph = factors && graphOf(this, this.expander, factors)
  }

  /** A lone `enum` or `const` needs no second look. */
  #trivial(atoms: readonly Atom[]): boolean {
    if (atoms.length !== 1 || atoms[0]!.negated) return false
    const schema = atoms[0]!.site.schema as Record<string, unknown>
    return Object.keys(schema).every((key) => key === 'enum' || key === 'const' || key === 'description')
  }

  *#number(part: SchemaPart, atom: Atom | undefined): Slices<TextAutomaton | undefined> {
    this.#refuseObstacle(part, NUMBER)
    if (isUnbounded(part.number)) return numberAutomaton({ integer: part.number.integer })
    const { integer, minimum, exclusiveMinimum, maximum, exclusiveMaximum, multiples, denied } = part.number
    const key = `${integer} ${minimum} ${exclusiveMinimum} ${maximum} ${exclusiveMaximum} ${multiples} not ${denied}`
    if (!this.#numbers.has(key)) this.#numbers.set(key, yield* this.#buildNumber(part, atom))
    return this.#numbers.get(key)
  }

  *#buildNumber(part: SchemaPart, atom: Atom | undefined): Slices<TextAutomaton | undefined> {
    const { fuel } = this.context
    const { multiples, denied, ...limits } = part.number
    const bounds = finite(limits)
    const [first, ...others] = multiples
    try {
      let numbers = yield* numberAutomatonInSlices({ ...bounds, multipleOf: first }, fuel)
      for (const multipleOf of others) {
        const multiples = yield* numberAutomatonInSlices({ ...bounds, multipleOf }, fuel)
        numbers = yield* intersectInSlices(numbers, multiples, fuel)
      }
      for (const step of denied) numbers = yield* unlike(numbers, step, fuel)
      return numbers
    } catch (error) {
      const path = (part.places.get('multipleOf') ?? atom?.site)?.path ?? []
      const keyword = multiples.length > 0 ? 'multipleOf' : 'type'
      this.context.refuse(new SchemaError(path, keyword, (error as Error).message))
      return yield* numberAutomatonInSlices({ ...bounds, multipleOf: undefined }, fuel)
    }
  }

  *#string(part: SchemaPart): Slices<TextAutomaton> {
    const { quotes } = this.context
    this.#refuseObstacle(part, STRING)
    const texts = quotes?.all ? [...part.texts, quotes.automaton] : part.texts
    return yield* this.#text(texts, part)
  }

  /** As far as it can be told; `part` has the limits on length, and where the words stand that say what is asked. */
  *#text(texts: readonly TextAutomaton[], part: SchemaPart): Slices<TextAutomaton> {
    const { fuel } = this.context
    const quoted = part.places.get('x-quote') !== undefined || texts.some(({ sparse }) => sparse)
    const keyword = quoted ? 'x-quote' : 'pattern'
    try {
      let all: TextAutomaton = ANY_TEXT
      for (const text of texts) all = yield* intersectInSlices(all, text, fuel)
      // Whoever asks whether it is empty would make it in one piece.
      if (all instanceof Complement) yield* all.wholeInSlices()
      return yield* withLengthInSlices(all, part.minLength, part.maxLength, fuel)
    } catch (error) {
      const { path } = part.places.get(keyword) ?? part.places.get('pattern') ?? fuel.place
      this.context.refuse(new SchemaError(path, keyword, (error as Error).message))
      return ANY_TEXT
    }
  }

  textsOf(atoms: readonly Atom[]): TextAutomaton {
    const texts: TextAutomaton[] = []
    const finite: string[] = []
    for (const part of this.expander.expand(atoms)) {
      if (part.literals !== undefined) {
        const held = part.literals.filter((item) => atoms.every((atom) => satisfies(this.context, atom, item)))
        finite.push(...held.filter((item): item is string => typeof item === 'string'))
      } else if (part.kinds & STRING) {
        const names = part.texts.filter(({ sparse }) => !sparse)
        const quoted = part.places.get('x-quote')
        if (names.length < part.texts.length) this.context.refuse(refusal(quoted!, 'x-quote', NO_NAMES))
        this.#refuseObstacle(part, STRING)
        texts.push(atOnce(this.#text(names, part)))
      }
    }
    if (finite.length > 0) texts.push(literalSet(finite, this.context.fuel))
    return texts.reduce((a, b) => union(a, b, this.context.fuel), NO_TEXT as TextAutomaton)
  }

  obstacleOf(part: SchemaPart, kind: number): SchemaError | undefined {
    return part.obstacles.find((obstacle) => (obstacle.kinds & kind) !== 0)?.error
  }

  #refuseObstacle(part: SchemaPart, kind: number): void {
    const error = this.obstacleOf(part, kind)
    if (error !== undefined) this.context.refuse(error)
  }
}

/** The bounds that bind. */
function finite<T extends Record<string, number | boolean>>(bounds: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(bounds).filter(([, value]) => !(typeof value === 'number' && !Number.isFinite(value))),
  ) as Partial<T>
}

/** One part per stretch between the numbers that are left out. */
function betweenGaps(part: SchemaPart): SchemaPart[] {
  const { number, gaps } = part
  if (gaps.length === 0) return [part]
  const inside = gaps.filter((gap) => gap >= number.minimum && gap <= number.maximum)
  const ends = [-Infinity, ...new Set(inside.sort((a, b) => a - b)), Infinity]
  return ends.slice(1).map((end, i) => {
    const piece = part.clone()
    piece.number.exclusiveMinimum = Math.max(number.exclusiveMinimum, ends[i]!)
    piece.number.exclusiveMaximum = Math.min(number.exclusiveMaximum, end)
    return piece
  })
}
