import type { Grammar, Vocabulary } from 'local-v1/structured'

/** What it takes of node-llama-cpp's `LlamaContextSequence`. */
interface Sequence<Token extends number> {
  controlledEvaluate(
    input: (Token | [token: Token, options: object])[],
  ): Promise<({ next: { probabilities?: Map<Token, number> } } | undefined)[]>
}

/** Nothing is cut off before the grammar has spoken: what it admits may be unlikely. */
const ALL = { generateNext: { probabilities: true, options: { temperature: 1, topK: 0, topP: 1, minP: 0 } } }

/**
 * node-llama-cpp under a grammar, token by token: `evaluate` has no place for a mask (its `tokenBias` cannot shut out the
 * tokens that end a text), but `controlledEvaluate` tells how likely each token is. Gives the tokens of one text behind a
 * prompt, at most `maxTokens`; `temperature` 0 takes the likeliest.
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
  // From the likeliest on.
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
