import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inQ4_0, inQ4_0OfNext, inQ8_0, inQ8_0OfNext, type Kept } from '../../../test/oracles/float64.js'
import { covering, FULL } from '../../../test/support/full.js'
import { angleTable, frequencies as frequenciesOf } from '../../models/angles.js'
import { CACHE_BITS } from '../../platform/index.js'
import { type CacheType, type Device, PAGE, type Span } from '../contract.js'
import { attend } from './attend/index.js'
import { KERNEL_DEVICES, shared } from './devices.test-helper.js'
import { embed } from './embed/index.js'
import { FEW } from './matmul/kernel.js'
import { Chance } from './numbers.test-helper.js'
import { rope } from './rope/index.js'

interface Case {
  readonly name: string
  readonly heads: number
  readonly keyHeads: number
  readonly headSize: number
  readonly type: CacheType
  readonly window?: number
  /** It sees what follows too. */
  readonly both?: boolean
  readonly headNorm?: boolean
  /** A score is bent to stay below it. */
  readonly cap?: number
  /** Each head has a score more, of which nothing comes. */
  readonly sinks?: boolean
  /** Keys and values of all positions are there; the pass under test has queries alone. */
  readonly queriesOnly?: boolean
  /** Pages before the window are gone, and the others are those of a cache that slides. */
  readonly sliding?: boolean
  /** Per sequence: positions held before, and rows of the pass under test. */
  readonly spans: readonly (readonly [before: number, rows: number])[]
  /** Of the pass under test, those that are read. */
  readonly read?: readonly number[]
  readonly few?: boolean
}

