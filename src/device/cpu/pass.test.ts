import { afterEach, describe, expect, it, vi } from 'vitest'
import { type Activations, type Batch, type Device, NO_STATE, type Pass } from '../contract.js'
import { addNorm } from '../operations/add-norm/index.js'
import { attend } from '../operations/attend/index.js'
import { combineExpertsCase } from '../operations/combine-experts/case.test-helper.js'
import { Desk } from '../operations/desk.test-helper.js'
import { embed } from '../operations/embed/index.js'
import { expertMatmulCase } from '../operations/expert-matmul/case.test-helper.js'
import { matmul } from '../operations/matmul/index.js'
import { rope } from '../operations/rope/index.js'
import { sample } from '../operations/sample/index.js'
import { tokenShift } from '../operations/token-shift/index.js'
import { type CpuDeviceOptions, openCpuDevice } from './index.js'
import { floats, matrixQ4 } from './kernels.test-helper.js'
import { unpackingRoom } from './matrix.js'
import { OPERATION_BYTES, PassProgram } from './program.js'
import { Runner } from './runner.js'

const open: Device[] = []
async function device(options: CpuDeviceOptions = {}) {
  const opened = await openCpuDevice({ threads: 1, ...options })
  open.push(opened)
  return opened
}
afterEach(() => {
  vi.restoreAllMocks()
  for (const each of open.splice(0)) each.destroy()
})

const span = (length: number, position = 0, page = 0) => ({
  tokens: Int32Array.from({ length }, (_, i) => i),
  position,
  pages: Int32Array.from({ length: Math.ceil((position + length) / 16) }, (_, i) => page + i),
})
const batch = (...spans: Batch['spans']): Batch => ({ spans })
const table = (on: Device, rows: number, columns: number, values: ArrayLike<number>) =>
  on.matrix({ format: 'f32', rows, columns, data: new Uint8Array(Float32Array.from(values).buffer) })
/** Row i is all i + `from`. */
const steps = (on: Device, rows: number, columns: number, from = 0) =>
  table(
    on,
    rows,
    columns,
    Array.from({ length: rows * columns }, (_, i) => Math.floor(i / columns) + from),
  )
async function outcome(on: Device, spans: Batch['spans'], out: Activations, record: (pass: Pass) => void, rows = 1) {
  const pass = on.begin({ spans })
  record(pass)
  const read = pass.read(out, rows)
  await pass.submit()
  return [...(await read)]
}

