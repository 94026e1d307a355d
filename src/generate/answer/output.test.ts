import { describe, expect, it, test } from 'vitest'
import type { Part, TokenLogprob } from '../../contract/index.js'
import { HERMES } from '../tools/hermes.js'
import { AnswerOutput } from './output.js'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const logprob = (token: string): TokenLogprob => ({ token, logprob: -1, bytes: [...bytes(token)], top: [] })

function output() {
  const parts: Part[] = []
  const seen = { ends: 0 }
  const sink = { push: (part: Part) => void parts.push(part), end: () => void seen.ends++ }
  return { out: new AnswerOutput(2, sink, HERMES, []), parts, seen }
}

describe('text', () => {
  it('is shown as it comes, with what its tokens were and how many of them were forced since the last', () => {
    const { out, parts } = output()
    out.content(bytes('a'), logprob('a'))
    out.countForced(2)
    out.countForced(3)
    out.content(bytes('b'))
    out.content(bytes('c'))
    out.content(bytes(''))
    const head = { type: 'text-delta', choice: 2 }
    expect(parts).toEqual([
      { ...head, text: 'a', logprobs: [logprob('a')] },
      { ...head, text: 'b', forced: 5 },
      { ...head, text: 'c' },
    ])
    expect(parts.map((part) => Object.keys(part).length)).toEqual([4, 4, 3])
  })

  it('that never came to a whole character leaves its tokens', () => {
    const { out, parts } = output()
    out.content(Uint8Array.of(0xc3), logprob('half'))
    out.finish('length', true)
    expect(parts[0]).toEqual({ type: 'text-delta', choice: 2, text: '', logprobs: [logprob('half')] })
  })

  it('is shown at once where nothing is watched for, whatever it begins with', () => {
    for (const begin of [() => {}, (out: AnswerOutput) => out.beginText([])]) {
      const { out, parts } = output()
      begin(out)
      for (const letter of ' aAsSzZ<{') out.content(bytes(letter))
      expect(parts.map((part) => 'text' in part && part.text)).toEqual([...' aAsSzZ<{'])
    }
  })

  it('ends at a needle, also at one that is watched for from then on', () => {
    const { out, parts } = output()
    out.beginText(['stop'])
    expect(out.content(bytes('on st')).found).toBeUndefined()
    out.watchFor(['end'])
    expect(out.content(bytes('ep en')).found).toBeUndefined()
    expect(out.content(bytes('d')).found).toBe('end')
    expect(parts.map((part) => 'text' in part && part.text).join('')).toBe('on step ')
  })

  it('ends at the needle that ends first, and of two that end together at the longer', () => {
    for (const needles of [
      ['bc', 'abcd'],
      ['abcd', 'bc'],
    ]) {
      const { out } = output()
      out.beginText(needles)
      expect(out.content(bytes('xabcd')).found).toBe('bc')
      out.beginText([...needles, 'abc'])
      expect(out.content(bytes('xabcd')).found).toBe('abc')
    }
  })

  it('that is held back for a needle is text once it is over', () => {
    const { out, parts } = output()
    out.beginText(['stop'])
    out.content(bytes('st'))
    expect(parts).toEqual([])
    out.endText()
    expect(parts).toEqual([{ type: 'text-delta', choice: 2, text: 'st' }])
  })

  it.each([
    [true, ['st']],
    [false, []],
  ])('that is held back at the end is shown where that is asked for: %s', (flush, shown) => {
    const { out, parts, seen } = output()
    out.beginText(['stop'])
    out.content(bytes('st'))
    out.finish('length', flush, { tokens: [7] })
    const finish = { type: 'finish', choice: 2, reason: 'length', tokens: [7] }
    expect(parts).toEqual([...shown.map((text) => ({ type: 'text-delta', choice: 2, text })), finish])
    expect(seen.ends).toBe(1)
  })

  it('may begin with a byte order mark', () => {
    const { out, parts } = output()
    out.content(bytes('\ufeffa'))
    expect(parts).toEqual([{ type: 'text-delta', choice: 2, text: '\ufeffa' }])
  })
})

test('thoughts and evidence go to whoever reads', () => {
  const { out, parts } = output()
  out.thought('')
  out.thought('so')
  const evidence = { path: '/a', confidence: 0.5 } as unknown as Parameters<AnswerOutput['evidence']>[0]
  out.evidence(evidence)
  expect(parts).toEqual([
    { type: 'reasoning-delta', choice: 2, text: 'so' },
    { type: 'evidence', choice: 2, evidence },
  ])
})

test('a call has an id of its own and the number of its place; one that says what an earlier one said is none', () => {
  const { out, parts } = output()
  const call = (name: string, piece: number) => {
    out.beginCall()
    const whole = bytes(`{"name": "${name}", "arguments": {"x": "\ufeffé"}}`)
    for (let at = 0; at < whole.length; at += piece) out.callBytes(whole.subarray(at, at + piece))
    return out.endCall()
  }
  expect([call('a', 1), out.calls]).toEqual([true, 1])
  expect([call('a', 3), out.calls]).toEqual([false, 1])
  expect([call('b', 1000), out.calls]).toEqual([true, 2])
  const deltas = parts.flatMap((part) => (part.type === 'tool-call-delta' ? [part] : []))
  const heads = deltas.filter(({ name }) => name !== undefined)
  expect(heads.map(({ index, name, choice }) => [index, name, choice])).toEqual([
    [0, 'a', 2],
    [1, 'b', 2],
  ])
  for (const { id } of heads) expect(id).toMatch(/^call_[A-Za-z0-9]{24}$/)
  expect(heads[0]!.id).not.toBe(heads[1]!.id)
  for (const index of [0, 1]) {
    const written = deltas.filter((delta) => delta.index === index).map((delta) => delta.arguments)
    expect(JSON.parse(written.join(''))).toEqual({ x: '\ufeffé' })
  }
})
