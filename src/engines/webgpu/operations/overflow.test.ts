/** Keys and values that f16 cannot hold: whoever sees one gets no answer, and nobody else is told a thing. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Device, PAGE, type Span } from '../contract.js'
import { angleTable } from '../model/angles.js'
import { DEVICES } from './devices.test-helper.js'
import { Chance } from './numbers.test-helper.js'

const [HEADS, KEY_HEADS, SIZE] = [4, 2, 16]
const WIDTH = (HEADS + 2 * KEY_HEADS) * SIZE
const LENGTH = 45
const BAD = 21

interface Text {
  /** Where in its row one value is out of all proportion, and what it is. */
  readonly bad?: { readonly row: number; readonly column: number; readonly value: number }
  readonly seed: number
}

const key = (head: number) => (HEADS + head) * SIZE + 3
const value = (head: number) => (HEADS + KEY_HEADS + head) * SIZE + 5

describe.each(DEVICES)('a cache in f16 on $name', ({ open }) => {
  let device: Device
  beforeAll(async () => {
    device = await open()
  })
  afterAll(() => device.destroy())

  /** Sequences of one cache, each asked for the rows of any of its positions. */
  function setUp(type: 'f16' | 'f32' = 'f16') {
    const pages = 2 * Math.ceil(LENGTH / PAGE)
    const cache = device.cache({ layers: 1, pages, heads: KEY_HEADS, headSize: SIZE, type })
    const qkv = device.activations(2 * LENGTH, WIDTH)
    const out = device.activations(2 * LENGTH, HEADS * SIZE)
    const angles = device.vector(angleTable(LENGTH, { size: SIZE, theta: 10000 }))
    const lists = [Int32Array.of(4, 1, 3), Int32Array.of(0, 5, 2)]
    /** Positions `from` to before `to` of texts, each in pages of its own; whether each row of answers is finite. */
    const run = async (texts: readonly Text[], from = 0, to = LENGTH, window?: number) => {
      const rows = texts.map(({ seed, bad }) => {
        const chance = new Chance(seed)
        const all = Array.from({ length: LENGTH }, () => chance.floats(WIDTH))
        if (bad) all[bad.row]![bad.column] = bad.value
        return all
      })
      const data = Float32Array.from(rows.flatMap((all) => all.flatMap((row) => [...row])))
      const table = device.matrix({
        format: 'f32',
        rows: texts.length * LENGTH,
        columns: WIDTH,
        data: new Uint8Array(data.buffer),
      })
      const spans = texts.map(
        (_, i): Span => ({
          tokens: Int32Array.from({ length: to - from }, (_, k) => i * LENGTH + from + k),
          position: from,
          pages: lists[i]!,
        }),
      )
      const pass = device.begin({ spans })
      pass.embed(table, qkv)
      pass.place(qkv, cache, 0, { heads: HEADS, angles })
      pass.attend(qkv, cache, 0, out, { heads: HEADS, scale: SIZE ** -0.5, ...(window && { window }) })
      const reading = pass.read(out, pass.rows)
      await pass.submit()
      const got = await reading
      table.destroy()
      const width = HEADS * SIZE
      return texts.map((_, i) =>
        Array.from({ length: to - from }, (_, k) => got.subarray((i * (to - from) + k) * width).subarray(0, width)),
      )
    }
    const close = () => {
      for (const each of [cache, qkv, out, angles]) each.destroy()
    }
    return { run, close }
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

  it.each([
    ['key', key(0), 200_000],
    ['key of the last head', key(1), -1e9],
    ['value', value(0), 66_000],
    ['value of the last head', value(1), -3e38],
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

  it('what later parts of the sequence see, and those behind a window do not', async () => {
    const { run, close } = setUp()
    const text = { seed: 2, bad: { row: BAD, column: value(0), value: 1e6 } }
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
    await run([{ ...SANE, bad: { row: BAD, column: key(0), value: 1e6 } }])
    const [again] = await run([SANE], BAD)
    expect(again).toEqual(good!.slice(BAD))
    close()
  })

  it('are no matter in f32', async () => {
    const { run, close } = setUp('f32')
    const [got] = await run([{ seed: 2, bad: { row: BAD, column: value(0), value: 1e6 } }])
    expect(new Set(finite(got!))).toEqual(new Set([true]))
    close()
  })
})
