import { expect, test } from 'vitest'
import type { Part } from '../../contract/engine.js'
import { Halves } from './halves.js'

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

test('a character that is cut in two is told with its second half, in each text by itself', () => {
  expect(told([text('a\ud83d'), text('\ude00b')])).toEqual(['a', '😀b'])
  expect(told([text('\ud83d'), text(''), text('\ude00\ud83d'), text('\ude01')])).toEqual(['', '', '😀', '😁'])
  expect(told([text('\ud83d'), thought('\ud83d'), text('\ude00'), thought('\ude01')])).toEqual(['', '', '😀', '😁'])
  expect(told([text('\ud83d'), text('\ud83d', 1), text('\ude01', 1), text('\ude00')])).toEqual(['', '', '😁', '😀'])
  expect(told([call(0, '"\ud83d'), call(1, '"\ud83d'), call(0, '\ude00'), call(1, '\ude01"')])).toEqual([
    ...['"', '"', '😀', '😁"'],
  ])
})

test('half of one that stays alone is no text', () => {
  expect(told([text('a\ud83d'), text('b'), text('c')])).toEqual(['a', '\ufffdb', 'c'])
  expect(told([text('\ude00a'), text('a\ud83db')])).toEqual(['\ufffda', 'a\ufffdb'])
  expect(told([text('a\ud83d'), { type: 'finish', choice: 0, reason: 'stop' }])).toEqual(['a', 'finish'])
})

test('what is whole stays the part that it is, and what else it has stays with what was cut', () => {
  const halves = new Halves()
  for (const part of [text('😀'), text('é'), thought(''), call(0, '{}')]) expect(halves.joined(part)).toEqual(part)
  const plain = text('abc')
  expect(halves.joined(plain)).toBe(plain)
  const cut: Part = { type: 'text-delta', choice: 0, text: 'a\ud83d', forced: 2, logprobs: [] }
  expect(halves.joined(cut)).toEqual({ ...cut, text: 'a' })
})