const GIVEN: readonly Case[] = [
  { name: 'one row', heads: 4, keyHeads: 4, headSize: 8, type: 'f32', spans: [[0, 1]] },
  {
    name: 'one row, a head of keys for each, many positions',
    heads: 2,
    keyHeads: 2,
    headSize: 16,
    type: 'f16',
    spans: [[46, 1]],
  },
  {
    name: 'groups of 3',
    heads: 6,
    keyHeads: 2,
    headSize: 64,
    type: 'f16',
    spans: [
      [37, 1],
      [0, 5],
      [16, 3],
    ],
    few: true,
  },
  {
    name: 'groups of 7, a long context in parts',
    heads: 7,
    keyHeads: 1,
    headSize: 32,
    type: 'f16',
    spans: [
      [700, 1],
      [12, 2],
    ],
  },
  {
    name: 'odd heads, many rows',
    heads: 2,
    keyHeads: 1,
    headSize: 48,
    type: 'f16',
    spans: [
      [30, 41],
      [5, 1],
    ],
    few: true,
  },
  {
    name: 'heads of 80, a window',
    heads: 2,
    keyHeads: 2,
    headSize: 80,
    type: 'f32',
    window: 19,
    spans: [
      [70, 1],
      [3, 30],
    ],
  },
  {
    name: 'heads of 128, normed',
    heads: 4,
    keyHeads: 2,
    headSize: 128,
    type: 'f16',
    headNorm: true,
    spans: [
      [300, 4],
      [0, 2],
    ],
  },
  {
    name: 'one row each, normed, in parts, a window',
    heads: 6,
    keyHeads: 2,
    headSize: 32,
    type: 'f16',
    headNorm: true,
    window: 270,
    spans: [
      [300, 1],
      [12, 1],
      [255, 1],
      [256, 1],
    ],
    few: true,
  },
  {
    name: 'both ways, sequences of several lengths',
    heads: 3,
    keyHeads: 3,
    headSize: 32,
    type: 'f32',
    both: true,
    spans: [
      [0, 1],
      [0, 37],
      [0, 2],
      [0, 16],
    ],
    few: true,
  },
  {
    name: 'both ways as far as a window, groups of 2',
    heads: 4,
    keyHeads: 2,
    headSize: 64,
    type: 'f16',
    both: true,
    window: 7,
    spans: [
      [0, 40],
      [0, 5],
    ],
    few: true,
  },
  {
    name: 'both ways, many rows, a wide window',
    heads: 1,
    keyHeads: 1,
    headSize: 32,
    type: 'f32',
    both: true,
    window: 65,
    spans: [[0, 300]],
  },
  {
    name: 'a window across parts',
    heads: 2,
    keyHeads: 1,
    headSize: 16,
    type: 'f32',
    window: 300,
    spans: [
      [600, 1],
      [290, 2],
    ],
  },
  {
    name: 'large heads, groups of 8, single rows',
    heads: 8,
    keyHeads: 1,
    headSize: 512,
    type: 'f16',
    headNorm: true,
    spans: [
      [20, 1],
      [270, 1],
    ],
    few: true,
  },
  {
    name: 'large heads, groups of 2, many rows',
    heads: 4,
    keyHeads: 2,
    headSize: 320,
    type: 'f32',
    spans: [
      [3, 21],
      [0, 2],
    ],
  },
  {
    name: 'large heads, groups of 6, queries alone, many rows',
    heads: 6,
    keyHeads: 1,
    headSize: 512,
    type: 'f16',
    headNorm: true,
    queriesOnly: true,
    spans: [[4, 18]],
  },
  {
    name: 'a cache that slides, single rows',
    heads: 4,
    keyHeads: 2,
    headSize: 32,
    type: 'f16',
    window: 20,
    sliding: true,
    spans: [
      [300, 1],
      [70, 1],
      [3, 1],
    ],
    few: true,
  },
  {
    name: 'a cache that slides, many rows',
    heads: 2,
    keyHeads: 1,
    headSize: 64,
    type: 'f32',
    window: 33,
    sliding: true,
    spans: [
      [290, 30],
      [40, 2],
    ],
  },
  {
    name: 'queries alone, single rows',
    heads: 4,
    keyHeads: 2,
    headSize: 64,
    type: 'f32',
    headNorm: true,
    queriesOnly: true,
    spans: [
      [40, 1],
      [7, 1],
    ],
    few: true,
  },
  {
    name: '8 bits, groups of 3',
    heads: 6,
    keyHeads: 2,
    headSize: 64,
    type: 'q8_0',
    spans: [
      [37, 1],
      [0, 5],
      [16, 3],
    ],
    few: true,
  },
  {
    name: '8 bits, one block to a head, a long context in parts',
    heads: 7,
    keyHeads: 1,
    headSize: 32,
    type: 'q8_0',
    spans: [
      [700, 1],
      [12, 2],
    ],
  },
  {
    name: '8 bits, an odd number of blocks, many rows',
    heads: 2,
    keyHeads: 1,
    headSize: 96,
    type: 'q8_0',
    spans: [
      [30, 41],
      [5, 1],
    ],
    few: true,
  },
  {
    name: '8 bits, one row each, normed, in parts, a window',
    heads: 6,
    keyHeads: 2,
    headSize: 128,
    type: 'q8_0',
    headNorm: true,
    window: 270,
    spans: [
      [300, 1],
      [12, 1],
      [255, 1],
      [256, 1],
    ],
    few: true,
  },
  {
    name: '8 bits, large heads, groups of 8, single rows',
    heads: 8,
    keyHeads: 1,
    headSize: 512,
    type: 'q8_0',
    headNorm: true,
    spans: [
      [20, 1],
      [40, 1],
    ],
  },
  {
    name: '8 bits, large heads, groups of 2, many rows',
    heads: 4,
    keyHeads: 2,
    headSize: 320,
    type: 'q8_0',
    spans: [
      [3, 21],
      [0, 2],
    ],
  },
  {
    name: '8 bits, a cache that slides, many rows',
    heads: 2,
    keyHeads: 1,
    headSize: 64,
    type: 'q8_0',
    window: 33,
    sliding: true,
    spans: [
      [290, 30],
      [40, 2],
    ],
    few: true,
  },
  {
    name: '8 bits, queries alone, single rows',
    heads: 4,
    keyHeads: 2,
    headSize: 64,
    type: 'q8_0',
    headNorm: true,
    queriesOnly: true,
    spans: [
      [40, 1],
      [7, 1],
    ],
  },
  {
    name: 'heads of 256, groups of 4, many rows',
    heads: 4,
    keyHeads: 1,
    headSize: 256,
    type: 'f16',
    spans: [
      [9, 19],
      [0, 2],
    ],
    few: true,
  },
  {
    name: 'heads of 256, groups of 8, single rows',
    heads: 8,
    keyHeads: 1,
    headSize: 256,
    type: 'f16',
    spans: [
      [70, 1],
      [3, 1],
    ],
    few: true,
  },
  // Rows of keys and values that are no multiple of 16 bytes.
  {
    name: 'heads of 20, single rows',
    heads: 4,
    keyHeads: 2,
    headSize: 20,
    type: 'f16',
    spans: [
      [70, 1],
      [3, 1],
    ],
    few: true,
  },
  {
    name: 'heads of 20, many rows, a window',
    heads: 4,
    keyHeads: 2,
    headSize: 20,
    type: 'f16',
    window: 30,
    spans: [
      [50, 21],
      [0, 3],
    ],
    few: true,
  },
  {
    name: 'some of many rows',
    heads: 6,
    keyHeads: 2,
    headSize: 24,
    type: 'f16',
    window: 60,
    spans: [
      [50, 70],
      [0, 3],
      [9, 30],
    ],
    read: [69, 72, 40, 4],
    few: true,
  },
  // What hardware takes at a time ends at 64 positions, and at 64 queries of a head of keys.
  {
    name: 'single rows at the border of 64',
    heads: 4,
    keyHeads: 2,
    headSize: 32,
    type: 'f16',
    spans: [
      [62, 1],
      [63, 1],
      [64, 1],
      [127, 1],
      [128, 1],
    ],
    few: true,
  },
  {
    name: 'many rows at the border of 64',
    heads: 2,
    keyHeads: 1,
    headSize: 64,
    type: 'f16',
    spans: [
      [63, 31],
      [0, 64],
      [64, 33],
      [31, 1],
    ],
    few: true,
  },
  {
    name: 'a bent score, single rows in parts',
    heads: 4,
    keyHeads: 2,
    headSize: 32,
    type: 'f32',
    cap: 0.7,
    spans: [
      [90, 1],
      [5, 1],
    ],
    few: true,
  },
  {
    name: 'a bent score, many rows, a window',
    heads: 4,
    keyHeads: 2,
    headSize: 32,
    type: 'f32',
    cap: 0.7,
    window: 40,
    spans: [
      [50, 21],
      [0, 3],
    ],
    few: true,
  },
  {
    name: 'sinks, groups of 8, single rows',
    heads: 16,
    keyHeads: 2,
    headSize: 64,
    type: 'f16',
    sinks: true,
    spans: [
      [40, 1],
      [0, 1],
    ],
    few: true,
  },
  {
    name: 'sinks, single rows in parts',
    heads: 6,
    keyHeads: 2,
    headSize: 32,
    type: 'f32',
    sinks: true,
    spans: [
      [400, 1],
      [5, 1],
    ],
    few: true,
  },
  {
    name: 'sinks, many rows, a window',
    heads: 6,
    keyHeads: 2,
    headSize: 32,
    type: 'f32',
    window: 40,
    sinks: true,
    spans: [
      [50, 21],
      [0, 3],
    ],
    few: true,
  },
  {
    name: 'sinks, large heads, many rows',
    heads: 4,
    keyHeads: 2,
    headSize: 320,
    type: 'f32',
    sinks: true,
    spans: [
      [3, 21],
      [0, 2],
    ],
  },
  {
    name: 'sinks, 8 bits, many rows',
    heads: 6,
    keyHeads: 2,
    headSize: 64,
    type: 'q8_0',
    sinks: true,
    spans: [
      [30, 41],
      [5, 1],
    ],
  },
]

