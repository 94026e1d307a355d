import { CharacterFrame, type StringPlace } from '../automaton/characters.js'
import { ENTRY_BYTES, Kept } from '../kept.js'
import type { Found } from './found.js'
import type { Trie } from './trie.js'

const QUOTE = 0x22
/** Where a byte leads that was not tried, and where one that may not come does. */
const [UNTRIED, NOWHERE] = [-1, 0]
/** Places kept before all is dropped, and in the midst of a walk before it is given up: a kilobyte for each. */
const [KEPT, MOST] = [500, 3000]
/** Of which it is kept where their tokens lead, of up to 600 KB each for a vocabulary of 152,000. */
const FRAMES = 12

/** The tokens of a trie by the place that they lead to. */
export interface Leading {
  readonly places: readonly StringPlace[]
  /** The tokens that lead to `places[i]` are those from `from[i]` up to `from[i + 1]`. */
  readonly tokens: Int32Array
  readonly from: readonly number[]
}

/** The nodes of a trie that lead somewhere, level by level, and the place of each. One walk at a time uses them. */
let line = new Int32Array(0)
let reached = new Int32Array(0)

const ownEnds = new WeakMap<Trie, Uint32Array>()

/**
 * Walks what leads on of a trie along the inside of a string, level by level, as it lies in memory: each node takes a look
 * into a table. Where most tokens must be looked at one by one that is many times as fast as a walk from child to child, which
 * is the better one where whole subtrees may be taken or left out.
 */
export class PlaceWalk {
  readonly #found: Found
  #indexes = new Map<StringPlace, number>()
  /** By index; the first stands for no place. */
  #frames: (StringPlace | null)[] = [null]
  #rows: Int32Array[] = [new Int32Array(256)]
  readonly #leading = new Kept<StringPlace, Leading>(FRAMES, bytesOfLeading)

  constructor(found: Found) {
    this.#found = found
  }

  /** What is kept here. */
  get bytes(): number {
    return this.#leading.bytes + this.#frames.length * (ENTRY_BYTES + 1024)
  }

  /** Undefined: to too many places. Always asked about the same trie. */
  from(frame: StringPlace, trie: Trie): Leading | undefined {
    const known = this.#leading.get(frame)
    if (known !== undefined) return known
    if (this.#frames.length > KEPT) this.#forget()
    const count = this.#reach(trie, frame)
    if (count === undefined) return undefined
    const leading = this.#byPlace(trie, count)
    this.#leading.set(frame, leading)
    return leading
  }

  /** How many nodes lead somewhere. */
  #reach({ bytes, first }: Trie, frame: StringPlace): number | undefined {
    const nodes = bytes.length
    if (reached.length < nodes) {
      reached = new Int32Array(nodes)
      line = new Int32Array(nodes)
    }
    const rows = this.#rows
    reached[0] = this.#indexOf(frame)
    line[0] = 0
    let count = 1
    for (let i = 0; i < count; i++) {
      const node = line[i]!
      const last = first[node + 1]!
      // Most have no children.
      if (first[node] === last) continue
      const place = reached[i]!
      const row = rows[place]!
      for (let child = first[node]!; child < last; child++) {
        const known = row[bytes[child]!]!
        const next = known === UNTRIED ? this.#step(place, bytes[child]!) : known
        if (next === NOWHERE) continue
        reached[count] = next
        line[count++] = child
      }
      if (rows.length > MOST) return undefined
    }
    this.#found.followed += count
    return count
  }

  #byPlace(trie: Trie, count: number): Leading {
    const { tokens, from } = trie
    const ends = ownEndsOf(trie)
    const starts = new Uint32Array(this.#frames.length + 1)
    for (let i = 0; i < count; i++) starts[reached[i]! + 1]! += ends[line[i]!]! - from[line[i]!]!
    for (let place = 1; place < starts.length; place++) starts[place]! += starts[place - 1]!
    const sorted = new Int32Array(starts[starts.length - 1]!)
    const at = starts.slice()
    for (let i = 0; i < count; i++) {
      const place = reached[i]!
      for (let own = from[line[i]!]!; own < ends[line[i]!]!; own++) sorted[at[place]!++] = tokens[own]!
    }
    const places: StringPlace[] = []
    const froms = [0]
    for (let place = 1; place < this.#frames.length; place++) {
      if (starts[place] === starts[place + 1]) continue
      places.push(this.#frames[place]!)
      froms.push(starts[place + 1]!)
    }
    return { places, tokens: sorted, from: froms }
  }

  #step(place: number, byte: number): number {
    const frame = this.#frames[place]!
    // Behind the closing quote is no longer in here.
    const closes = byte === QUOTE && frame instanceof CharacterFrame
    const next = closes ? null : (frame.move(byte) as StringPlace | null)
    const index = next === null ? NOWHERE : this.#indexOf(next)
    this.#rows[place]![byte] = index
    return index
  }

  #indexOf(frame: StringPlace): number {
    const known = this.#indexes.get(frame)
    if (known !== undefined) return known
    const index = this.#frames.push(frame) - 1
    this.#indexes.set(frame, index)
    this.#rows.push(new Int32Array(256).fill(UNTRIED))
    return index
  }

  #forget(): void {
    this.#indexes = new Map()
    this.#frames = [null]
    this.#rows = [new Int32Array(256)]
  }
}

function bytesOfLeading({ tokens, from }: Leading): number {
  return ENTRY_BYTES + tokens.byteLength + 24 * from.length
}

/** For each node where the tokens end that end at it. */
function ownEndsOf(trie: Trie): Uint32Array {
  let own = ownEnds.get(trie)
  if (own === undefined) {
    const { first, from, tokens } = trie
    const ends = new Uint32Array(from.length)
    own = new Uint32Array(from.length)
    ends[0] = tokens.length
    for (let node = 0; node < from.length; node++) {
      const [begin, last] = [first[node]!, first[node + 1]!]
      for (let child = begin; child < last; child++) ends[child] = child + 1 < last ? from[child + 1]! : ends[node]!
      own[node] = begin < last ? from[begin]! : ends[node]!
    }
    ownEnds.set(trie, own)
  }
  return own
}
