import { type Grammar, maskLogits, type TokenConstraint, type Vocabulary } from 'local-v1/structured'

/** In the form of transformers.js: `logits[i].data` are those of the i-th sequence. */
interface Logits {
  readonly dims: readonly number[]
  readonly data: Float32Array
}

/**
 * transformers.js with a grammar: pass `generate` a `LogitsProcessorList` with a new one of these for each call. It gets
 * all tokens so far, with the prompt, and returns the logits; each sequence of a batch has its own state in the grammar.
 * `maxTokens` is the same as `max_new_tokens`: the text ends within it.
 */
export function grammarProcessor(grammar: Grammar, vocabulary: Vocabulary, { maxTokens = Infinity } = {}) {
  const mask = new Uint32Array(vocabulary.words)
  const begun: { constraint: TokenConstraint; prompt: number; read: number }[] = []
  return <T extends Logits>(inputIds: readonly (readonly bigint[])[], logits: T): T => {
    const size = logits.dims.at(-1)!
    inputIds.forEach((ids, i) => {
      begun[i] ??= { constraint: grammar.start(vocabulary), prompt: ids.length, read: ids.length }
      const sequence = begun[i]
      const { constraint, prompt } = sequence
      for (const id of ids.slice(sequence.read)) constraint.accept(Number(id))
      sequence.read = ids.length
      // A sequence that has ended waits for the others of its batch: what is sampled for it is ignored.
      if (constraint.done) mask.fill(0).set([1 << (vocabulary.eos[0]! & 31)], vocabulary.eos[0]! >> 5)
      else {
        const left = maxTokens - (ids.length - prompt)
        if (!constraint.closing(left)) throw new RangeError(`it takes at least ${constraint.shortest} tokens more`)
        constraint.mask(mask)
      }
      maskLogits(logits.data.subarray(i * size, (i + 1) * size), mask)
    })
    return logits
  }
}
