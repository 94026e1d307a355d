import { fillingKeys, keyValue, type ObjectPlan, planObject } from '../values/object-plan.js'
import { MOST_BYTES } from '../values/text-length.js'
import type { Value } from '../values/value.js'
import { type Bytes, type Cell, type Cells, type Frame, loosened } from './frame.js'
import type { Frames, MembersPlace, ObjectHome } from './frames.js'
import { keyBytes } from './key-bytes.js'
import { DeclaredKeyFrame, type DeclaredKeys, type KeyCandidate } from './key-declared.js'
import { ExtraKeyFrame } from './key-extra.js'
import { MemberFrame } from './member.js'
import type { UsedKeys } from './used-keys.js'

/** Letters that the search for an unused key tries anywhere, and more; see `freshKeys`. */
const LETTERS = 60
/** Beginnings of taken keys through which that search gets. */
const MOST_IN_THE_WAY = 1500

/** Between two members of an object: what has come, and therefore what may. */
export class ObjectState implements DeclaredKeys, MembersPlace {
  readonly home: ObjectHome
  readonly index: number
  readonly count: number
  readonly used: UsedKeys
  readonly pending: number
  /** The last key is used but not known here: the automaton does not carry texts. See `resolve`. */
  readonly unresolved: boolean
  readonly open: MemberFrame
  readonly after: MemberFrame
  readonly #beforeKey: MemberFrame
  readonly extraFrames = new Map<string | number, Frame | null>()
  #anyExtra: boolean | undefined
  #filling: readonly Bytes[] | undefined
  #knownKeys: readonly Bytes[] | undefined
  #plan: ObjectPlan | undefined
  #keyPlan: ObjectPlan | undefined
  #declared: readonly KeyCandidate[] | undefined
  #declaredKey: DeclaredKeyFrame | undefined

  constructor(home: ObjectHome, index: number, count: number, used: UsedKeys, pending: number, unresolved: boolean) {
    this.home = home
    this.index = index
    this.count = count
    this.used = used
    this.pending = pending
    this.unresolved = unresolved
    this.open = new MemberFrame(this, 'open')
    this.after = new MemberFrame(this, 'after')
    this.#beforeKey = new MemberFrame(this, 'key')
  }

  get plan(): ObjectPlan {
    this.#plan ??= this.#planned(this.home.shape.min)
    return this.#plan
  }

