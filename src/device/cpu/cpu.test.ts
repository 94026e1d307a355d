import { afterEach, describe, expect, it } from 'vitest'
import type { CacheType, Device } from '../contract.js'
import { attend } from '../operations/attend/index.js'
import { rope } from '../operations/rope/index.js'
import { type CpuDeviceOptions, openCpuDevice } from './index.js'
import { floats, random } from './kernels.test-helper.js'
import { fill, layer } from './layer.test-helper.js'

const open: Device[] = []
async function device(options: CpuDeviceOptions = {}) {
  const opened = await openCpuDevice(options)
  open.push(opened)
  return opened
}
afterEach(() => {
  for (const each of open.splice(0)) each.destroy()
})

interface AttentionCase {
  readonly heads: number
  readonly keyHeads: number
  readonly d: number
  readonly window?: number
  /** @default 'f32' */
  readonly type?: CacheType
  /** Lengths of the passes by which each sequence grows. */
  readonly chunks: readonly (readonly number[])[]
}

/** Places and attends seeded queries, keys and values; returns the answers of each sequence, in order of position. */
async function attention(on: Device, test: AttentionCase, layer: number): Promise<Float32Array[]> {
  const { heads, keyHeads, d, chunks } = test
  const columns = (heads + 2 * keyHeads) * d
  const lengths = chunks[0]!.map((_, s) => chunks.reduce((sum, chunk) => sum + chunk[s]!, 0))
  const pagesOf = lengths.map((length) => Math.ceil(length / 16))
  const pages = pagesOf.length * Math.max(...pagesOf)
  const cache = on.cache({ layers: 2, pages, heads: keyHeads, headSize: d, type: test.type ?? 'f32' })
  const angles = on.vector(anglesOf(Math.max(...lengths), d))
  // Pages of the sequences lie interleaved and backwards: only the lists know.
  const order = Int32Array.from({ length: pages }, (_, i) => pages - 1 - i)
  const lists = pagesOf.map((count, s) => order.filter((_, i) => i % pagesOf.length === s).slice(0, count))
  const out: number[][] = lengths.map(() => [])
  const at = lengths.map(() => 0)
  for (const chunk of chunks) {
    const rows = chunk.reduce((sum, length) => sum + length, 0)
    const source = new Float32Array(rows * columns)
    let row = 0
    for (const [s, length] of chunk.entries()) {
      for (let i = 0; i < length; i++) source.set(rowOf(s, at[s]! + i, columns), row++ * columns)
    }
    const qkv = on.activations(rows, columns)
    const answer = on.activations(rows, heads * d)
    fill(on, source, rows).into(qkv)
    const spans = chunk.map((length, s) => ({
      tokens: new Int32Array(length),
      position: at[s]!,
      pages: lists[s]!,
    }))
    const pass = on.begin({ spans })
    pass.run(rope, qkv, cache, layer, { heads, angles })
    pass.run(attend, qkv, cache, layer, answer, {
      heads,
      scale: d ** -0.5,
      ...(test.window && { window: test.window }),
    })
    const read = pass.read(answer, rows)
    await pass.submit()
    const values = await read
    row = 0
    for (const [s, length] of chunk.entries()) {
      out[s]!.push(...values.subarray(row * heads * d, (row + length) * heads * d))
      row += length
      at[s]! += length
    }
  }
  return out.map((values) => Float32Array.from(values))
}

const rowOf = (sequence: number, position: number, columns: number) => floats(columns, sequence * 1000 + position, 2)

function anglesOf(positions: number, d: number): Float32Array {
  const angles = new Float32Array(positions * d)
  for (let p = 0; p < positions; p++) {
    for (let i = 0; i < d / 2; i++) {
      const angle = p / 10000 ** ((2 * i) / d)
      angles[p * d + 2 * i] = Math.cos(angle)
      angles[p * d + 2 * i + 1] = Math.sin(angle)
    }
  }
  return angles
}

