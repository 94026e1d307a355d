import { atOnce, exp, getOrMake, log, type Slices } from '../../platform/index.js'

/** The options of a question as tokens: what they share is scored once. */

interface Node {
  /** Undefined of the root. */
  readonly before: Node | undefined
  /**
   * The last of its tokens, of the root none; as many lead to it as it is deep. An option may be long: no node has them
   * all.
   */
  readonly token: number
  readonly depth: number
  readonly children: Map<number, Node>
  /** Options that end here, by their places in the question. */
  readonly ends: number[]
  /** Log probabilities, once they are known: of its last token after those before it, and of its end. */
  logprob: number
  ended: number
}

/** A way down from the root: its tokens are fed, and after each from `from` on the candidates are scored. */
export class Walk {
  readonly path: readonly number[]
  /** The first place that no other walk scores. */
  readonly from: number
  /** So long is it where options part, and at its end: the same of all walks that go that way. */
  readonly stops: readonly number[]
  /** Where each of its tokens leads to. */
  readonly #nodes: readonly Node[]
  readonly #ends: readonly number[]

  constructor(last: Node, from: number, parting: ReadonlySet<Node>, ends: readonly number[]) {
    const nodes: Node[] = []
    for (let at: Node = last; at.before !== undefined; at = at.before) nodes.push(at)
    nodes.reverse()
    this.path = nodes.map(({ token }) => token)
    this.from = from
    this.stops = nodes.filter((node) => node === last || parting.has(node)).map(({ depth }) => depth)
    this.#nodes = nodes
    this.#ends = ends
  }

  /** Tokens to score after its token at `at`: those that options go on with, and those that close one that ends there. */
  candidates(at: number): readonly number[] {
    return tokensAfter(this.#nodes[at]!, this.#ends)
  }

  /** Log probabilities of the candidates there. */
  take(at: number, logprobs: readonly number[]): void {
    setLogprobs(this.#nodes[at]!, logprobs, this.#ends)
  }
}

/** Tokens between two pauses. */
const SLICE = 2000

export class OptionTrie {
  readonly #root: Node = leaf(undefined, Number.NaN)
  readonly #ends: readonly number[]
  /** Of all walks. */
  tokens = 0

  /**
   * `ends`: tokens one of which closes each option, where one option is the beginning of another; none, where no option
   * is: an option is then its text alone.
   */
  constructor(options: readonly (readonly number[])[], ends: readonly number[]) {
    this.#ends = ends
    atOnce(this.#add(options))
  }

  /** The same with pauses: options may be many, and as long as a model reads. */
  static *inSlices(options: readonly (readonly number[])[], ends: readonly number[]): Slices<OptionTrie> {
    const trie = new OptionTrie([], ends)
    yield* trie.#add(options)
    return trie
  }

  *#add(options: readonly (readonly number[])[]): Slices<void> {
    let added = 0
    for (const [option, tokens] of options.entries()) {
      let node = this.#root
      for (const token of tokens) {
        if (++added % SLICE === 0) yield
        const above = node
        node = getOrMake(above.children, token, () => {
          // Without ends nothing is to be scored behind the last.
          if (this.#ends.length > 0 || (above !== this.#root && above.children.size === 0)) this.tokens++
          return leaf(above, token)
        })
      }
      node.ends.push(option)
    }
  }

  /** Log probability of each option, once all candidates have been scored. */
  scores(): number[] {
    const scores: number[] = []
    const open: [Node, number][] = [[this.#root, 0]]
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const [node, before] = at
      const score = before + node.logprob
      for (const option of node.ends) scores[option] = score + node.ended
      for (const child of node.children.values()) open.push([child, score])
    }
    return scores
  }

  /** Tokens to score before any token of an option. */
  candidates(): readonly number[] {
    return tokensAfter(this.#root, this.#ends)
  }

  /** Log probabilities of the candidates there. */
  take(logprobs: readonly number[]): void {
    setLogprobs(this.#root, logprobs, this.#ends)
  }

  /** Whether anything is to be scored at all. */
  get open(): boolean {
    return this.#isOpen(this.#root)
  }

  /** All that is to be scored beyond the root: each walk goes down as far as there is something to score. */
  walks(): Walk[] {
    const found: Walk[] = []
    const parting = new Set<Node>()
    const open: [Node, number][] = [[this.#root, 0]]
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      let [node, from] = at
      for (let only = this.#only(node); only !== undefined; only = this.#only(node)) node = only
      const below = [...node.children.values()].filter((child) => this.#isOpen(child))
      if (below.length > 1) parting.add(node)
      if (below.length === 0 && node.depth > from) found.push(new Walk(node, from, parting, this.#ends))
      for (let i = below.length - 1; i >= 0; i--) open.push([below[i]!, i === 0 ? from : node.depth])
    }
    return found
  }

  /** What alone is open below: most tokens of a long option. */
  #only({ children }: Node): Node | undefined {
    if (children.size !== 1) return undefined
    const [only] = children.values()
    return this.#isOpen(only!) ? only : undefined
  }

  /** Where nothing goes on an option ends. */
  #isOpen(node: Node): boolean {
    return node.children.size > 0 || this.#ends.length > 0
  }
}

function tokensAfter({ children, ends: options }: Node, ends: readonly number[]): readonly number[] {
  return [...children.keys(), ...(options.length > 0 ? ends : [])]
}

function setLogprobs(node: Node, logprobs: readonly number[], ends: readonly number[]): void {
  let i = 0
  for (const child of node.children.values()) child.logprob = logprobs[i++]!
  if (ends.length > 0) node.ended = logSum(logprobs.slice(i))
}

function leaf(before: Node | undefined, token: number): Node {
  const depth = before === undefined ? 0 : before.depth + 1
  return { before, token, depth, children: new Map(), ends: [], logprob: 0, ended: 0 }
}

/** The log of the sum of numbers, given their logs. */
export function logSum(values: readonly number[]): number {
  const most = Math.max(...values)
  if (most === Number.NEGATIVE_INFINITY) return most
  return most + log(values.reduce((sum, value) => sum + exp(value - most), 0))
}

/** Of options that have been scored: their probabilities among themselves, and how much fell on them at all. */
export function sharesOf(trie: OptionTrie): { readonly probabilities: number[]; readonly mass: number } {
  const scores = trie.scores()
  const all = logSum(scores)
  return { mass: exp(all), probabilities: scores.map((score) => exp(score - all)) }
}
