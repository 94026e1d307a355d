/** The options of a question as tokens: what they share is scored once. */

interface Node {
  /** Undefined of the root. */
  readonly before: Node | undefined
  /** The last of its tokens; as many lead to it as it is deep. An option may be long: no node has them all. */
  readonly token: number
  readonly depth: number
  readonly children: Map<number, Node>
  /** Options that end here, by their places in the question. */
  readonly ends: number[]
  /** Log probabilities, once they are known: of its last token after those before it, and of its end. */
  logprob: number
  ended: number
}

/** A walk from the root: `path` is fed, and the places in it from `from` on are asked what may come next. */
export interface Walk {
  readonly path: readonly number[]
  /** The first place that no other walk asks. */
  readonly from: number
}

export class OptionTrie {
  readonly #root: Node = leaf(undefined, -1)
  readonly #ends: readonly number[]
  readonly #count: number
  /** Of all walks. */
  tokens = 0

  /**
   * `ends`: tokens one of which closes each option, where one option is the beginning of another; none, where no option
   * is: an option is then its text alone.
   */
  constructor(options: readonly (readonly number[])[], ends: readonly number[]) {
    this.#ends = ends
    this.#count = options.length
    options.forEach((tokens, option) => {
      let node = this.#root
      for (const token of tokens) {
        const next = node.children.get(token) ?? leaf(node, token)
        node.children.set(token, next)
        node = next
      }
      node.ends.push(option)
    })
    this.tokens = this.walks().reduce((sum, { path, from }) => sum + path.length - from, 0)
  }

  /** Log probability of each option, once all that is to be asked has been told. */
  scores(): number[] {
    const scores = new Array<number>(this.#count).fill(Number.NaN)
    const open: [Node, number][] = [[this.#root, 0]]
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const [node, before] = at
      const score = before + node.logprob
      for (const option of node.ends) scores[option] = score + node.ended
      for (const child of node.children.values()) open.push([child, score])
    }
    return scores
  }

  /** What is to be known after the tokens of `path`: those that options go on with, and what closes one that ends there. */
  asked(path: readonly number[]): readonly number[] {
    const node = this.#at(path)
    return [...node.children.keys(), ...(node.ends.length > 0 ? this.#ends : [])]
  }

  /** Log probabilities of what was asked there. */
  take(path: readonly number[], logprobs: readonly number[]): void {
    const node = this.#at(path)
    let i = 0
    for (const child of node.children.values()) child.logprob = logprobs[i++]!
    if (node.ends.length > 0 && this.#ends.length > 0) node.ended = logSum(logprobs.slice(i))
  }

  /** Whether anything is to be asked at all. */
  get open(): boolean {
    return this.#asks(this.#root)
  }

  /** All that is to be asked beyond the root: each walk goes down as far as there is something to ask. */
  walks(): Walk[] {
    const found: Walk[] = []
    const open: [Node, number][] = [[this.#root, 0]]
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const [node, from] = at
      const asking = [...node.children.values()].filter((child) => this.#asks(child))
      if (asking.length === 0 && node.depth > from) found.push({ path: pathTo(node), from })
      for (let i = asking.length - 1; i >= 0; i--) open.push([asking[i]!, i === 0 ? from : node.depth])
    }
    return found
  }

  #asks(node: Node): boolean {
    return node.children.size > 0 || (node.ends.length > 0 && this.#ends.length > 0)
  }

  #at(path: readonly number[]): Node {
    let node = this.#root
    for (const token of path) node = node.children.get(token)!
    return node
  }
}

function leaf(before: Node | undefined, token: number): Node {
  const depth = before === undefined ? 0 : before.depth + 1
  return { before, token, depth, children: new Map(), ends: [], logprob: 0, ended: 0 }
}

function pathTo(node: Node): number[] {
  const path = new Array<number>(node.depth)
  for (let at: Node = node; at.before !== undefined; at = at.before) path[at.depth - 1] = at.token
  return path
}

/** log of the sum of what these are the logs of. */
export function logSum(values: readonly number[]): number {
  const most = Math.max(...values)
  if (most === Number.NEGATIVE_INFINITY) return most
  return most + Math.log(values.reduce((sum, value) => sum + Math.exp(value - most), 0))
}

/** Of options that have been scored: their probabilities among themselves, and how much fell on them at all. */
export function sharesOf(trie: OptionTrie): { readonly probabilities: number[]; readonly mass: number } {
  const scores = trie.scores()
  const all = logSum(scores)
  return { mass: Math.exp(all), probabilities: scores.map((score) => Math.exp(score - all)) }
}
