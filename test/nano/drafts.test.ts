/** Guesses change what is computed, and nothing of what is said. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DraftSubject, openSubject } from '../../bench/drafts/subject.js'
import { chatCallOf } from '../../src/bench/clock.js'
import type { ChatCall, Part } from '../../src/contract/engine.js'
import { compile } from '../../src/grammar/structured.js'
import { turns } from '../support/full.js'

interface Case {
  readonly user: string
  readonly schema: Record<string, unknown>
}

const cases = readFileSync(new URL('../../models/nano/eval/natural.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .slice(0, 6)
  .map((line) => JSON.parse(line) as Case)
const folder = new URL('../../models/nano', import.meta.url).pathname

const call = ({ user, schema }: Case, sampling: ChatCall['sampling'], n = 1): ChatCall =>
  chatCallOf({
    model: 'test',
    messages: [{ role: 'user', content: user }],
    output: { type: 'json_schema', name: 'answer', strict: true, schema },
    grammar: compile(schema),
    describeSchema: true,
    maxTokens: 300,
    sampling,
    n,
  })

/** The answers, choice by choice, with all that is told of their tokens. */
async function answersOf({ loop }: DraftSubject, chatCall: ChatCall) {
  const texts: string[] = []
  let usage: unknown
  const parts: Part[] = []
  for await (const part of loop.generate(chatCall)) {
    parts.push(part)
    if (part.type === 'text-delta') texts[part.choice] = (texts[part.choice] ?? '') + part.text
    if (part.type === 'usage') usage = { ...part.usage, cachedTokens: 0 }
  }
  // Which choice is done first hangs on the passes that it takes.
  const ends = parts.flatMap((part) => (part.type === 'finish' ? [part] : [])).sort((a, b) => a.choice - b.choice)
  return { texts, usage, ends }
}

describe('drafts', () => {
  let never: DraftSubject
  let always: DraftSubject
  let gaining: DraftSubject
  beforeAll(async () => {
    const open = (mode: 'never' | 'always' | 'gaining') => openSubject(folder, 'cpu', 1, mode)
    ;[never, always, gaining] = await Promise.all([open('never'), open('always'), open('gaining')])
  })
  afterAll(async () => {
    for (const subject of [never, always, gaining]) await subject.close()
  })

  // Each text in one of the ways, and each way with two of them; where all is asked for, each with all.
  it.each([
    ['greedily', { temperature: 0 }, 1, 0],
    ['by chance', { temperature: 0.8, seed: 3 }, 1, 1],
    ['hotly, three at once', { temperature: 1.5, topP: 0.9, seed: 11 }, 3, 2],
  ] as const)('say the same %s', async (_, sampling, n, turn) => {
    for (const one of turns(cases, turn, 3)) {
      const expected = await answersOf(never, call(one, sampling, n))
      expect(await answersOf(always, call(one, sampling, n))).toEqual(expected)
      expect(await answersOf(gaining, call(one, sampling, n))).toEqual(expected)
    }
  })

  it('say the same in company', async () => {
    const ask = (subject: DraftSubject) =>
      Promise.all(cases.map((one, seed) => answersOf(subject, call(one, { temperature: 0.6, seed }))))
    expect(await ask(always)).toEqual(await ask(never))
  })

  it('leave the others of a step their places: free text beside them', async () => {
    const free = (seed: number): ChatCall =>
      chatCallOf({
        model: 'test',
        messages: [{ role: 'user', content: 'Hello' }],
        maxTokens: 60,
        ignoreEnds: true,
        sampling: { seed },
      })
    const ask = (subject: DraftSubject) =>
      Promise.all([
        ...Array.from({ length: 6 }, (_, seed) => answersOf(subject, free(seed))),
        ...cases.slice(0, 2).map((one, seed) => answersOf(subject, call(one, { temperature: 0.6, seed }))),
      ])
    expect(await ask(always)).toEqual(await ask(never))
  })

  it('save passes, and are counted right and wrong', async () => {
    const passesOf = async (subject: DraftSubject) => {
      subject.passes = 0
      for (const one of cases) await answersOf(subject, call(one, { temperature: 0 }))
      return subject.passes
    }
    expect(await passesOf(always)).toBeLessThan(0.8 * (await passesOf(never)))
    const { copy } = always.loop.guesses!
    expect(copy.right).toBeGreaterThan(copy.wrong)
    expect(never.loop.guesses).toBeUndefined()
  })
})
