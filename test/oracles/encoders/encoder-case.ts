import type { Metadata } from '../../../bench/peers/gguf-file.js'
import type { GgufTensor, TensorSpec, Weights } from '../family.js'
import { FIRST_WORD } from '../files/gguf.js'
import type { Vector } from '../float64.js'
import { Random } from '../random.js'

/** A text as the model reads it: tokens with what the tokenizer puts around them, and which of two texts each is of. */
export interface Input {
  readonly tokens: readonly number[]
  readonly types?: readonly number[]
}

/** One case of a model that makes vectors, as `Case` is one of those that make text. */
export interface EncoderCase {
  readonly name: string
  readonly config: Readonly<Record<string, unknown>> & { readonly vocab_size: number }
  /** What lies beside it, in sentence-transformers' form: by path. */
  readonly files: Readonly<Record<string, unknown>>
  readonly tensors: readonly TensorSpec[]
  /** Tensors in files of their own, by the folder that these are in. */
  readonly apart?: Readonly<Record<string, readonly TensorSpec[]>>
  /** What begins and ends each text. */
  readonly around: { readonly begin: readonly number[]; readonly end: readonly number[] }
  /** Tokens of the texts that it is asked with. */
  readonly lengths: readonly number[]
  /** Its vector, of length one; or its scores. */
  reference(weights: Weights, input: Input, mistake?: string): Vector
  readonly mistakes: readonly string[]
  /** Absent: llama.cpp does not know it. */
  readonly gguf?: {
    readonly architecture: string
    metadata(out: Metadata): void
    tensors(weights: Weights): GgufTensor[]
    /** Its words and marks; absent: those of the decoders. */
    words?(out: Metadata): void
  }
}

/** Texts of made-up words, the same on every machine. */
export function inputsOf({ name, config, around, lengths }: EncoderCase): Input[] {
  const random = new Random(`texts of ${name}`)
  const word = () => FIRST_WORD + random.below(config.vocab_size - FIRST_WORD)
  return lengths.map((length) => ({
    tokens: [...around.begin, ...Array.from({ length }, word), ...around.end],
  }))
}

export function unit(vector: Vector): Vector {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  return vector.map((value) => value / length)
}

/** How far two vectors are apart: by the angle between them, and by their numbers. */
export function distance(truth: ArrayLike<number>, computed: ArrayLike<number>): { cosine: number; worst: number } {
  const [a, b] = [unit(Float64Array.from(truth)), unit(Float64Array.from(computed))]
  return {
    cosine: a.reduce((sum, value, i) => sum + value * b[i]!, 0),
    worst: a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0),
  }
}
