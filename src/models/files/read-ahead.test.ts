import { describe, expect, it } from 'vitest'
import { readAhead } from './read-ahead.js'

const MIB = 1048576
const bytes = Uint8Array.from({ length: 10 * MIB }, (_, i) => (i * 31) ^ (i >> 8))

const same = (got: Uint8Array, from: number, to: number) => Buffer.compare(got, bytes.subarray(from, to)) === 0

function watched() {
  const read: [string, number, number][] = []
  const slice = async (name: string, from: number, to: number) => {
    read.push([name, from, to])
    if (name === 'gone') throw new Error('It is gone.')
    return bytes.slice(from, to)
  }
  return { read, ahead: readAhead({ slice }, () => bytes.length) }
}

describe('reading ahead', () => {
  it('gives the same bytes, those of small neighbours from one reading', async () => {
    const { read, ahead } = watched()
    const pieces: [number, number][] = [
      [64, 1000],
      [1000, 1032],
      [3 * MIB, 4 * MIB],
    ]
    for (const [from, to] of pieces) expect(same(await ahead('a', from, to), from, to)).toBe(true)
    expect(read).toEqual([['a', 64, 4 * MIB + 64]])
    // What lies before it, beyond it, or in another file.
    for (const from of [0, 9 * MIB]) expect(same(await ahead('a', from, from + 32), from, from + 32)).toBe(true)
    await ahead('b', 9 * MIB, 9 * MIB + 32)
    expect(read.slice(1)).toEqual([
      ['a', 0, 4 * MIB],
      ['a', 9 * MIB, 10 * MIB],
      ['b', 9 * MIB, 10 * MIB],
    ])
  })

  it('reads what is large by itself, and keeps what it has', async () => {
    const { read, ahead } = watched()
    await ahead('a', 0, 10)
    expect(same(await ahead('a', 100, 5 * MIB), 100, 5 * MIB)).toBe(true)
    await ahead('a', 10, 20)
    expect(read).toEqual([
      ['a', 0, 4 * MIB],
      ['a', 100, 5 * MIB],
    ])
  })

  it('reads what is not so small by itself too, unless it has it', async () => {
    const { read, ahead } = watched()
    expect(same(await ahead('a', 100, 100 + MIB), 100, 100 + MIB)).toBe(true)
    await ahead('a', 0, 10)
    expect(same(await ahead('a', 10, 10 + MIB), 10, 10 + MIB)).toBe(true)
    expect(read).toEqual([
      ['a', 100, 100 + MIB],
      ['a', 0, 4 * MIB],
    ])
  })

  it('keeps what it read for those who read elsewhere by turns', async () => {
    const { read, ahead } = watched()
    for (let i = 0; i < 5; i++) {
      for (const start of [0, 5 * MIB]) {
        const from = start + i * 1000
        expect(same(await ahead('a', from, from + 1000), from, from + 1000)).toBe(true)
      }
    }
    expect(read).toEqual([
      ['a', 0, 4 * MIB],
      ['a', 5 * MIB, 9 * MIB],
    ])
    // Not for ever.
    for (let i = 0; i < 4; i++) await ahead(`b${i}`, 0, 1)
    await ahead('a', 0, 1)
    expect(read).toHaveLength(7)
  })

  it('forgets what failed', async () => {
    const { read, ahead } = watched()
    await expect(ahead('gone', 0, 1)).rejects.toThrow('gone')
    await expect(ahead('gone', 0, 1)).rejects.toThrow('gone')
    expect(read).toHaveLength(2)
  })
})
