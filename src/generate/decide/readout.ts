/** How models that were made for decisions say their answers. */
import type { DecideQuestion } from '../../contract/index.js'
import type { ReadQuestion } from './reading.js'
import type { TypedQuestion } from './typed-question.js'

/** A question as tokens, and how its answer is read. */
export interface Reads {
  readonly of: ReadQuestion
  /** Of its options as they were shown; of a predicate that it is so, and that it is not. */
  sharesAt(temperature: number): { readonly shares: readonly number[]; readonly mass?: number }
}

/** How a type of model says its answers. */
export interface Readout {
  /** The most options that it tells apart. */
  readonly most: number
  /** The orders in which it is asked, where none were asked for. */
  ordersOf(question: DecideQuestion): readonly (readonly number[])[]
  /** A question in the words of its template. */
  worded(question: TypedQuestion): TypedQuestion
  reads(question: TypedQuestion, tokens: readonly number[]): Reads
  /** How temperatures are told apart by the number of options. */
  group(options: number): string
}

/** As most of their makers fitted them. */
export const temperatureGroup = (options: number): string =>
  options <= 2 ? '2' : options <= 5 ? '3_5' : options <= 10 ? '6_10' : '11'
