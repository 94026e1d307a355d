import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { examples } from '../../apps/playground/page/examples.js'
import { readDecisions } from '../../scripts/decisions.js'

/**
 * What judges the embedded model, and what shows it, is nowhere in what it was trained on: no run of N words of the
 * evaluation sets, of the playground's examples or of the README stands in the texts of its recipe.
 */

const N = 8
const nano = new URL('../../models/nano/', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, nano), 'utf8')

function runs(text: string): string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  return words.slice(N - 1).map((_, i) => words.slice(i, i + N).join(' '))
}

/** The words of a marked text: choices end a run, a slot says its first wording. */
function plain(source: string): string[] {
  return source
    .replace(/\{[A-Za-z]\w*\? *[^=|{}]+=/g, ' | ')
    .replace(/\|[^=|{}[\]]{1,20}=/g, '|')
    .replace(/\{[A-Za-z]\w*(\.\w+)?(:\S+)? ?/g, '')
    .split(/[[\]|{}]/)
    .map((part) => part.replaceAll('}', ''))
}

/** As `plain`, with the markup of slots taken away but their words left where they stand. */
function joined(source: string): string {
  return source.replace(/\{[A-Za-z]\w*(\.\w+)?(:\S+)? ?/g, '').replace(/[[\]{}]/g, '')
}

const files = readdirSync(new URL('recipe/natural/', nano)).filter((name) => name.endsWith('.txt'))
const written = new Set<string>()
for (const file of files) {
  for (const text of read(`recipe/natural/${file}`).split(/^===$/m)) {
    const body = text.split(/^---$/m)[0] ?? ''
    for (const run of [...plain(body), joined(body)].flatMap(runs)) written.add(run)
  }
}
for (const run of runs(read('recipe/chat.js'))) written.add(run)
for (const file of readdirSync(new URL('recipe/decided/', nano)))
  for (const line of read(`recipe/decided/${file}`).split('\n')) for (const run of runs(line)) written.add(run)

/** With the sentences of the older patterns, some of which `held-out.jsonl` asks with new values on purpose. */
const trained = new Set(written)
for (const file of ['train-business', 'train-life', 'train-records'])
  for (const line of read(`recipe/domains/${file}.txt`).split('\n')) for (const run of runs(line)) trained.add(run)

interface Case {
  readonly split: string
  readonly user: string
  readonly answer: Record<string, unknown>
  readonly schema: { readonly properties: Record<string, unknown>; readonly required: readonly string[] }
}
const cases = (name: string): Case[] =>
  read(`eval/${name}.jsonl`)
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Case)

const decisions = readDecisions(read('eval/decisions.txt'))

describe('the texts that nano was trained on', () => {
  it('are read: what they say is found', () => {
    expect(files.length).toBeGreaterThan(8)
    expect(trained.size).toBeGreaterThan(5000)
    expect(trained).toContain('what came out of the box was in')
  })

  it.each([
    ['natural.jsonl', cases('natural').map(({ user }) => user), trained],
    ['apart.jsonl', cases('apart').map(({ user }) => user), trained],
    ['held-out.jsonl', cases('held-out').map(({ user }) => user), written],
    ['decisions.txt', decisions.map(({ text }) => text), trained],
    ['unread.txt', readDecisions(read('recipe/unread.txt')).map(({ text }) => text), trained],
    ['chat.txt', read('eval/chat.txt').split('\n'), trained],
    ["the playground's examples", examples.map(({ text }) => text), trained],
    ['README', [readFileSync(new URL('../../README.md', import.meta.url), 'utf8')], trained],
  ])('hold no run of eight words of %s', (_, texts, known) => {
    expect(texts.length).toBeGreaterThan(0)
    expect(texts.flatMap(runs).filter((run) => known.has(run))).toEqual([])
  })
})

describe.each(['natural', 'apart'])('%s.jsonl', (name) => {
  it('asks for what its texts say', () => {
    for (const { user, answer, schema } of cases(name)) {
      expect(Object.keys(answer)).toEqual(Object.keys(schema.properties))
      expect(schema.required).toEqual(Object.keys(answer))
      expect(user.length).toBeGreaterThan(40)
    }
  })
})

describe('decisions.txt', () => {
  it('asks three hundred questions in twenty domains', () => {
    expect(decisions).toHaveLength(300)
    expect(new Set(decisions.map(({ domain }) => domain)).size).toBe(20)
    for (const { choices, right } of decisions) {
      expect(choices.filter((choice) => choice === right)).toHaveLength(1)
      expect(new Set(choices).size).toBe(choices.length)
    }
  })

  it('gives nothing to who answers always alike', () => {
    for (const kind of ['choice', 'score', 'predicate'] as const) {
      const ofKind = decisions.filter((decision) => decision.kind === kind)
      const places = [0, 1, 2, 3].map((at) => ofKind.filter(({ choices, right }) => choices[at] === right).length)
      expect(Math.max(...places) / ofKind.length).toBeLessThanOrEqual(0.5)
    }
  })
})