describe('a pass', () => {
  it('is run once in its order, what is sampled in between', async () => {
    const ran = vi.spyOn(Runner.prototype, 'run')
    const on = await device()
    const [x, sampler] = [on.activations(3, 16), on.sampler({ vocabulary: 16, tokens: 16, rows: 3, slots: 3 })]
    const tables = [0, 1].map((turn) =>
      table(
        on,
        3,
        16,
        Array.from({ length: 48 }, (_, i) => Number(i % 16 === Math.floor(i / 16) * 2 + turn)),
      ),
    )
    const row = { temperature: 0, topP: 1, seed: 0, index: 0 }
    const rows = [1, 0, 2].map((slot) => ({ ...row, slot }))
    ran.mockClear()
    const pass = on.begin(batch(span(2), span(1, 0, 1)))
    expect(pass.rows).toBe(3)
    pass.run(embed, tables[0]!, x)
    pass.run(sample, sampler, x, rows.slice(0, 2))
    expect(() => pass.run(sample, sampler, x, rows)).toThrow('A pass samples once.')
    pass.run(embed, tables[1]!, x)
    const read = pass.read(x, 2)
    expect((await pass.submit()).map(({ token }) => token)).toEqual([0, 2])
    expect([...(await read)].flatMap((value, i) => (value ? [i] : []))).toEqual([1, 16 + 3])
    const [[at] = []] = ran.mock.calls
    expect(ran.mock.calls).toEqual([
      [at, 1, 3],
      [at! + OPERATION_BYTES, 2, 3],
    ])
    // Nothing to do is nothing to run, and of what was recorded before nothing is left.
    expect(await on.begin(batch(span(3))).submit()).toEqual([])
    expect(ran).toHaveBeenCalledTimes(2)
    const narrow = on.activations(3, 8)
    expect(() => on.begin(batch(span(3))).run(sample, sampler, narrow, rows)).toThrow('Logits of a row')
  })

  it('shows its operations to who takes their times, one by one while that is asked for', async () => {
    const seen: unknown[] = []
    const profiler = {
      on: false,
      recorded: (name: string) => void seen.push(name),
      run: <T>(index: unknown, work: () => T) => {
        seen.push(index)
        return work()
      },
    }
    const ran = vi.spyOn(Runner.prototype, 'run')
    const on = await device({ profiler })
    const [t, x] = [steps(on, 3, 8, 5), on.activations(3, 8)]
    const sampler = on.sampler({ vocabulary: 8, tokens: 8, rows: 3, slots: 3 })
    const profiled = async () => {
      ran.mockClear()
      seen.length = 0
      const pass = on.begin(batch(span(3)))
      pass.run(embed, t, x)
      pass.run(sample, sampler, x, [{ slot: 0, temperature: 0, topP: 1, seed: 0, index: 0 }])
      const read = pass.read(x, 3)
      expect(await pass.submit()).toHaveLength(1)
      expect([...(await read)].filter((_, i) => i % 8 === 0)).toEqual([5, 6, 7])
      const [[first] = []] = ran.mock.calls
      const counts = ran.mock.calls.map(([at, count, rows]) => [(at - first!) / OPERATION_BYTES, count, rows])
      return { seen: [...seen], counts }
    }
    expect(await profiled()).toEqual({
      seen: ['embed', 'gatherRows'],
      counts: [
        [0, 1, 3],
        [1, 1, 3],
      ],
    })
    profiler.on = true
    expect(await profiled()).toEqual({
      seen: ['embed', 'gatherRows', 0, 'sample', 1],
      counts: [
        [0, 1, 3],
        [1, 1, 3],
      ],
    })
  })

  it('shares out what is much in whole lines of memory, and leaves what is little to one thread', async () => {
    const on = await device()
    const [x, wide, out] = [on.activations(3, 8), on.activations(3, 2048), on.activations(3, 64)]
    const [few, many, weights] = [steps(on, 3, 8), steps(on, 3, 2048), steps(on, 64, 8)]
    const added = vi.spyOn(PassProgram.prototype, 'add')
    const pass = on.begin(batch(span(3)))
    pass.run(embed, few, x)
    pass.run(embed, many, wide)
    pass.run(matmul, weights, x, out)
    const [little, much, product] = added.mock.calls.map(([, , , sharing]) => sharing!)
    expect([little!.by, much!.by]).toEqual(['one', 'all'])
    expect(product!.unit).toBeGreaterThan(1)
    expect(product!.least).toBeGreaterThan(1)
  })

  it('records what repeats each time, by what it then is', async () => {
    const on = await device()
    const [weights, out, owner] = [steps(on, 4, 16), on.activations(1, 16), {}]
    for (const token of [2, 3]) {
      const spans = [{ ...span(1), tokens: Int32Array.of(token) }]
      const record = (pass: Pass) => pass.repeated(owner, ['layers'], () => pass.run(embed, weights, out))
      expect(await outcome(on, spans, out, record)).toEqual(new Array(16).fill(token))
    }
  })

  it('that is over takes nothing more, and holds nothing', async () => {
    const on = await device()
    const [t, x] = [steps(on, 3, 8), on.activations(3, 8)]
    const before = on.memory
    const pass = on.begin(batch(span(3)))
    pass.run(embed, t, x)
    expect(on.memory.bytes).toBeGreaterThan(before.bytes)
    await pass.submit()
    expect(on.memory).toEqual(before)
    expect(() => pass.run(embed, t, x)).toThrow('The pass was submitted.')
    await expect(pass.submit()).rejects.toThrow('The pass was submitted.')
    // Of one that is never submitted nothing stays, either; nor of one that fails.
    const left = on.begin(batch(span(3)))
    const gone = on.activations(3, 8)
    const next = on.begin(batch(span(3)))
    expect(() => left.run(embed, t, x)).toThrow('The pass was submitted.')
    next.write(gone, new Float32Array(8))
    gone.destroy()
    await expect(next.submit()).rejects.toThrow('This tensor was destroyed.')
    expect(on.memory).toEqual(before)
  })

  it('lets the event loop turn where it took long', async () => {
    const on = await device()
    let turned = false
    setImmediate(() => {
      turned = true
    })
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 8)
    await on.begin(batch(span(1))).submit()
    expect(turned).toBe(true)
  })

  it('has room for each thread once, however many operations need it', async () => {
    const added = vi.spyOn(PassProgram.prototype, 'add')
    const room = () => added.mock.lastCall![2] as unknown as { readonly [name in 'kind' | 'room' | 'roomGap']: number }
    const roomOn = async (threads: number) => {
      const on = await device({ threads })
      const [t, x] = [
        on.matrix({ format: 'q8_0', rows: 8, columns: 32, data: new Uint8Array(8 * 34) }),
        on.activations(1, 32),
      ]
      const pass = on.begin(batch(span(1)))
      const before = on.memory.bytes
      pass.run(embed, t, x)
      const once = on.memory.bytes - before
      pass.run(embed, t, x)
      expect(on.memory.bytes - before).toBe(once)
      await pass.submit()
      return once
    }
    const one = await roomOn(1)
    // Eight rows of 32 values, and a gap in which no other thread writes: more than a page, and not much more.
    expect(one - unpackingRoom(room().kind, 32, 1)).toBeGreaterThan(4096)
    expect(one).toBeLessThan(2 * 4096)
    expect(await roomOn(3)).toBe(3 * one)
    expect([room().room > 0, room().roomGap]).toEqual([true, one])
    const on = await device()
    const pass = on.begin(batch(span(1)))
    const before = on.memory.bytes
    pass.run(embed, steps(on, 1, 8), on.activations(1, 8))
    // Numbers need none to be read: what was made of device memory is the two tensors.
    expect(on.memory.bytes - before).toBeLessThan(1024)
    expect(room()).toMatchObject({ room: 0, roomGap: 0 })
  })
})

