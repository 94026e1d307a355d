/** The options of a question as tokens: what they share is scored once. */

interface Node {
  readonly children: Map<number, Node>
  /** Options that end here, by their places in the question. */
  readonly ends: number[]
  /** Tokens from the root to here. */
  readonly path: readonly number[]
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
  readonly #root: Node = leaf([])
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
        const next = node.children.get(token) ?? leaf([...node.path, token])
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
    const descend = (node: Node, before: number) => {
      const score = before + node.logprob
      for (const option of node.ends) scores[option] = score + node.ended
      for (const child of node.children.values()) descend(child, score)
    }
    descend(this.#root, 0)
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
    const descend = (node: Node, from: number) => {
      const asking = [...node.children.values()].filter((child) => this.#asks(child))
      if (asking.length === 0 && node.path.length > from) found.push({ path: node.path, from })
      for (const [i, child] of asking.entries()) descend(child, i === 0 ? from : node.path.length)
    }
    descend(this.#root, 0)
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

const leaf = (path: readonly number[]): Node => ({ children: new Map(), ends: [], path, logprob: 0, ended: 0 })

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