  /** The used keys, an unknown one taken to be the one that hurts most: the cheapest. */
  get #assumed(): UsedKeys {
    const fresh = this.unresolved ? this.home.freshKey(this.used) : undefined
    return fresh === undefined ? this.used : this.used.with(fresh)
  }

  get canClose(): boolean {
    const { home } = this
    if (home.shape.first !== undefined || home.shape.behind !== undefined) return false
    return this.pending === 0 && this.count >= home.shape.min && home.names.requiredFrom[this.index] === 0
  }

  /** The state once the unknown key is known. */
  resolve(key: string): MembersPlace {
    return this.home.state(this.index, this.count, this.used.with(key), this.pending, false)
  }

  /** The used keys once another has come. Where more must follow it counts that it is gone, and not which it is. */
  #usedAfter(bit: number): UsedKeys {
    if (bit !== 0 || this.count + 1 >= this.home.shape.min) return this.used
    const used = this.#assumed
    const fresh = this.home.freshKey(used)
    return fresh === undefined ? used : used.with(fresh)
  }

  /** The declared keys that may come next, sorted by their spelling. */
  get declared(): readonly KeyCandidate[] {
    if (this.#declared === undefined) {
      const { home } = this
      const found: KeyCandidate[] = []
      const last = Math.min(home.names.nextRequired[this.index]!, home.shape.properties.length - 1)
      for (let i = this.index; i <= last; i++) {
        const allowed = home.shape.properties[i]!.value.possible && this.count < home.shape.max
        if (allowed && home.canComplete(i + 1, this.count + 1, this.used, this.pending)) {
          found.push({ bytes: home.names.spelled[i]!, index: i })
        }
      }
      this.#declared = found.sort((a, b) => (a.bytes < b.bytes ? -1 : 1))
    }
    return this.#declared
  }

  get program(): Frames {
    return this.home.program
  }

  await(index: number, below: Cell, out: Cells): void {
    out.add(this.#awaiting(this.#afterDeclared(index), this.home.shape.properties[index]!.value, below))
  }

  weightBehind(index: number): number {
    const { layout, properties } = this.home.shape
    return (
      layout.colon.length + layout.inside(properties[index]!.value.length) + this.#afterDeclared(index).after.weight
    )
  }

  spellBehind(index: number): Bytes {
    const { program, shape } = this.home
    const value = program.inside.value(shape.properties[index]!.value).spell()
    return program.layout.colon + value + this.#afterDeclared(index).after.spell()
  }

  #afterDeclared(index: number): MembersPlace {
    return this.home.state(index + 1, this.count + 1, this.used, this.pending, false)
  }

  /** As `await`, for a key beyond the declared ones; `pending` is its bit if it is a required one. */
  extraMember(value: Value, pending: number, below: Cell): Cell {
    return this.#awaiting(this.afterExtra(pending), value, below)
  }

  afterExtra(pending: number): MembersPlace {
    const { home } = this
    if (home.behind !== undefined) return home.behind.state(this.index, this.count + 1, this.used, 0, true)
    const owed = this.pending & ~pending
    const used = pending === 0 ? this.used : this.used.with(home.shape.pending[Math.log2(pending)]!)
    return home.state(home.shape.properties.length, this.count + 1, used, owed, pending === 0)
  }

  #awaiting(next: MembersPlace, value: Value, below: Cell): Cell {
    const { program } = this.home
    const { breaks } = program
    const after = below.push(breaks.spaced(next.after))
    if (this.home.shape.isSet) return after
    return after.push(breaks.spaced(program.inside.value(value))).push(breaks.spaced(breaks.colon))
  }

  /**
   * With which keys the shortest way goes on behind one more, whichever that is; the cheapest come first. Only where it is
   * one of these does it matter which it is: another must then come in its stead.
   */
  get planned(): readonly Bytes[] {
    if (this.#filling === undefined) {
      const { shape } = this.home
      const count = this.count + 1
      const none = count >= shape.min || shape.behind !== undefined || !this.admitsAnyExtra
      const place = { index: shape.properties.length, count, used: this.used.keys, pending: this.pending }
      this.#filling = none ? [] : fillingKeys(shape, place).map(keyBytes)
    }
    return this.#filling
  }

  /** The keys that an undeclared one is held against while it is read, sorted. */
  get knownKeys(): readonly Bytes[] {
    const { taken } = this.used
    this.#knownKeys ??= this.planned.length === 0 ? taken : [...taken, ...this.planned].sort()
    return this.#knownKeys
  }

  /** How the object goes on behind this key, which is not declared; undefined: one with which no plan goes on. */
  behindKey(key: string | undefined): MembersPlace {
    if (this.planned.length === 0) return this.afterExtra(0)
    const used = key === undefined ? this.used : this.used.with(key)
    return this.home.state(this.home.shape.properties.length, this.count + 1, used, this.pending, false)
  }

  /** Whether any key beyond the declared ones may come next, and not only one that is required. */
  get admitsAnyExtra(): boolean {
    this.#anyExtra ??= this.#admits(0)
    return this.#anyExtra
  }

  /** Whether this key is required, has not come yet and may come now. */
  owes(bytes: Bytes): boolean {
    const bit = this.home.names.pendingBit(bytes)
    return (this.pending & bit) !== 0 && this.#admits(bit)
  }

  #admits(bit: number): boolean {
    const { home } = this
    if (home.names.requiredFrom[this.index]! > 0 || this.count >= home.shape.max) return false
    if (home.behind !== undefined) return home.behind.canComplete(this.index, this.count + 1, this.used, 0)
    return home.canComplete(home.shape.properties.length, this.count + 1, this.#usedAfter(bit), this.pending & ~bit)
  }

  /** No way from inside a key that so many characters end is longer, where no taken key begins so. */
  longestExtra(more: number): number {
    const { home } = this
    const { layout } = home.program
    const { after } = this.afterExtra(0)
    return home.program.length(
      more * MOST_BYTES + home.names.longest(layout) + 1 + home.shape.colon.length + after.weight,
    )
  }

  /** The same where any characters may come, and so many taken keys begin so; `Infinity` where it takes too long to know. */
  longestAnyExtra(similar: number): number {
    // A letter or two lead away from the taken keys, and from there on none is in the way.
    const more = similar === 0 ? 0 : 2 + Math.ceil(Math.log(similar + 1) / Math.log(LETTERS))
    const visited = similar * (more + this.home.keys.text.farthest)
    return visited <= MOST_IN_THE_WAY ? this.longestExtra(more) : Infinity
  }

  /** After the quote that opens a key. */
  addKeys(below: Cell, out: Cells): void {
    if (this.declared.length > 0) {
      this.#declaredKey ??= new DeclaredKeyFrame(this, 0, this.declared.length, 0)
      out.add(below.push(this.#declaredKey))
    }
    const extra = this.#extra
    if (extra !== undefined) out.add(below.push(extra))
  }

  get hasKeys(): boolean {
    return this.declared.length > 0 || this.#extra !== undefined
  }

  /** At the start of a key that is not declared. */
  get #extra(): ExtraKeyFrame | undefined {
    const { home } = this
    if (home.shape.first === undefined) return ExtraKeyFrame.first(this)
    return home.names.requiredFrom[this.index] === 0 ? ExtraKeyFrame.first(this.#sought) : undefined
  }

  /** Behind the declared keys, where another must come. */
  get #sought(): MembersPlace {
    const first = this.program.tail(this.home.shape.first!)
    return first.state(first.shape.properties.length, this.count, first.start.used, 0, false)
  }

  /** Before a key, and before that what still stands between it and what came. */
  beforeKey(below: Cell, between: Frame | undefined): Cell {
    const cell = below.push(this.program.breaks.spaced(this.#beforeKey))
    return between === undefined ? cell : cell.push(between)
  }

  /** Before a key one more member must come, even where the shortest way would close. */
  get keyPlan(): ObjectPlan {
    this.#keyPlan ??= this.#planned(Math.max(this.home.shape.min, this.count + 1))
    return this.#keyPlan
  }

  #planned(atLeast: number): ObjectPlan {
    const { index, count, pending } = this
    const used = atLeast > count || this.home.shape.behind !== undefined ? this.#assumed.keys : this.used.keys
    return planObject(this.home.shape, { index, count, pending, used }, atLeast)
  }

  /** The shortest way on, which takes one more member. */
  spell(member: number | string): Bytes {
    const { shape } = this.home
    if (typeof member === 'string' && shape.first !== undefined) return this.#sought.spell(member)
    const keys = this.count + 1 < shape.min ? this.plan.keys : undefined
    if (keys !== undefined && keys[0] === member) return this.#spellKeys(keys)
    const name = typeof member === 'number' ? shape.properties[member]!.key : member
    const head = `"${keyBytes(name)}${shape.colon}${this.#value(member).spell()}`
    const rest = this.#following(member).after.spell()
    // The state behind this key will not know it, and may then plan with others than these.
    const known = typeof member === 'number' || shape.pending.includes(member)
    const alike = this.count + 1 >= shape.min && shape.behind?.behind === undefined
    return head + (known || alike ? rest : loosened(rest))
  }

  /** Behind one of these keys the others are the shortest way still, so that they need not be planned again at each. */
  #spellKeys(keys: readonly string[]): Bytes {
    const { shape, program } = this.home
    const { between, close } = program.breaks
    const [first, ...others] = keys.map((key) => `"${keyBytes(key)}${shape.colon}${this.#value(key).spell()}`)
    const rest = others.map((member) => between + member).join('') + close + (shape.isSet ? ']' : '}')
    return first + loosened(rest)
  }

  #value(member: number | string): Pick<Frame, 'spell'> {
    const { shape, keys } = this.home
    return this.home.value(typeof member === 'number' ? shape.properties[member]!.value : keyValue(keys, member)!)
  }

  #following(member: number | string): MembersPlace {
    const { home } = this
    const used = home.shape.min > this.count ? this.#assumed : this.used
    if (home.behind !== undefined) return this.afterExtra(0)
    if (typeof member === 'number') return home.state(member + 1, this.count + 1, used, this.pending, false)
    const bit = home.shape.pending.indexOf(member)
    const owed = bit < 0 ? this.pending : this.pending & ~(1 << bit)
    return home.state(home.shape.properties.length, this.count + 1, used.with(member), owed, false)
  }
}
