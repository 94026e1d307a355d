import type { Grammar, Vocabulary } from 'local-v1/structured'

/** The part of node-llama-cpp's `LlamaContextSequence` that is used here. */
interface Sequence<Token extends number> {
  controlledEvaluate(
    input: (Token | [token: Token, options: object])[],
  ): Promise<({ next: { probabilities?: Map<Token, number> } } | undefined)[]>
}

/** No token is excluded before the grammar is applied: the tokens that it allows may be unlikely. */
const ALL = { generateNext: { probabilities: true, options: { temperature: 1, topK: 0, topP: 1, minP: 0 } } }

/**
 * node-llama-cpp with a grammar, token by token: `evaluate` cannot use a mask (its `tokenBias` cannot exclude the tokens
 * that end a text), but `controlledEvaluate` returns how likely each token is. Returns the tokens of one text after a
 * prompt, at most `maxTokens`; `temperature` 0 takes the most likely token.
 */
export async function* grammarTokens<Token extends number>(
  sequence: Sequence<Token>,
  prompt: readonly Token[],
  grammar: Grammar,
  vocabulary: Vocabulary,
  { maxTokens = 1000, temperature = 0 }: { maxTokens?: number; temperature?: number } = {},
): AsyncGenerator<Token, void, void> {
  const constraint = grammar.start(vocabulary)
  const mask = new Uint32Array(vocabulary.words)
  let before = [...prompt]
  for (let left = maxTokens; left > 0 && !constraint.done; left--) {
    if (!constraint.closing(left)) throw new RangeError(`it takes at least ${constraint.shortest} tokens`)
    constraint.mask(mask)
    const last = before.pop()
    if (last === undefined) throw new RangeError('the prompt is empty')
    const [result] = (await sequence.controlledEvaluate([...before, [last, ALL]])).filter((one) => one !== undefined)
    const token = chosen(result?.next.probabilities ?? new Map<Token, number>(), mask, temperature)
    if (token === undefined) throw new Error('the model gives no token that the grammar admits')
    constraint.accept(token)
    if (vocabulary.eos.includes(token)) return
    yield token
    before = [token]
  }
}

function chosen<Token extends number>(
  probabilities: ReadonlyMap<Token, number>,
  mask: Uint32Array,
  temperature: number,
): Token | undefined {
  // The most likely first.
  const admitted = [...probabilities].filter(([token]) => (mask[token >> 5]! >>> (token & 31)) & 1)
  if (temperature === 0) return admitted[0]?.[0]
  const weights = admitted.map(([, probability]) => probability ** (1 / temperature))
  let left = Math.random() * weights.reduce((sum, weight) => sum + weight, 0)
  for (const [i, weight] of weights.entries()) {
    left -= weight
    if (left <= 0) return admitted[i]![0]
  }
  return admitted[0]?.[0]
}
