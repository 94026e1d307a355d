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

/** What listens, with the beginning of what it is told. */
const listening = (text: string) =>
  [...text.matchAll(/(?:\b(?:Deno|Bun)\.serve|^serve|\.listen)\([\s\S]{1,120}/gm)].map(([call]) => call)

test('whatever is shown listens on this machine alone', () => {
  const shown = ['README.md', ...['docs', 'examples', 'adapters'].flatMap(filesBelow)]
  const calls = shown
    .filter((name) => /\.(md|ts|tsx|mjs)$/.test(name) && !/\.test(-helper)?\.ts$/.test(name))
    .flatMap((name) => listening(readFileSync(new URL(name, root), 'utf8')).map((call) => ({ name, call })))
  expect(calls.length).toBeGreaterThan(8)
  expect(calls.filter(({ call }) => !call.includes("'127.0.0.1'"))).toEqual([])
})

test('and what listens on every address would be found', () => {
  expect(listening('x\nDeno.serve(deno(v1))\n')).toHaveLength(1)
  expect(listening('app.listen(8080)')).toHaveLength(1)
  expect(listening('serve({ fetch: app.fetch })')).toHaveLength(1)
})

function filesBelow(folder: string): string[] {
  return readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
    .filter((name) => !name.includes('node_modules'))
    .map((name) => `${folder}/${name}`)
}
