import { describe, expect, it } from 'vitest'
import type { Part } from '../../contract/index.js'
import { checkDecisions, checkNumbers, checkPart, checkUsage, Halves } from './parts.js'

const usage = { promptTokens: 3, completionTokens: 2, cachedTokens: 0 }

it.each<Part>([
  { type: 'text-delta', choice: 0, text: '' },
  { type: 'reasoning-delta', choice: 0, text: 'a' },
  { type: 'tool-call-delta', choice: 0, index: 0, arguments: '' },
  { type: 'finish', choice: 0, reason: 'stop' },
  { type: 'finish', choice: 0, reason: 'length' },
  { type: 'finish', choice: 0, reason: 'tool_calls' },
  { type: 'usage', usage },
  { type: 'usage', usage: { ...usage, reasoningTokens: 1 } },
  { type: 'prompt', tokens: [1, 0] },
  { type: 'prompt', choice: 1, tokens: [], text: 'a', logprobs: [{ token: 'a', bytes: null, logprob: -1, top: [] }] },
  { type: 'evidence', choice: 0, evidence: { pointer: '/a', confidence: 0.5 } },
])('takes $type', (part) => expect(() => checkPart(part)).not.toThrow())

it.each([
  [{ type: 'text-delta', text: undefined }, 'a text-delta whose text is undefined'],
  [{ type: 'reasoning-delta', text: 5 }, 'a reasoning-delta whose text is 5'],
  [{ type: 'tool-call-delta', index: 0, arguments: null }, 'a tool-call-delta whose arguments is null'],
  [{ type: 'tool-call-delta', index: -1, arguments: '' }, 'a tool-call-delta whose index is -1'],
  [{ type: 'tool-call-delta', index: 0.5, arguments: '' }, 'a tool-call-delta whose index is 0.5'],
  [{ type: 'finish', reason: 'error' }, 'a finish whose reason is error'],
  [{ type: 'usage', usage: { ...usage, promptTokens: undefined } }, 'counted undefined promptTokens'],
  [{ type: 'usage', usage: { ...usage, completionTokens: NaN } }, 'counted NaN completionTokens'],
  [{ type: 'usage', usage: { ...usage, cachedTokens: -1 } }, 'counted -1 cachedTokens'],
  [{ type: 'usage', usage: { ...usage, reasoningTokens: 0.5 } }, 'counted 0.5 reasoningTokens'],
  [{ type: 'evidence' }, 'a evidence whose evidence is undefined'],
  [{ type: 'evidence', evidence: { pointer: '/a', confidence: NaN } }, 'whose evidence is'],
  [{ type: 'evidence', evidence: { confidence: 1 } }, 'whose evidence is'],
  [{ type: 'prompt' }, 'a prompt whose tokens is undefined'],
  [{ type: 'prompt', tokens: [0.5] }, 'a prompt whose tokens is 0.5'],
  [{ type: 'prompt', tokens: [1], logprobs: [{ token: 5, top: [] }] }, 'a prompt whose logprobs is'],
  [{ type: 'prompt', tokens: [1], logprobs: [{ token: 'a' }] }, 'a prompt whose logprobs is'],
  [{ type: 'prompt', tokens: [1], choice: -1 }, 'a prompt whose choice is -1'],
  [{ type: 'text' }, 'a part of type text, which there is not'],
])('says what is wrong with %j', (part, message) => {
  expect(() => checkPart(part as unknown as Part)).toThrow(message)
})

it('counts nothing that is no count', () => expect(() => checkUsage({ ...usage, promptTokens: 1.5 })).toThrow('1.5'))

it('takes numbers that JSON has', () => {
  expect(() => checkNumbers('vector', [[1, -2], new Float32Array([0])])).not.toThrow()
  expect(() => checkNumbers('vector', [[1], [2, Infinity]])).toThrow('a vector with Infinity')
  expect(() => checkNumbers('score', [new Float32Array([NaN])])).toThrow('a score with NaN')
})

it('takes a decision with a probability of each option', () => {
  const of = (...probabilities: number[]) => ({ probabilities }) as never
  expect(() => checkDecisions([of(0, 1), { refused: 'why' } as never, of(1)], [2, 5, 1])).not.toThrow()
  expect(() => checkDecisions([of(1)], [1, 1])).toThrow('no answer to a question')
  expect(() => checkDecisions([of(1), of(1)], [1])).toThrow('no answer to a question')
  expect(() => checkDecisions([of(1)], [2])).toThrow('no probability of an option')
  expect(() => checkDecisions([of(1, NaN)], [2])).toThrow('a decision with NaN')
  expect(() => checkDecisions([of(1, -0.5)], [2])).toThrow('below 0')
})

describe('halves of characters', () => {
  const text = (said: string, choice = 0): Part => ({ type: 'text-delta', choice, text: said })
  const thought = (said: string): Part => ({ type: 'reasoning-delta', choice: 0, text: said })
  const call = (index: number, said: string): Part => ({ type: 'tool-call-delta', choice: 0, index, arguments: said })

  /** What comes of parts, in their order. */
  function told(parts: readonly Part[]): string[] {
    const halves = new Halves()
    return parts.map((part) => {
      const joined = halves.joined(part)
      return 'arguments' in joined ? joined.arguments : 'text' in joined ? joined.text! : joined.type
    })
  }

  it('a character that is cut in two is told with its second half, in each text by itself', () => {
    expect(told([text('a\ud83d'), text('\ude00b')])).toEqual(['a', '😀b'])
    expect(told([text('\ud83d'), text(''), text('\ude00\ud83d'), text('\ude01')])).toEqual(['', '', '😀', '😁'])
    expect(told([text('\ud83d'), thought('\ud83d'), text('\ude00'), thought('\ude01')])).toEqual(['', '', '😀', '😁'])
    expect(told([text('\ud83d'), text('\ud83d', 1), text('\ude01', 1), text('\ude00')])).toEqual(['', '', '😁', '😀'])
    expect(told([call(0, '"\ud83d'), call(1, '"\ud83d'), call(0, '\ude00'), call(1, '\ude01"')])).toEqual([
      ...['"', '"', '😀', '😁"'],
    ])
  })

  it('half of one that stays alone is no text', () => {
    expect(told([text('a\ud83d'), text('b'), text('c')])).toEqual(['a', '\ufffdb', 'c'])
    expect(told([text('\ude00a'), text('a\ud83db')])).toEqual(['\ufffda', 'a\ufffdb'])
    expect(told([text('a\ud83d'), { type: 'finish', choice: 0, reason: 'stop' }])).toEqual(['a', 'finish'])
  })

  it('what is whole stays the part that it is, and what else it has stays with what was cut', () => {
    const halves = new Halves()
    for (const part of [text('😀'), text('é'), thought(''), call(0, '{}')]) expect(halves.joined(part)).toEqual(part)
    const plain = text('abc')
    expect(halves.joined(plain)).toBe(plain)
    const cut: Part = { type: 'text-delta', choice: 0, text: 'a\ud83d', forced: 2, logprobs: [] }
    expect(halves.joined(cut)).toEqual({ ...cut, text: 'a' })
  })
})
