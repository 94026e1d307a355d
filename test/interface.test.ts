import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const references = [...read('docs/interface.md').matchAll(/`([\w./-]+\.ts) > ([^`]+)`/g)].map(
  ([, file, name]) => [file!, name!] as const,
)

test('docs/interface.md names tests', () => {
  expect(references.length).toBeGreaterThan(40)
})

test.each(references)('%s has the test that docs/interface.md names: %s', (file, name) => {
  const quoted = [`'${name.replaceAll("'", "\\'")}'`, `"${name}"`, `\`${name}\``]
  expect(quoted.some((title) => read(file).includes(title))).toBe(true)
})

test('every rule of docs/interface.md is held by a test', () => {
  const rows = read('docs/interface.md')
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| (Rule|Choice) \|/.test(line))
  expect(rows.filter((row) => !/\.ts > /.test(row))).toEqual([])
})