/** What is kept in 8 bits, also in 4. */
const CASES: readonly Case[] = [
  ...GIVEN,
  ...GIVEN.filter(({ type }) => type === 'q8_0').map((test) => ({
    ...test,
    name: test.name.replace('8 bits', '4 bits'),
    type: 'q4_0' as const,
  })),
]

const TRAITS = ['window', 'both', 'headNorm', 'cap', 'sinks', 'queriesOnly', 'sliding', 'read'] as const

/**
 * What a GPU in software, which compiles each case's kernels for seconds, holds by it. On hardware single rows, few and many
 * have kernels of their own, and so has each kind of cache and head in each of them; what else attention is asked for is
 * another branch in those of few rows and of many. Cut for software all have one kernel, in which a head is a loop; and of
 * the unusual cuts, which differ from the usual one in how it adds up, each thing once is enough.
 */
function heldBy(test: Case, cut: 'hardware' | 'software' | 'others'): string[] {
  const { heads, keyHeads, headSize, type, spans } = test
  const counts = spans.map(([, rows]) => rows)
  const many = counts.reduce((a, b) => a + b) > FEW
  const rows = many ? 'many' : Math.max(...counts) === 1 ? 'single' : 'few'
  const words = (headSize * CACHE_BITS[type]) / 32
  const size = words % 4 > 0 ? 'odd' : headSize > 256 ? 'large' : headSize > 128 ? 'wide' : 'usual'
  const group = heads / keyHeads
  const sharing = group === 1 ? 'alone' : group & (group - 1) ? 'oddly shared' : 'shared'
  const traits = TRAITS.filter((trait) => test[trait])
  const inParts = !many && spans.some(([before]) => before >= 64) ? ['in parts'] : []
  if (cut === 'software') return [`${many}`, type, sharing, ...traits, ...inParts]
  const atBorder = spans.some(([before]) => before === 63) ? [`${rows}, at a border`] : []
  if (cut === 'others') return [`${many}, ${size === 'odd'}`, ...atBorder, ...inParts, type, sharing, ...traits]
  const usual = [`${rows}, ${size}`, ...atBorder, ...inParts]
  return [...usual, `${rows}, ${type}`, `${many}, ${sharing}`, ...traits.map((trait) => `${many}, ${trait}`)]
}

