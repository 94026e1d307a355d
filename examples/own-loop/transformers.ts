import { type Grammar, maskLogits, type TokenConstraint, type Vocabulary } from 'local-v1/structured'

/** As transformers.js has them: `logits[i].data` are those of the i-th sequence. */
interface Logits {
  readonly dims: readonly number[]
  readonly data: Float32Array
}

/**
 * transformers.js under a grammar: give `generate` a `LogitsProcessorList` with this in it. It is asked with all tokens so
 * far, the prompt among them, and returns the logits; each sequence of a batch has its own place in the grammar.
 */
export function grammarProcessor(grammar: Grammar, vocabulary: Vocabulary) {
  const mask = new Uint32Array(vocabulary.words)
  const begun: { constraint: TokenConstraint; read: number }[] = []
  return <T extends Logits>(inputIds: readonly (readonly bigint[])[], logits: T): T => {
    const size = logits.dims.at(-1)!
    inputIds.forEach((ids, i) => {
      begun[i] ??= { constraint: grammar.start(vocabulary), read: ids.length }
      const sequence = begun[i]
      for (const id of ids.slice(sequence.read)) sequence.constraint.accept(Number(id))
      sequence.read = ids.length
      sequence.constraint.mask(mask)
      maskLogits(logits.data.subarray(i * size, (i + 1) * size), mask)
    })
    return logits
  }
}
