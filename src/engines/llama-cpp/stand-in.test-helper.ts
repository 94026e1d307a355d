/** Node-llama-cpp as it behaves, with logits that are a function of all tokens before them. */
import { commonLength } from '../../platform/index.js'
import type { EvaluatedToken, LogitsReply, LogitsRequest, NativeSequence } from './library.js'

export interface Seen {
  /** Tokens that were read. */
  read: number
  copies: number
}

export interface StandInOptions {
  readonly tokens: number
  readonly contextSize: number
  /** Whether what one sequence holds can be copied to another. @default true */
  readonly copies?: boolean
  /** It goes back to states that were kept, and nowhere else. @default false */
  readonly needsCheckpoints?: boolean
  readonly seen?: Seen
  /** How far apart logits lie. @default 3 */
  readonly width?: number
}

/** Of the token that follows these. */
export function logitsAfter(before: readonly number[], tokens: number, width = 3): Float32Array {
  let state = before.reduce((hash, token) => (Math.imul(hash ^ token, 0x01000193) + 7) >>> 0, 0x811c9dc5)
  return Float32Array.from({ length: tokens }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return width * Math.log((state / 2 ** 32 + 1e-9) / (1 - state / 2 ** 32))
  })
}

export function standInSequence(options: StandInOptions): NativeSequence {
  const { tokens, contextSize, copies = true, needsCheckpoints = false, seen, width } = options
  let held: number[] = []
  let kept: number[] = []
  const requestedLogits = (
    logits: Float32Array,
    { logits: which, options: sampled }: LogitsRequest,
  ): Map<number, number> => {
    if (which !== true) return new Map(which.filter.tokens.map((id) => [id, logits[id]!]))
    const order = [...logits.keys()].sort((a, b) => logits[b]! - logits[a]!)
    const most = sampled.temperature === 0 ? order : order.slice(0, sampled.topK)
    return new Map(most.map((id) => [id, logits[id]!]))
  }
  const sequence: NativeSequence & { readonly held: () => readonly number[] } = {
    held: () => held,
    needsCheckpoints,
    get nextTokenIndex() {
      return held.length
    },
    async adaptStateToTokens(wanted) {
      const common = commonLength(held, wanted)
      if (common === held.length) return
      if (!needsCheckpoints) held = held.slice(0, common)
      else held = commonLength(kept, wanted) === kept.length ? [...kept] : []
    },
    getRestoreToPrefixIndexEvaluationSize(length) {
      if (!needsCheckpoints) return 0
      return kept.length <= length ? length - kept.length + 1 : length
    },
    async takeCheckpoint() {
      if (needsCheckpoints) kept = [...held]
    },
    async clearHistory() {
      held = []
    },
    async controlledEvaluate(input: readonly EvaluatedToken[]) {
      // Where it is full, it forgets what it was given first, without a word.
      if (held.length + input.length >= contextSize) throw new Error('It would forget.')
      const results: (LogitsReply | undefined)[] = []
      for (const item of input) {
        const [token, request] = typeof item === 'number' ? [item] : item
        if (seen) seen.read++
        held = [...held, token]
        await Promise.resolve()
        results.push(
          request && { next: { logits: requestedLogits(logitsAfter(held, tokens, width), request.generateNext) } },
        )
      }
      return results
    },
    ...(copies && {
      async _copyStateFromOtherSequence(other: NativeSequence, length: number) {
        if (seen) seen.copies++
        held = (other as typeof sequence).held().slice(0, length)
        return held.length === length
      },
    }),
  }
  return sequence
}
