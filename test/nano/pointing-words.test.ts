/** A text is asked in the words in which the recipe asks: what points has read no others. */
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { pointedQuestions } from '../../src/generate/pointing/questions.js'

interface Query {
  readonly path: readonly string[]
  readonly type: string
  readonly nullable?: boolean
  readonly options?: readonly unknown[]
}
interface Recipe {
  queriesOf(schema: unknown): readonly Query[]
  askedAs(query: Query): string
}

const nano = new URL('../../models/nano/', import.meta.url)
/** The recipe has packages of its own, which nobody needs who does not train. */
const isInstalled = existsSync(new URL('recipe/node_modules', nano))
const { queriesOf, askedAs } = isInstalled
  ? ((await import(new URL('recipe/spans.js', nano).href)) as Recipe)
  : { queriesOf: () => [], askedAs: () => '' }

const schemas = readFileSync(new URL('eval/natural.jsonl', nano), 'utf8')
  .trim()
  .split('\n')
  .map((line) => (JSON.parse(line) as { readonly schema: unknown }).schema)
const key = ({ path }: Pick<Query, 'path'>) => JSON.stringify(path)

describe.skipIf(!isInstalled)('what is asked of natural texts (`npm ci` in models/nano/recipe)', () => {
  it('is what the recipe asks: words, options, and whether there may be none', () => {
    let both = 0
    for (const schema of schemas) {
      const queries = new Map(queriesOf(schema).map((query) => [key(query), query]))
      for (const question of pointedQuestions(schema)) {
        const query = queries.get(key(question))!
        expect(question.text).toBe(askedAs(query))
        expect(question.kind).toBe(query.options ? 'option' : query.type)
        expect(question.options).toEqual(query.options ?? [])
        expect(question.absence !== undefined).toBe(query.nullable === true)
        both++
      }
    }
    expect(both).toBeGreaterThan(schemas.length)
  })

  it('is all that the recipe asks but times, lists and what is in them', () => {
    for (const schema of schemas) {
      const pointed = new Set(pointedQuestions(schema).map(key))
      const left = queriesOf(schema).filter((query) => !pointed.has(key(query)))
      for (const { path, type } of left) expect(type === 'time' || path.includes('[]'), path.join('.')).toBe(true)
    }
  })
})
