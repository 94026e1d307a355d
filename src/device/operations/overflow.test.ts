/**
 * Keys and values that a cache cannot hold, as they are or by the scale of their block. Too large: whoever sees one gets no
 * answer, and nobody else is told a thing. Too small: they stand for what is stored of them.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Attention, half, inQ8_0 } from '../../../test/oracles/float64.js'
import { FULL } from '../../../test/support/full.js'
import { angleTable } from '../../models/angles.js'
import { CACHE_BLOCK, type CacheType, type Device } from '../contract.js'
import { cached } from './cached.test-helper.js'
import { DEVICES } from './devices.test-helper.js'
import { Chance } from './numbers.test-helper.js'

const [HEADS, KEY_HEADS] = [4, 2]
const LENGTH = 45
const BAD = 21

interface Text {
  /** Where in its row one value is out of all proportion, and what it is. */
  readonly bad?: { readonly row: number; readonly column: number; readonly value: number }
  readonly seed: number
}

/** `most`: the greatest size that fits. In blocks it is 127, or 8, times the greatest scale. */
const TYPES = [
  { type: 'f16', size: 16, most: 65504 },
  { type: 'q8_0', size: CACHE_BLOCK, most: 65504 * 127 },
  { type: 'q4_0', size: CACHE_BLOCK, most: 65504 * 8 },
] as const
/** A GPU in software compiles some kernels for each: there a cut has two of them, in turns, of which one is in blocks. */
const CASES = DEVICES.flatMap(({ name, open }) => {
  const left = FULL ? undefined : { 'webgpu, cut for hardware': 'q8_0', 'webgpu, cut for software': 'q4_0' }[name]
  return TYPES.filter(({ type }) => type !== left).map((of) => ({ ...of, name, open }))
})

describe.each(CASES)('a cache in $type on $name', ({ type: tested, size, most, open }) => {
  const width = (HEADS + 2 * KEY_HEADS) * size
  const key = (head: number) => (HEADS + head) * size + 3
  const value = (head: number) => (HEADS + KEY_HEADS + head) * size + 5
  let device: Device
  beforeAll(async () => {
    device = await open()
  })
  afterAll(() => device.destroy())

  function setUp(type: CacheType = tested) {
    const angles = angleTable(LENGTH, { size, theta: 10000 })
    const { run, close } = cached(device, {
      ...{ heads: HEADS, keyHeads: KEY_HEADS, headSize: size },
      ...{ type, length: LENGTH, angles },
    })
    const rowsOf = ({ seed, bad }: Text) => {
      const chance = new Chance(seed)
      const rows = Array.from({ length: LENGTH }, () => chance.floats(width))
      if (bad) rows[bad.row]![bad.column] = bad.value
      return rows
    }
    return { run: (texts: readonly Text[], ...of: [number?, number?, number?]) => run(texts.map(rowsOf), ...of), close }
  }

  const finite = (rows: readonly Float32Array[]) => rows.map((row) => row.every(Number.isFinite))
  /** Of positions that see it none is finite. A GPU weighs what later ones hold with zero, and zero times infinity is NaN. */
  const expectFinite = (rows: readonly Float32Array[], expected: (row: number) => boolean) => {
    const exact = device.info.kind === 'cpu'
    for (const [i, each] of finite(rows).entries()) {
      if (exact || !expected(i)) expect({ row: i, finite: each }).toEqual({ row: i, finite: expected(i) })
    }
  }
  const SANE = { seed: 1 }

  // Of a key its turn leaves at least 0.7 in one of two places.
  it.each([
    ['key', key(0), 3 * most],
    ['key of the last head', key(1), -1e9],
    ['value', value(0), 1.01 * most],
    ['value of the last head', value(1), -3e38],
    ['value without end', value(0), Number.POSITIVE_INFINITY],
    ['value that is no number', value(1), Number.NaN],
  ])('a %s', async (_, column, value) => {
    const { run, close } = setUp()
    const bad = { row: BAD, column, value }
    const [good] = await run([SANE])
    const [one, two] = await run([{ seed: 2, bad }, SANE])
    expectFinite(one!, (row) => row < BAD)
    expect(two).toEqual(good)
    close()
  })

  it.each([
    ['key', key(0), 0.99 * most],
    ['value', value(1), -0.99 * most],
  ])('a %s as large as it can be is one as others', async (_, column, value) => {
    const { run, close } = setUp()
    const [got] = await run([{ seed: 2, bad: { row: BAD, column, value } }])
    expect(new Set(finite(got!))).toEqual(new Set([true]))
    close()
  })

  it('what later parts of the sequence see, and those behind a window do not', async () => {
    const { run, close } = setUp()
    const text = { seed: 2, bad: { row: BAD, column: value(0), value: 2 * most } }
    await run([text], 0, 25)
    const [part] = await run([text], 25, LENGTH)
    expect(new Set(finite(part!))).toEqual(new Set([false]))
    const [windowed] = await run([text], 0, LENGTH, 8)
    expectFinite(windowed!, (row) => row < BAD || row >= BAD + 8)
    close()
  })

  it('are forgotten with the text that had them', async () => {
    const { run, close } = setUp()
    const [good] = await run([SANE])
    await run([{ ...SANE, bad: { row: BAD, column: key(0), value: 3 * most } }])
    const [again] = await run([SANE], BAD)
    expect(again).toEqual(good!.slice(BAD))
    close()
  })

  it('are no matter in f32', async () => {
    const { run, close } = setUp('f32')
    const [got] = await run([{ seed: 2, bad: { row: BAD, column: value(0), value: 2 * most } }])
    expect(new Set(finite(got!))).toEqual(new Set([true]))
    close()
  })
})

