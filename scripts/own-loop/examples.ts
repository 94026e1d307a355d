import type { Grammar, Vocabulary } from '../../src/grammar/structured.js'

type Place = readonly [grammar: Grammar, vocabulary: Vocabulary]

/** The examples, as they stand: they import the built package by its name. */
export interface Examples {
  grammarProcessor(...args: [...Place, options: { maxTokens?: number }]): unknown
  grammarTokens(
    sequence: unknown,
    prompt: readonly number[],
    ...args: [...Place, options: { maxTokens?: number; temperature?: number }]
  ): AsyncGenerator<number>
}

export async function exampleOf<Name extends keyof Examples>(file: string, name: Name): Promise<Examples[Name]> {
  const url = new URL(`../../examples/own-loop/${file}`, import.meta.url).href
  return ((await import(url)) as Examples)[name]
}