/** Kernels grow with the heads that are held at a time, and with what is unpacked. */
const costOf = ({ heads, keyHeads, headSize, type }: Case) => (heads / keyHeads) * headSize * (type in PACKED ? 2 : 1)

const EPSILON = 1e-6
/**
 * Values about 1: f16 keys and values are off by 2^-11 each, f32 sums by far less. Of 8 bits the reference is told; what
 * lies between two codes may get either, a hundredth apart, but is seldom and one of many that are summed.
 */
const BOUNDS: Readonly<Record<CacheType, number>> = { f32: 2e-5, f16: 3e-3, q8_0: 2e-3, q4_0: 2e-3 }
/** What becomes of packed values, and what would with the scales of other blocks. */
const PACKED: Readonly<Partial<Record<CacheType, { readonly kept: Kept; readonly ofNext: Kept }>>> = {
  q8_0: { kept: inQ8_0, ofNext: inQ8_0OfNext },
  q4_0: { kept: inQ4_0, ofNext: inQ4_0OfNext },
}
/** Pages that a cache that slides has not. */
const NOWHERE = new Int32Array(64).fill(1 << 20)

describe.each(KERNEL_DEVICES)('attention on $name', ({ name, turn, open, cases: which }) => {
  const cut = turn !== undefined ? 'others' : which === 'few' ? 'software' : 'hardware'
  // On GPUs 4 bits differ from 8 in how a block is read and in nothing else: of those the few suffice.
  const gpu = name.startsWith('webgpu')
  const fewOf = (test: Case) => which === 'few' || (!FULL && test.type === 'q4_0' && gpu)
  const some = CASES.filter((test) => test.few || !fewOf(test))
  const all = gpu ? covering(some, (test) => heldBy(test, cut), costOf) : some
  // Less memory makes a difference to wide heads alone.
  const wide = name.includes('the least') ? some.filter(({ headSize }) => headSize === 256) : []
  const cases = new Set([...shared({ turn }, all), ...wide])
  let device: Device
  beforeAll(async () => {
    device = await open()
  })
  afterAll(() => device.destroy())

  it.each([...cases])('$name', async (test) => {
    const { got, expected } = await run(device, test)
    const bound = BOUNDS[test.type]
    for (let i = 0; i < expected.length; i++) {
      if (!(Math.abs(got[i]! - expected[i]!) <= bound)) {
        const width = test.heads * test.headSize
        expect.fail(`row ${Math.floor(i / width)}, value ${i % width}: ${got[i]}, expected ${expected[i]}`)
      }
    }
  })
})

it.each(CASES.filter(({ type, few, headSize }) => type in PACKED && few && headSize < 128))(
  'a mistaken scale shows: $name',
  (test) => {
    const {
      made: { texts, gains, frequencies },
      expected: truth,
    } = judged(test)
    const mistaken = answers(texts, test, frequencies, gains, PACKED[test.type]!.ofNext)
    const gaps = truth.map((value, i) => Math.abs(value - mistaken[i]!))
    expect(Math.max(...gaps)).toBeGreaterThan(20 * BOUNDS[test.type])
  },
)

const TURNS = { theta: 10000 }

/** Some far below the scores, some far above. */
const sinkOf = (head: number): number => 4 * (head % 4) - 5

