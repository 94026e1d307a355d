/** Random documents over schemas as libraries write them: each must satisfy its schema, as ajv and the exact judge see it. */

import { judge } from '../../src/grammar/judge.js'
import { compile } from '../../src/grammar/structured.js'
import { randomDocument, randomness, smallWords, vocabularyOf } from '../../src/grammar/testing.test-helper.js'
import { ajvOf } from './oracle.js'
import { WRITTEN } from './written/index.js'

export interface WrittenResult {
  readonly documents: number
  /** Those of them that ajv judged too. */
  readonly byAjv: number
  readonly faults: readonly string[]
}

const MOST_MORE = 60

export function checkWritten(library: string, perSchema: number, seed: number): WrittenResult {
  const vocabulary = vocabularyOf(smallWords())
  const random = randomness(seed)
  const faults: string[] = []
  let documents = 0
  let byAjv = 0
  for (const [name, schema] of Object.entries(WRITTEN[library] ?? {})) {
    const grammar = compile(schema)
    const accepts = ajvOf(schema)
    const { shortest } = grammar.start(vocabulary)
    for (let i = 0; i < perSchema; i++) {
      const budget = shortest + Math.floor(random() ** 2 * MOST_MORE)
      const text = randomDocument(grammar.start(vocabulary), vocabulary, budget, random)
      const value: unknown = JSON.parse(text)
      documents++
      const exact = judge(schema, value)
      const opinion = accepts?.(value)
      if (opinion !== undefined) byAjv++
      if (exact !== true) faults.push(`${library}, ${name}: the exact judge refuses ${text}`)
      else if (opinion === false) faults.push(`${library}, ${name}: ajv refuses ${text}`)
    }
  }
  return { documents, byAjv, faults }
}
