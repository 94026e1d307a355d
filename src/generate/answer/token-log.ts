/** The tokens of prompt and answer, with what has to be known of them from step to step. */
export class TokenLog {
  readonly tokens: number[]
  readonly promptLength: number
  /** Leading tokens that are as they were at the last `settle`. */
  kept: number
  /** How often each token stands in the answer; kept only where penalties ask for it. */
  readonly counts: Map<number, number> | undefined
  /** Which tokens stand in prompt or answer, a bit each; kept only where a penalty asks for it. */
  readonly seen: Uint32Array | undefined

  /** `marked`: how many tokens there are, where it has to be known which of them were said. */
  constructor(prompt: readonly number[], counting: boolean, marked?: number) {
    this.tokens = [...prompt]
    this.promptLength = prompt.length
    this.kept = prompt.length
    this.counts = counting ? new Map() : undefined
    this.seen = marked === undefined ? undefined : new Uint32Array(Math.ceil(marked / 32))
    if (this.seen) for (const token of prompt) mark(this.seen, token)
  }

  get generated(): number {
    return this.tokens.length - this.promptLength
  }

  append(tokens: readonly number[]): void {
    for (const token of tokens) {
      this.tokens.push(token)
      this.counts?.set(token, (this.counts.get(token) ?? 0) + 1)
      if (this.seen) mark(this.seen, token)
    }
  }

  /** Takes the last `count` tokens back. */
  drop(count: number): void {
    for (const token of this.tokens.splice(this.tokens.length - count, count)) {
      this.counts?.set(token, this.counts.get(token)! - 1)
      if (this.seen && !this.tokens.includes(token)) this.seen[token >>> 5]! &= ~(1 << (token & 31))
    }
    this.kept = Math.min(this.kept, this.tokens.length)
  }

  settle(): void {
    this.kept = this.tokens.length
  }
}

function mark(seen: Uint32Array, token: number): void {
  seen[token >>> 5]! |= 1 << (token & 31)
}
