import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { WORDS } from './keywords/table.js'
import { refusal } from './testing.test-helper.js'

const page = readFileSync(new URL('../../docs/json-schema.md', import.meta.url), 'utf8')
const rows = [...page.matchAll(/^\| `(\{.*\})` \| (.*) \|$/gm)].map(([, schema, why]) => [schema!, why!] as const)

describe('docs/json-schema.md', () => {
  it('has refusals to show', () => expect(rows.length).toBeGreaterThan(10))

  it.each(rows)('is right that it is refused: %s', (schema, why) => {
    expect(refusal(JSON.parse(schema)).message).toContain(why)
  })

  it('names every keyword that restricts values, or the group that it belongs to', () => {
    const groups = /^(?:m(?:in|ax)|exclusive|multipleOf|then|else|additionalItems|dependencies)/
    const missing = [...WORDS.keys()].filter((word) => !groups.test(word) && !page.includes(`\`${word}\``))
    expect(missing.filter((word) => !page.includes(word))).toEqual([])
  })
})