describe('rows', () => {
  it('that are written are there before anything else, as they were when they were given', async () => {
    const on = await device()
    const [t, x, y] = [steps(on, 2, 8, 3), on.activations(2, 8), on.activations(2, 8)]
    const values = new Float32Array(8).fill(7)
    const got = await outcome(on, [span(2)], y, (pass) => {
      pass.run(embed, t, y)
      pass.run(addNorm, x, y, { add: true })
      pass.write(x, values)
      values.fill(9)
    })
    expect(got).toEqual(new Array(8).fill(3 + 7))
    const pass = on.begin(batch(span(2)))
    // What is read has room of its own.
    const wide = on.activations(2, 64)
    const before = on.memory.bytes
    void pass.read(wide, 2)
    expect(on.memory.bytes - before).toBeGreaterThanOrEqual(2 * 64 * 4)
    expect(() => pass.write(x, new Float32Array(24))).toThrow(RangeError)
    expect(() => pass.write(x, new Float32Array(7))).toThrow(RangeError)
  })

  it('of another device are refused', async () => {
    const [on, other] = [await device(), await device()]
    const [t, x] = [steps(on, 2, 8), on.activations(2, 8)]
    const pass = on.begin(batch(span(2)))
    const shape = { layers: 1, pages: 1, heads: 1, headSize: 4, type: 'f32' } as const
    const gpuLike = { rows: 2, columns: 8, bytes: 64, destroy() {} }
    expect(() => pass.run(embed, t, gpuLike)).toThrow('another device')
    expect(() => pass.write(gpuLike, new Float32Array(8))).toThrow('another device')
    expect(() => pass.run(matmul, gpuLike, x, x)).toThrow('another device')
    expect(() => pass.clearPages({ shape, usedBytes: 0, bytes: 0, destroy() {} }, [0])).toThrow('another device')
    expect(() => pass.copyPages({ shape, usedBytes: 0, bytes: 0, destroy() {} }, [])).toThrow('another device')
    expect(() => pass.read(gpuLike, 1)).toThrow('another device')
    expect(other.memory.buffers).toBe(0)
  })

  it('are embedded by their tokens, or by their places, which are their positions unless it is said', async () => {
    const on = await device()
    const [t, x] = [steps(on, 8, 8), on.activations(4, 8)]
    const by = async (how: 'tokens' | 'places', spans: Batch['spans']) =>
      (await outcome(on, spans, x, (pass) => pass.run(embed, t, x, how), 4)).filter((_, i) => i % 8 === 0)
    const spans = [span(3, 2), span(1, 5, 1)]
    expect(await by('tokens', spans)).toEqual([0, 1, 2, 0])
    expect(await by('places', spans)).toEqual([2, 3, 4, 5])
    expect(await by('places', [{ ...spans[0]!, places: Int32Array.of(7, 0, 6) }, spans[1]!])).toEqual([7, 0, 6, 5])
  })

  it('take what a state has of the last one', async () => {
    const on = await device()
    const states = on.states({ slots: 2, sizes: [4, 8] })
    const [t, x, out] = [steps(on, 3, 8, 1), on.activations(3, 8), on.activations(3, 8)]
    const carried = (state: { from: number; to: number }) =>
      outcome(
        on,
        [{ ...span(3), state }],
        out,
        (pass) => {
          pass.run(embed, t, x)
          pass.run(tokenShift, x, states, 1, out)
        },
        3,
      )
    const each = (values: readonly number[]) => values.filter((_, i) => i % 8 === 0)
    expect(each(await carried({ from: NO_STATE, to: 1 }))).toEqual([0, 1, 2])
    expect(each(await carried({ from: 1, to: 0 }))).toEqual([3, 1, 2])
  })

  it('go through experts, alike on several threads', async () => {
    for (const { run } of [expertMatmulCase, combineExpertsCase]) {
      const [alone, together] = [await run(new Desk(await device())), await run(new Desk(await device({ threads: 2 })))]
      expect(alone.some((value) => value !== 0)).toBe(true)
      expect(alone.every(Number.isFinite)).toBe(true)
      expect(together).toEqual(alone)
    }
  })
})