/** The same in doubles, one loop after the other. */
function plainAttention({ heads, keyHeads, d, window, chunks }: AttentionCase, s: number): Float64Array {
  const length = chunks.reduce((sum, chunk) => sum + chunk[s]!, 0)
  const columns = (heads + 2 * keyHeads) * d
  const turned = Array.from({ length }, (_, position) => {
    const row = Float64Array.from(rowOf(s, position, columns))
    for (let h = 0; h < heads + keyHeads; h++) {
      for (let i = 0; i < d / 2; i++) {
        const angle = position / 10000 ** ((2 * i) / d)
        const [a, b] = [row[h * d + i]!, row[h * d + d / 2 + i]!]
        row[h * d + i] = a * Math.cos(angle) - b * Math.sin(angle)
        row[h * d + d / 2 + i] = b * Math.cos(angle) + a * Math.sin(angle)
      }
    }
    return row
  })
  const out = new Float64Array(length * heads * d)
  for (let p = 0; p < length; p++) {
    for (let h = 0; h < heads; h++) {
      const kh = Math.floor(h / (heads / keyHeads))
      const first = window ? Math.max(0, p + 1 - window) : 0
      const scores = turned.slice(first, p + 1).map((row) => {
        let sum = 0
        for (let i = 0; i < d; i++) sum += turned[p]![h * d + i]! * row[(heads + kh) * d + i]!
        return sum / Math.sqrt(d)
      })
      const most = Math.max(...scores)
      const weights = scores.map((score) => Math.exp(score - most))
      const total = weights.reduce((sum, weight) => sum + weight, 0)
      for (const [j, weight] of weights.entries()) {
        for (let i = 0; i < d; i++) {
          out[(p * heads + h) * d + i]! += (weight / total) * turned[first + j]![(heads + keyHeads + kh) * d + i]!
        }
      }
    }
  }
  return out
}

describe('attention', () => {
  const cases: AttentionCase[] = [
    { heads: 1, keyHeads: 1, d: 4, chunks: [[1], [1], [1]] },
    { heads: 6, keyHeads: 2, d: 48, chunks: [[17], [1], [1]] },
    { heads: 4, keyHeads: 4, d: 20, chunks: [[40]] },
    {
      heads: 3,
      keyHeads: 1,
      d: 64,
      chunks: [
        [16, 16],
        [5, 1],
        [1, 30],
      ],
    },
    { heads: 2, keyHeads: 1, d: 32, window: 7, chunks: [[20], [9], [1]] },
    { heads: 2, keyHeads: 2, d: 16, window: 16, chunks: [[50]] },
    { heads: 6, keyHeads: 2, d: 48, type: 'f16', chunks: [[33], [1], [14]] },
    {
      heads: 2,
      keyHeads: 1,
      d: 36,
      type: 'f16',
      window: 5,
      chunks: [
        [12, 3],
        [4, 20],
      ],
    },
  ]
  it.each(cases)('$heads heads on $keyHeads of $d, window $window, $type, in passes of $chunks', async (test) => {
    const answers = await attention(await device({ threads: 1 }), test, 1)
    for (const [s, answer] of answers.entries()) {
      const exact = plainAttention(test, s)
      expect(answer.length).toBe(exact.length)
      // Values are below 2 and weights sum to 1; scores, below 8 d / sqrt(d), are rounded d times.
      // In f16, keys and values are rounded to 11 bits, which moves scores of up to 8 sqrt(d) by 2^-11 of that.
      const rounding = test.type === 'f16' ? 2 * (8 * Math.sqrt(test.d) + 1) * 2 ** -11 : 0
      const bound = 2 * (8 * test.d ** 1.5 + 64) * 2 ** -24 + rounding
      for (let i = 0; i < exact.length; i++) {
        if (!(Math.abs(answer[i]! - exact[i]!) <= bound)) expect.fail(`value ${i}: ${answer[i]} instead of ${exact[i]}`)
      }
    }
  })

  // Tokens are attended up to four together, or heads; and values of 8 bits are weighed by a few pages, wherever one begins.
  it.each(
    (['f32', 'f16', 'q8_0', 'q4_0'] as const).flatMap((type) => [2, 3, 4, 7, 8].map((share) => ({ type, share }))),
  )(
    'in $type, $share heads to one of keys, is the same in one pass and in several, and beside another sequence',
    async ({ type, share }) => {
      const on = await device({ threads: 1 })
      const shape = { heads: 2 * share, keyHeads: 2, d: 32, window: 77, type }
      const [whole] = await attention(on, { ...shape, chunks: [[187]] }, 0)
      const [pieces] = await attention(on, { ...shape, chunks: [[5], [20], [1], [1], [157], [1], [2]] }, 0)
      const chunks = [
        [130, 18],
        [1, 1],
        [56, 3],
      ]
      const [beside] = await attention(on, { ...shape, chunks }, 1)
      expect(pieces).toEqual(whole)
      expect(beside).toEqual(whole)
    },
  )
})

