/** What the guide and the README say can be run is what the table of architectures has, format by format. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { DECISION_TYPES } from '../files/formats/gguf/decision.js'
import { GGUF_ENCODERS } from '../files/formats/gguf/encoder.js'
import { ARCHITECTURES } from './index.js'

const page = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
const guide = page('docs/guides/engines.md')
const quoted = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, name]) => name!)

/** The table of families: cells by row. */
const [table] = /^\| Family \|.*\n(?:\|.*\n)+/m.exec(guide)!
const [header, , ...families] = table
  .trim()
  .split('\n')
  .map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  )
const [named, formats] = ['Name in files', 'Formats'].map((title) => header!.indexOf(title)) as [number, number]

const FORMATS = { safetensors: 'huggingface', MLC: 'mlc', GGUF: 'gguf' } as const

it.each(Object.keys(FORMATS) as (keyof typeof FORMATS)[])(
  'the guide names what is read from %s, and no more',
  (format) => {
    const documented = families.filter((row) => row[formats]!.includes(format)).flatMap((row) => quoted(row[named]!))
    const run = Object.entries(ARCHITECTURES).filter(([, { names, gguf }]) =>
      format === 'GGUF' ? gguf !== undefined : FORMATS[format] in names,
    )
    expect([...new Set(documented)].sort()).toEqual(run.map(([name]) => name).sort())
  },
)

it('the guide names the encoders and kinds of decision models that are read from GGUF files', () => {
  const [section] = /^### GGUF files\n[^#]*/m.exec(guide)!
  const line = (from: string) => section.split(from)[1]!.split('\n')[0]!
  expect(quoted(line('of the architectures')).sort()).toEqual([...GGUF_ENCODERS].sort())
  expect(quoted(line('decision models of the types')).sort()).toEqual([...DECISION_TYPES].sort())
})

it('the README names every family of that table, and no other', () => {
  const [, list] = /## Models\s+(.*?), their mixtures of experts/s.exec(page('README.md'))!
  const short = list!.split(/,\s+/)
  const long = families.map(([family]) => family!)
  expect(long.filter((family) => !short.some((name) => family.startsWith(name)))).toEqual([])
  expect(short.filter((name) => !long.some((family) => family.startsWith(name)))).toEqual([])
})