interface Texts {
  readonly texts: readonly Float32Array[][]
  readonly gains: { readonly query: Float32Array; readonly key: Float32Array }
  readonly frequencies: Float64Array
}

const known = new Map<Case, { readonly made: Texts; readonly expected: readonly number[] }>()

/** What a case is made of and what float64 has of it: once for all devices. */
function judged(test: Case) {
  let found = known.get(test)
  if (!found) {
    const made = textsOf(test)
    found = { made, expected: answers(made.texts, test, made.frequencies, made.gains) }
    known.set(test, found)
  }
  return found
}

/** Rows of queries, keys and values of each sequence, and what else the case is made of. */
function textsOf({ heads, keyHeads, headSize, spans }: Case): Texts {
  const chance = new Chance(heads * 100 + headSize)
  const width = (heads + 2 * keyHeads) * headSize
  const texts = spans.map(([before, rows]) => Array.from({ length: before + rows }, () => chance.floats(width)))
  const gains = { query: chance.floats(headSize), key: chance.floats(headSize) }
  return { texts, gains, frequencies: frequenciesOf({ size: headSize, ...TURNS }, 1024) }
}

function answers(
  texts: readonly Float32Array[][],
  test: Case,
  frequencies: Float64Array,
  gains: { query: Float32Array; key: Float32Array },
  kept: Kept = PACKED[test.type]?.kept ?? ((values) => values),
): number[] {
  const { heads, keyHeads, headSize, spans } = test
  return texts.flatMap((text, i) => {
    const placed = text.map((row, p) => {
      const out = turned(row, p, test, frequencies, gains)
      for (let head = heads; head < heads + 2 * keyHeads; head++) {
        out.set(kept(out.slice(head * headSize, (head + 1) * headSize)), head * headSize)
      }
      return out
    })
    return placed.slice(spans[i]![0]).flatMap((_, k) => attended(placed, spans[i]![0] + k, test))
  })
}

async function run(device: Device, test: Case) {
  const { heads, keyHeads, headSize, spans, window } = test
  const width = (heads + 2 * keyHeads) * headSize
  const {
    made: { texts, gains },
    expected,
  } = judged(test)
  const ends = texts.map(({ length }) => length)
  const pages = ends.map((length) => Math.ceil(length / PAGE))
  const total = pages.reduce((sum, count) => sum + count, 0)
  // Pages in reverse, so that no page is where its position would be.
  let next = total
  const tables = pages.map((count) => Int32Array.from({ length: count }, () => --next))
  const resources = {
    table: device.matrix({ format: 'f32', rows: ends.reduce((a, b) => a + b), columns: width, data: bytesOf(texts) }),
    queryTable: device.matrix({
      format: 'f32',
      rows: ends.reduce((a, b) => a + b),
      columns: heads * headSize,
      data: bytesOf(texts.map((text) => text.map((row) => row.subarray(0, heads * headSize)))),
    }),
    qkv: device.activations(1024, width),
    queries: device.activations(1024, heads * headSize),
    out: device.activations(1024, heads * headSize),
    cache: device.cache({
      ...{ layers: 2, pages: total, heads: keyHeads, headSize, type: test.type },
      ...(test.sliding && { sliding: true }),
    }),
    angles: device.vector(angleTable(1024, { size: headSize, ...TURNS })),
    query: device.vector(gains.query),
    key: device.vector(gains.key),
    sinks: device.vector(Float32Array.from({ length: heads }, (_, head) => sinkOf(head))),
  }
  const { table, queryTable, qkv, queries, out, cache, angles, query, key, sinks } = resources
  const pass = (ranges: readonly (readonly [number, number])[], queriesOnly = false) => {
    let start = 0
    const batch: Span[] = []
    ranges.forEach(([from, to], i) => {
      const tokens = Int32Array.from({ length: to - from }, (_, k) => start + from + k)
      const seen = Math.floor(Math.max(0, from + 1 - (window ?? 0)) / PAGE)
      const pages = test.sliding
        ? { pages: NOWHERE, windowPages: tables[i]!.map((page, at) => (at < seen ? -1 : page)) }
        : { pages: tables[i]! }
      if (to > from) batch.push({ tokens, position: from, ...pages })
      start += ends[i]!
    })
    const begun = device.begin({ spans: batch })
    begun.run(embed, queriesOnly ? queryTable : table, queriesOnly ? queries : qkv)
    const headNorm = test.headNorm ? { headNorm: { query, key, epsilon: EPSILON } } : {}
    begun.run(rope, queriesOnly ? queries : qkv, cache, 1, { heads, angles, queriesOnly, ...headNorm })
    return begun
  }
  const { queriesOnly = false } = test
  if (queriesOnly) await pass(ends.map((end) => [0, end] as const)).submit()
  else if (spans.some(([before]) => before > 0)) await pass(spans.map(([before]) => [0, before] as const)).submit()
  const tested = pass(
    spans.map(([before], i) => [before, ends[i]!] as const),
    queriesOnly,
  )
  tested.run(attend, queriesOnly ? queries : qkv, cache, 1, out, {
    heads,
    scale: headSize ** -0.5,
    ...(window ? { window } : {}),
    ...(test.both && { causal: false }),
    ...(test.cap && { cap: test.cap }),
    ...(test.sinks && { sinks }),
    ...(test.read && { rows: Int32Array.from(test.read) }),
  })
  const reading = tested.read(out, tested.rows)
  await tested.submit()
  const got = await reading
  for (const resource of Object.values(resources)) resource.destroy()
  const { read } = test
  if (!read) return { got, expected }
  const columns = heads * headSize
  const rowsOf = (values: ArrayLike<number>) =>
    read.flatMap((row) => Array.from({ length: columns }, (_, i) => values[row * columns + i]!))
  return { got: rowsOf(got), expected: rowsOf(expected) }
}