describe('threads', () => {
  it.each([1, 4, 13, 200])('compute the same for %i rows, however many they are', async (rows) => {
    const alone = await layer(await device({ threads: 1 }), rows)
    for (const threads of [2, 3, 5]) {
      const together = await device({ threads })
      expect(together.info.name).toContain(`${threads} threads`)
      expect(await layer(together, rows)).toEqual(alone)
    }
  })

  it.each([
    { heads: 6, keyHeads: 2, d: 48, type: 'f16' },
    // Where threads would have nothing to do, fewer heads are attended together.
    { heads: 4, keyHeads: 1, d: 64, type: 'q8_0' },
    { heads: 4, keyHeads: 1, d: 64, type: 'q4_0' },
  ] as const)('attend the same: $heads heads in $type', async (shape) => {
    const chunks = [[40, 3, 17], ...Array.from({ length: 12 }, () => [1, 1, 1]), [5, 1, 9]]
    const alone = await attention(await device({ threads: 1 }), { ...shape, chunks }, 0)
    for (const threads of [2, 3]) {
      expect(await attention(await device({ threads }), { ...shape, chunks }, 0)).toEqual(alone)
    }
  })

  it('of which one fails take the device with them, and nobody waits', async () => {
    const on = await device({ threads: 3 })
    const [heads, d, rows] = [2, 32, 24]
    const cache = on.cache({ layers: 1, pages: 8, heads, headSize: d, type: 'f32' })
    const [qkv, out] = [on.activations(rows, 3 * heads * d), on.activations(rows, heads * d)]
    const angles = on.vector(anglesOf(rows, d))
    // Pages that no cache has lie beyond all memory.
    const bytes = heads * d * 16 * 4
    const page = Math.floor(0xf0000000 / bytes)
    const run = async (bad: number) => {
      const spans = Array.from({ length: rows }, (_, i) => ({
        tokens: new Int32Array(1),
        position: i % 16,
        pages: Int32Array.of(i < rows - bad ? i % 8 : page),
      }))
      const pass = on.begin({ spans })
      pass.run(rope, qkv, cache, 0, { heads, angles })
      pass.run(attend, qkv, cache, 0, out, { heads, scale: 1 })
      await pass.submit()
    }
    await run(0)
    const error = await run(4).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ status: 503, code: 'device_lost' })
    expect(await on.lost).toBe(error)
    expect(() => on.begin({ spans: [] })).toThrow(error as Error)
    expect(await layer(await device({ threads: 3 }), 4)).toHaveLength(4 * 96)
  })

  it('of a destroyed device end', async () => {
    const on = await openCpuDevice({ threads: 2 })
    on.destroy()
    on.destroy()
    expect(() => on.activations(1, 1)).toThrow('destroyed')
    expect(on.memory).toEqual({ bytes: 0, buffers: 0 })
  })
})

describe('rounded activations', () => {
  it('cost at most 1/254 of the largest of each block, against activations as they are', async () => {
    const rounded = await layer(await device({ threads: 1 }), 3)
    const exact = await layer(await device({ threads: 1, exact: true }), 3)
    let [off, size] = [0, 0]
    for (let i = 0; i < exact.length; i++) {
      off += (rounded[i]! - exact[i]!) ** 2
      size += exact[i]! ** 2
    }
    // Gate, value and their product are rounded, each by at most 1/254 of a peak that is a few times the mean; in sums
    // most of it cancels. (The kernels' own tests hold the exact bound of one product.)
    expect(Math.sqrt(off / size)).toBeLessThan(4 / 254)
    expect(off).toBeGreaterThan(0)
  })
})

describe('memory', () => {
  it('is given back to the last byte', async () => {
    const on = await device({ threads: 1 })
    const next = random(11)
    const live: { destroy(): void }[] = []
    for (let i = 0; i < 300; i++) {
      if (live.length > 0 && next() < 0.4) live.splice(Math.floor(next() * live.length), 1)[0]!.destroy()
      else live.push(on.activations(1 + Math.floor(next() * 50), 1 + Math.floor(next() * 900)))
    }
    expect(on.memory.buffers).toBe(live.length)
    for (const each of live) {
      each.destroy()
      each.destroy()
    }
    expect(on.memory).toEqual({ bytes: 0, buffers: 0 })
  })

  it('of a cache is touched where it is used, and no sooner, also where it lay before', async () => {
    const device = await openCpuDevice({ threads: 1 })
    const MIB = 2 ** 20
    const before = process.memoryUsage().rss
    for (let round = 0; round < 2; round++) {
      const cache = device.cache({ layers: 8, pages: 4096, heads: 4, headSize: 128, type: 'f16' })
      expect(cache.bytes).toBeGreaterThan(512 * MIB)
      cache.destroy()
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(128 * MIB)
    device.destroy()
  })

  it('runs out with an error that says what was wanted', async () => {
    const on = await device({ threads: 1 })
    const before = on.memory
    expect(() => on.activations(1 << 16, 1 << 16)).toThrow(/out of memory: 16384 MiB/)
    expect(on.memory).toEqual(before)
  })

  it('addresses more than two gibibytes', async () => {
    const on = await device({ threads: 1 })
    // Never written, so that the host does not have to find it.
    on.activations(1 << 16, 9000)
    const x = on.activations(2, 8)
    const { into, span } = fill(on, floats(16, 1), 2)
    into(x)
    const pass = on.begin({ spans: [span] })
    const read = pass.read(x, 2)
    await pass.submit()
    expect(await read).toEqual(floats(16, 1))
  })
})
