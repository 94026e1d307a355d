import { describe, expect, it } from 'vitest'
import { CallerLines } from './caller-lines.js'

describe('lines of callers', () => {
  function served(...waiting: string[]): string[] {
    const lines = new CallerLines()
    const begun: string[] = []
    for (const [i, caller] of waiting.entries()) lines.add(caller, () => begun.push(`${caller}${i}`))
    for (let begin = lines.take(); begin; begin = lines.take()) begin()
    expect(lines.empty).toBe(true)
    return begun
  }

  it('serve one of each in turn, each in the order in which it came', () => {
    expect(served('a', 'a', 'a', 'b', 'b', 'c')).toEqual(['a0', 'b3', 'c5', 'a1', 'b4', 'a2'])
  })

  it('serve whoever comes late after one of those before', () => {
    const lines = new CallerLines()
    const begun: string[] = []
    for (const name of ['a0', 'a1', 'a2']) lines.add('a', () => begun.push(name))
    lines.take()!()
    lines.add('b', () => begun.push('b'))
    for (let begin = lines.take(); begin; begin = lines.take()) begin()
    expect(begun).toEqual(['a0', 'a1', 'b', 'a2'])
  })

  it('are empty before and after, and not between', () => {
    const lines = new CallerLines()
    expect([lines.empty, lines.take()]).toEqual([true, undefined])
    lines.add('a', () => {})
    expect(lines.empty).toBe(false)
    expect(lines.take()).toBeTypeOf('function')
    expect([lines.empty, lines.take()]).toEqual([true, undefined])
  })
})
