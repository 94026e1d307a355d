import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const FOLDER = new URL('..', import.meta.url)

/** A table with any text for a key: `TABLE['constructor']` is a function there, whatever the type says. */
const TABLE = /^(?:export )?const (\w+): (?:Readonly<)?(?:Partial<)?Record<string,/gm

/** Tables that are asked for one character, which no property of every object is named. */
const BY_CHARACTER = new Set(['CONTROLS', 'CLASSES', 'FRACTIONS', 'VOWELS'])

/** The lookups of a source text that a client's string could take past the table. */
function unsafeLookups(source: string): string[] {
  const names = [...source.matchAll(TABLE)].map(([, name]) => name!)
  return names
    .filter((name) => !BY_CHARACTER.has(name))
    .flatMap((name) => source.split('\n').filter((line) => new RegExp(`\\b${name}\\[|\\bin ${name}\\b`).test(line)))
    .filter((line) => !line.includes('Object.hasOwn('))
}

test('no table is asked for a text that it may not have, but by hasOwn or as a Map', () => {
  const files = ['src', 'adapters'].flatMap((folder) =>
    readdirSync(new URL(folder, FOLDER), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !/\.test(-helper)?\.ts$/.test(file))
      .map((file) => `${folder}/${file}`),
  )
  expect(files.length).toBeGreaterThan(100)
  const found = files.flatMap((file) =>
    unsafeLookups(readFileSync(new URL(file, FOLDER), 'utf8')).map((line) => `${file}: ${line.trim()}`),
  )
  expect(found).toEqual([])
})

test('and such a lookup would be found', () => {
  const table = 'const MEDIA: Readonly<Record<string, string>> = { a: "b" }\n'
  expect(unsafeLookups(`${table}  const media = MEDIA[type]`)).toHaveLength(1)
  expect(unsafeLookups(`${table}  if (type in MEDIA) return`)).toHaveLength(1)
  expect(unsafeLookups(`${table}  const media = Object.hasOwn(MEDIA, type) ? MEDIA[type] : undefined`)).toEqual([])
  expect(unsafeLookups('const MEDIA = new Map()\nMEDIA.get(type)')).toEqual([])
})