describe('a product', () => {
  it('is of all rows, or of the first ones', async () => {
    const on = await device()
    const eye = table(
      on,
      8,
      8,
      Array.from({ length: 64 }, (_, i) => Number(i % 9 === 0)),
    )
    const [t, x, out] = [steps(on, 3, 8, 1), on.activations(3, 8), on.activations(3, 8)]
    const firsts = async (rows?: number) => {
      const got = await outcome(
        on,
        [span(3)],
        out,
        (pass) => {
          pass.write(out, new Float32Array(24).fill(-1))
          pass.run(embed, t, x)
          pass.run(matmul, eye, x, out, rows === undefined ? undefined : { rows })
        },
        3,
      )
      return got.filter((_, i) => i % 8 === 0)
    }
    expect(await firsts()).toEqual([1, 2, 3])
    expect(await firsts(2)).toEqual([1, 2, -1])
    const pass = on.begin(batch(span(3)))
    expect(() => pass.run(matmul, eye, x, on.activations(3, 4))).toThrow('Columns to project into')
  })

  it('with a gate is of the first half of its rows and the other, beside which both have room', async () => {
    const on = await device()
    const eye = table(
      on,
      8,
      8,
      Array.from({ length: 64 }, (_, i) => Number(i % 9 === 0)),
    )
    const [t, x, out] = [steps(on, 3, 8, 1), on.activations(3, 8), on.activations(3, 4)]
    const record = (pass: Pass) => {
      pass.run(embed, t, x)
      const before = on.memory.bytes
      pass.run(matmul, eye, x, out, { gated: true })
      expect(on.memory.bytes - before).toBeGreaterThanOrEqual(3 * 8 * 4)
    }
    const got = (await outcome(on, [span(3)], out, record, 3)).filter((_, i) => i % 4 === 0)
    for (const [i, value] of [1, 2, 3].entries()) expect(got[i]).toBeCloseTo(value ** 2 / (1 + Math.exp(-value)), 4)
  })

  it('of what an operation has changed since it was gated is of what it is now', async () => {
    const on = await device()
    const q4 = ({ codes, scales }: ReturnType<typeof matrixQ4>, rows: number, columns: number) =>
      on.matrix({
        ...({ format: 'q4', scaleType: 'f32', rows, columns } as const),
        ...{ codes: new Uint8Array(codes.buffer), scales: new Uint8Array(scales.buffer) },
      })
    const [up, down] = [q4(matrixQ4(128, 32, 1), 128, 32), q4(matrixQ4(32, 64, 2), 32, 64)]
    const [x, middle, out] = [on.activations(1, 32), on.activations(1, 64), on.activations(1, 32)]
    const begin = (pass: Pass) => {
      pass.write(x, floats(32, 3))
      pass.run(matmul, up, x, middle, { gated: true })
    }
    const double = (pass: Pass) => pass.run(addNorm, middle, middle, { add: true })
    const end = (pass: Pass) => pass.run(matmul, down, middle, out)
    const added = vi.spyOn(PassProgram.prototype, 'add')
    const prepares: number[] = []
    for (const parts of [
      [begin, end],
      [begin, double, end],
    ]) {
      added.mockClear()
      const together = await outcome(on, [span(1)], out, (pass) => {
        for (const part of parts) part(pass)
      })
      prepares.push(added.mock.calls.filter(([name]) => name === 'prepare').length)
      let apart: number[] = []
      for (const part of parts) apart = await outcome(on, [span(1)], out, part)
      expect(together).toEqual(apart)
    }
    // What comes next is made ready by the operation before it, where none comes between.
    expect(prepares[1]! - prepares[0]!).toBe(1)
  })
})

