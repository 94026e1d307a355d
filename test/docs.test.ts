import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const root = new URL('../', import.meta.url)
const docs = readdirSync(new URL('docs/', root)).filter((name) => name.endsWith('.md'))

/** `src/…` and the like, alone between backticks. */
const PATH = /`((?:src|test|adapters|scripts|bench|docs|models)\/[\w./-]*)`/g

test.each(docs)('every path in docs/%s is there', (name) => {
  const text = readFileSync(new URL(`docs/${name}`, root), 'utf8')
  const paths = new Set([...text.matchAll(PATH)].map(([, path]) => path!))
  const missing = [...paths].filter((path) => !existsSync(new URL(path, root)))
  expect(missing).toEqual([])
})

test('a path that is not there is found out', () => {
  expect([...'see `src/nowhere.ts`'.matchAll(PATH)].map(([, path]) => existsSync(new URL(path!, root)))).toEqual([
    false,
  ])
})
