import { type Grammar, maskLogits, type TokenConstraint, type Vocabulary } from 'local-v1/structured'

/** As transformers.js has them: `logits[i].data` are those of the i-th sequence. */
interface Logits {
  readonly dims: readonly number[]
  readonly data: Float32Array
}

/**
 * transformers.js under a grammar: give `generate` a `LogitsProcessorList` with this in it, made anew for each call. It is
 * asked with all tokens so far, the prompt among them, and returns the logits; each sequence of a batch has its own place
 * in the grammar. `maxTokens` is what `max_new_tokens` says: the text ends within it.
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
      // One that has ended waits for the others of its batch: whatever is drawn for it is not looked at.
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