describe('pages of a cache', () => {
  it('are copied and cleared before attention reads them, and begun where it writes', async () => {
    const on = await device()
    const cache = on.cache({ layers: 2, pages: 3, heads: 2, headSize: 4, type: 'f32' })
    const angles = on.vector(Float32Array.from({ length: 32 * 4 }, (_, i) => 1 - (i % 2)))
    const [qkv, out] = [on.activations(2, 24), on.activations(2, 8)]
    /** Queries and keys of nothing: what is seen is the mean of the values. */
    const seen = async (own: Batch['spans'][number], value: number, before: (pass: Pass) => void = () => {}) => {
      const rows = own.tokens.length
      const got = await outcome(on, [own], out, (pass) => {
        pass.write(
          qkv,
          Float32Array.from({ length: rows * 24 }, (_, i) => (i % 24 < 16 ? 0 : value)),
        )
        pass.run(rope, qkv, cache, 1, { heads: 2, angles })
        pass.run(attend, qkv, cache, 1, out, { heads: 2, scale: 1 })
        before(pass)
      })
      expect(got[7]).toBe(got[0])
      return got[0]
    }
    expect(cache.usedBytes).toBe(0)
    expect(await seen(span(2), 6)).toBe(6)
    expect(cache.usedBytes).toBeGreaterThan(0)
    const from = (page: number) => ({ ...span(1, 2), pages: Int32Array.of(page) })
    const copied = await seen(from(1), 9, (pass) => pass.copyPages(cache, [{ from: 0, to: 1 }]))
    expect(copied).toBeCloseTo((6 + 6 + 9) / 3, 5)
    expect(await seen(from(1), 9, (pass) => pass.clearPages(cache, [2, 1]))).toBeCloseTo(9 / 3, 5)
    expect(await seen(from(0), 9)).toBeCloseTo((6 + 6 + 9) / 3, 5)
  })

  it('are not begun by who only reads them', async () => {
    const on = await device()
    const cache = on.cache({ layers: 1, pages: 1, heads: 2, headSize: 4, type: 'f32' })
    const pass = on.begin(batch(span(2)))
    pass.run(attend, on.activations(2, 24), cache, 0, on.activations(2, 8), { heads: 2, scale: 1 })
    await pass.submit()
    expect(cache.usedBytes).toBe(0)
  })

  it('are seen as far as a window reaches, which is found out once for all layers', async () => {
    const on = await device()
    const cache = on.cache({ layers: 2, pages: 1, heads: 2, headSize: 4, type: 'f32' })
    const angles = on.vector(Float32Array.from({ length: 32 * 4 }, (_, i) => 1 - (i % 2)))
    const [qkv, out] = [on.activations(3, 24), on.activations(3, 8)]
    const record = (pass: Pass) => {
      const values = Float32Array.from({ length: 3 * 24 }, (_, i) => (i % 24 < 16 ? 0 : Math.floor(i / 24)))
      pass.write(qkv, values)
      for (const layer of [0, 1]) pass.run(rope, qkv, cache, layer, { heads: 2, angles })
      pass.run(attend, qkv, cache, 0, out, { heads: 2, scale: 1, window: 2 })
      const before = on.memory.bytes
      pass.run(attend, qkv, cache, 1, out, { heads: 2, scale: 1, window: 2 })
      expect(on.memory.bytes).toBe(before)
    }
    const got = (await outcome(on, [span(3)], out, record, 3)).filter((_, i) => i % 8 === 0)
    for (const [i, mean] of [0, 0.5, 1.5].entries()) expect(got[i]).toBeCloseTo(mean, 5)
  })
})
