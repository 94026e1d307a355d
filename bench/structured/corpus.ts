/** Real schemas, each with one document that satisfies it, as tokens. */

import { existsSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { textsOf } from '../../scripts/schemas/serialise.js'
import type { Tokenizer } from '../../src/generate/tokenizer/tokenizer.js'
import { compile, type Grammar } from '../../src/grammar/structured.js'

export interface Entry {
  readonly id: string
  readonly schema?: unknown
  /** In place of a schema. */
  readonly lark?: string
  /** Tokens of a valid document with its keys in the order of the schema; absent if there is none. */
  readonly tokens?: readonly number[]
}

const FILE = new URL('../../../shared/schemas/maskbench.dev.jsonl.gz', import.meta.url)
/** Longer documents only repeat themselves. */
const MOST_TOKENS = 400

interface Line {
  readonly id: string
  readonly schema: unknown
  readonly tests: readonly { readonly valid: boolean; readonly data: unknown }[]
}

export function readSchemas(): Line[] | undefined {
  if (!existsSync(FILE)) return undefined
  return gunzipSync(readFileSync(FILE))
    .toString('utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
}

/** Every n-th schema, so that about `wanted` remain, with its first valid document. */
export function sample(lines: readonly Line[], wanted: number, tokenizer: Tokenizer): Entry[] {
  const every = Math.max(1, Math.floor(lines.length / wanted))
  return lines
    .filter((_, i) => i % every === 0)
    .map(({ id, schema, tests }) => {
      const valid = tests.find((test) => test.valid)
      const text = valid && spelling(schema, valid.data)
      return { id, schema, tokens: text === undefined ? undefined : tokenizer.encodePlain(text).slice(0, MOST_TOKENS) }
    })
}

/** The text of a document that the grammar generates; where it cannot be compiled, with the keys as given. */
function spelling(schema: unknown, data: unknown): string | undefined {
  let grammar: Grammar
  try {
    grammar = compile(schema)
  } catch {
    return JSON.stringify(data)
  }
  return textsOf(schema, data).find((text) => grammar.accepts(text))
}
