/** What it takes to go on with tools of which most are known, and what is kept of them. */

import { Constraints } from '../../src/grammar/constraints/constraints.js'
import { compile, type Vocabulary } from '../../src/grammar/structured.js'
import { atOnce } from '../../src/platform/turns.js'
import { now, quantile } from './measure.js'

const TOOLS = 500
const ROUNDS = 60

interface Row {
  readonly id: string
  readonly schema: unknown
}

/** Parameters as two collections of functions for language models write them. */
function parametersOf(rows: readonly Row[]): Record<string, unknown>[] {
  return rows
    .filter(({ id }) => /^(Glaive|BFCL)/.test(id))
    .map(({ schema }) => schema as Record<string, unknown>)
    .filter((schema) => {
      try {
        return schema.type === 'object' && compile(schema, { strict: false })
      } catch {
        return false
      }
    })
}

/** A request for a call of one of 500 tools, another of them changed each time: by request, in microseconds, and what is kept. */
export function measureTools(rows: readonly Row[], vocabulary: Vocabulary) {
  const all = parametersOf(rows)
  const constraints = new Constraints()
  const request = (round: number) => {
    const tools = Array.from({ length: TOOLS }, (_, i) => {
      const schema = all[i % all.length]!
      // The first of them makes 500 of those that there are.
      const own = i < all.length ? schema : { ...schema, minProperties: 1 }
      const changed = { ...own, properties: { ...(own.properties as object), [`of${round}`]: { type: 'integer' } } }
      return { name: `tool_${i}`, parameters: i === round ? changed : own, strict: false }
    })
    const places = { format: 'response_format', tools: tools.map((_, i) => `tools[${i}]`) }
    // As they come: parsed anew with each request.
    const spec = {
      output: { type: 'text' as const },
      toolChoice: 'auto' as const,
      tools: JSON.parse(JSON.stringify(tools)),
    }
    const started = now()
    const { toolGrammar } = atOnce(constraints.of({ ...spec, places }))
    const compiled = now() - started
    const mask = new Uint32Array(vocabulary.words)
    toolGrammar!.start(vocabulary).mask(mask)
    return { compiled, masked: now() - started - compiled }
  }
  const first = request(0)
  const changed = Array.from({ length: ROUNDS }, (_, i) => request(i + 1))
  return {
    firstUs: first.compiled,
    changedUs: quantile(
      changed.map(({ compiled }) => compiled),
      0.5,
    ),
    slowestUs: Math.max(...changed.map(({ compiled }) => compiled)),
    firstMaskUs: quantile(
      changed.map(({ masked }) => masked),
      0.5,
    ),
    kept: constraints.kept.size,
    bytes: constraints.kept.bytes,
  }
}
