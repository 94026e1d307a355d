import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { references, unheld } from '../scripts/held-rules.js'

const document = readFileSync(new URL('../docs/interface.md', import.meta.url), 'utf8')

// Whether the tests that it names are there, `scripts/summary-reporter.ts` sees at the end of the run that has them.
test('docs/interface.md names tests, in files that there are', () => {
  const files = new Set(references(document).map(({ file }) => file))
  expect(references(document).length).toBeGreaterThan(40)
  expect([...files].filter((file) => !existsSync(new URL(`../${file}`, import.meta.url)))).toEqual([])
})

test('every rule of docs/interface.md is held by a test', () => {
  const rows = document.split('\n').filter((line) => line.startsWith('| ') && !/^\| (Rule|Choice) \|/.test(line))
  expect(rows.filter((row) => !/\.ts > /.test(row))).toEqual([])
})

test.each([
  ['a title', 'src/a.test.ts', 'is found', []],
  ['a title that a table of cases fills in', 'src/a.test.ts', 'is refused for %s: $case', []],
  ['part of a title', 'src/a.test.ts', 'is', [/src\/a\.test\.ts does not have: is$/]],
  ['a title that nobody has', 'src/a.test.ts', 'is lost', [/src\/a\.test\.ts does not have: is lost$/]],
  ['a file that was not run', 'src/b.test.ts', 'is lost', []],
  ['a part of the contract suite', 'test/contract/chat.ts', 'a completion', []],
  ['one that it lacks', 'test/contract/chat.ts', 'a song', [/fetch\.test\.ts does not have: a song$/]],
])('a run is asked for %s', (_, file, title, sentences) => {
  const seen = new Map([
    ['src/a.test.ts', ['is found', 'is refused for model: {"a":1}']],
    ['test/contract/fetch.test.ts', ['a completion']],
  ])
  const found = unheld(`| a rule | \`${file} > ${title}\` |`, seen)
  expect(found).toEqual(sentences.map((form) => expect.stringMatching(form)))
})