/** Rows under each other, as a matrix in f32 has them. */
function bytesOf(texts: readonly Float32Array[][]): Uint8Array {
  const rows = texts.flat()
  const values = new Float32Array(rows.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const row of rows) {
    values.set(row, at)
    at += row.length
  }
  return new Uint8Array(values.buffer)
}

function turned(
  row: Float32Array,
  position: number,
  { heads, keyHeads, headSize, headNorm }: Case,
  frequencies: Float64Array,
  gains: { query: Float32Array; key: Float32Array },
): Float64Array<ArrayBuffer> {
  const out = Float64Array.from(row)
  const half = headSize / 2
  for (let h = 0; h < heads + keyHeads; h++) {
    const head = out.subarray(h * headSize, (h + 1) * headSize)
    if (headNorm) {
      const gain = h < heads ? gains.query : gains.key
      const mean = head.reduce((sum, value) => sum + value * value, 0) / headSize
      head.forEach((value, i) => {
        head[i] = (value / Math.sqrt(mean + EPSILON)) * gain[i]!
      })
    }
    for (let i = 0; i < half; i++) {
      const [a, b] = [head[i]!, head[i + half]!]
      const angle = position * frequencies[i]!
      head[i] = a * Math.cos(angle) - b * Math.sin(angle)
      head[i + half] = b * Math.cos(angle) + a * Math.sin(angle)
    }
  }
  return out
}

function attended(rows: readonly Float64Array[], position: number, test: Case): number[] {
  const { heads, keyHeads, headSize, window, cap } = test
  const first = window ? Math.max(0, position + 1 - window) : 0
  const ahead = test.both ? (window ?? rows.length) - 1 : 0
  const last = Math.min(rows.length - 1, position + ahead)
  const out: number[] = []
  for (let h = 0; h < heads; h++) {
    const keyHead = Math.floor((h * keyHeads) / heads)
    const part = (p: number, head: number) => rows[p]!.subarray(head * headSize, (head + 1) * headSize)
    const query = part(position, h)
    const scores: number[] = []
    for (let p = first; p <= last; p++) {
      const key = part(p, heads + keyHead)
      let product = 0
      for (let i = 0; i < headSize; i++) product += query[i]! * key[i]!
      const score = product / Math.sqrt(headSize)
      scores.push(cap ? cap * Math.tanh(score / cap) : score)
    }
    const most = Math.max(...scores)
    const weights = scores.map((score) => Math.exp(score - most))
    const sunk = test.sinks ? Math.exp(sinkOf(h) - most) : 0
    const total = weights.reduce((sum, weight) => sum + weight, sunk)
    const seen = new Float64Array(headSize)
    for (const [i, weight] of weights.entries()) {
      const value = part(first + i, heads + keyHeads + keyHead)
      for (let j = 0; j < headSize; j++) seen[j]! += (weight / total) * value[j]!
    }
    out.push(...seen)
  }
  return out
}