/** The greatest size of a block / 127, and what f16 makes of it. */
const STEPS: readonly (readonly [string, number, 'zero' | 'subnormal' | 'normal'])[] = [
  ['of zeros', 0, 'zero'],
  ['of what is subnormal in f32', 2 ** -140, 'zero'],
  ['whose values are divided by almost nothing', 2 ** -123, 'zero'],
  ['whose values are taken for zeros', 2 ** -124, 'zero'],
  ['whose scale is less than half of the least', 0.4 * 2 ** -24, 'zero'],
  ['whose scale is about the least', 1.3 * 2 ** -24, 'subnormal'],
  ['whose scale is rounded to few bits', 5.4 * 2 ** -24, 'subnormal'],
  ['whose scale is rounded to many', 700.3 * 2 ** -24, 'subnormal'],
  ['whose scale is the least normal one', 2 ** -14, 'normal'],
]
const kindOf = (kept: number) => (kept === 0 ? 'zero' : kept < 2 ** -14 ? 'subnormal' : 'normal')

/** A GPU that takes a subnormal scale for zero, as WGSL lets it, shows here. */
describe.each(DEVICES)('blocks of 8 bits on $name', ({ open }) => {
  const size = 2 * CACHE_BLOCK
  const [queries, keys] = [HEADS * size, KEY_HEADS * size]
  let device: Device
  beforeAll(async () => {
    device = await open()
  })
  afterAll(() => device.destroy())

  /** A row of blocks of these steps in turn. */
  function rowOf(chance: Chance, steps: readonly number[]): Float32Array {
    const stepOf = (i: number) => steps[Math.floor(i / CACHE_BLOCK) % steps.length]!
    // So large that keys of that step decide what is seen: also where nothing should be left of them.
    const query = (i: number) => (chance.normal() * 0.04) / (stepOf(i) < 2 ** -40 ? 1 : stepOf(i))
    // Whole multiples, the first of each block 127: no code hangs on the last bit of a division.
    const kept = (i: number) => (i % CACHE_BLOCK === 0 ? 127 : chance.below(255) - 127) * stepOf(i)
    return Float32Array.from({ length: queries + 2 * keys }, (_, i) => (i < queries ? query(i) : kept(i)))
  }

  describe.each([
    ['beside ordinary ones', (step: number) => [step, 2 ** -6]],
    ['alone', (step: number) => [step]],
  ])('%s', (_, stepsOf) => {
    it.each(STEPS)('%s', async (_, step, kind) => {
      expect(kindOf(half(step))).toBe(kind)
      const steps = stepsOf(step)
      const chance = new Chance(7)
      const rows = Array.from({ length: LENGTH }, () => rowOf(chance, steps))
      const form = { heads: HEADS, keyHeads: KEY_HEADS, headSize: size }
      // No pair turns: what is stored is what is given.
      const angles = angleTable(LENGTH, { size: 0, theta: 10000 }, size)
      const { run, close } = cached(device, { ...form, type: 'q8_0', length: LENGTH, angles })
      const [many] = await run([rows], 0, LENGTH - 1)
      const [one] = await run([rows], LENGTH - 1)
      close()
      const got = [...many!, ...one!]
      const attention = new Attention(inQ8_0)
      rows.forEach((row, at) => {
        const all = Float64Array.from(row)
        const [query, key, value] = [all.slice(0, queries), all.slice(queries, -keys), all.slice(-keys)]
        attention.look(query, key, value, { ...form, scale: size ** -0.5 }).forEach((expected, i) => {
          // Of the most that such a block can hold; nothing of one whose scale is zero.
          const bound = 1e-4 * 127 * half(steps[Math.floor(i / CACHE_BLOCK) % steps.length]!)
          const found = got[at]![i]!
          if (!(Math.abs(found - expected) <= bound)) expect.fail(`row ${at}, value ${i}: ${found}, not ${expected}`)
        })
      })
    })
  })
})
