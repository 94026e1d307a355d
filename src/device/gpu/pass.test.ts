/** What a pass asks of WebGPU, by a device that writes it down: no shader is compiled, and nothing is computed. */

import { afterEach, describe, expect, it, vi } from 'vitest'
import { type Batch, NO_STATE, type Pass, type Vector } from '../contract.js'
import { type AttendOptions, attend } from '../operations/attend/index.js'
import { embed } from '../operations/embed/index.js'
import { matmul } from '../operations/matmul/index.js'
import { pool } from '../operations/pool/index.js'
import { type RopeOptions, rope } from '../operations/rope/index.js'
import { sample } from '../operations/sample/index.js'
import { RESULT_WORDS, resultWords } from '../operations/sample/job.js'
import { tokenShift } from '../operations/token-shift/index.js'
import { GpuDevice } from './gpu-device.js'
import { CUTS } from './kernels/cuts.js'
import type { GpuTraits } from './kernels/kernel.js'
import type { GpuPass } from './pass.js'
import type { GpuActivations, GpuCache, GpuSampler, GpuStates } from './tensors.js'

/** What came to the queue, in order. */
type Did =
  | {
      readonly run: string
      readonly source: string
      readonly on: readonly string[]
      readonly groups: readonly number[]
    }
  | { readonly copy: readonly [from: string, at: number, to: string, at: number, bytes: number] }
  | { readonly clear: readonly [buffer: string, at: number, bytes: number] }
  | { readonly write: string; readonly words: readonly number[] }
  | 'submit'

class FakeBuffer {
  readonly content: ArrayBuffer
  gone = false
  broken: Error | undefined
  readonly size: number
  name: string
  constructor({ size, label }: GPUBufferDescriptor) {
    this.name = label!
    this.size = size
    this.content = new ArrayBuffer(size)
  }
  get label() {
    return this.name.replace(/ #.*/, '')
  }
  async mapAsync() {
    if (this.broken) throw this.broken
  }
  getMappedRange = () => this.content
  unmap() {}
  destroy() {
    this.gone = true
  }
}
const nameOf = (buffer: unknown) => (buffer as FakeBuffer).name

function fake(traits: Partial<GpuTraits> = {}, submitWork?: number) {
  const did: Did[] = []
  const buffers: FakeBuffer[] = []
  let groups = 0
  const encoder = () => {
    const own: Did[] = []
    let [pipeline, group] = [{ label: '', source: '' }, [] as string[]]
    return {
      beginComputePass: () => ({
        setPipeline: (one: typeof pipeline) => {
          pipeline = one
        },
        setBindGroup: (_: number, one: string[]) => {
          group = one
        },
        dispatchWorkgroups: (...groups: number[]) =>
          own.push({ run: pipeline.label, source: pipeline.source, on: group, groups }),
        end() {},
      }),
      copyBufferToBuffer: (from: unknown, a: number, to: unknown, b: number, bytes: number) =>
        own.push({ copy: [nameOf(from), a, nameOf(to), b, bytes] }),
      clearBuffer: (buffer: unknown, at: number, bytes: number) => own.push({ clear: [nameOf(buffer), at, bytes] }),
      finish: () => own,
    }
  }
  const device = {
    limits: { maxBufferSize: 2 ** 30, maxStorageBufferBindingSize: 2 ** 30 },
    lost: new Promise(() => {}),
    addEventListener() {},
    destroy() {},
    createBuffer(descriptor: GPUBufferDescriptor) {
      buffers.push(new FakeBuffer(descriptor))
      return buffers.at(-1)
    },
    ...{ createBindGroupLayout: () => ({}), createPipelineLayout: () => ({}) },
    createShaderModule: ({ code }: GPUShaderModuleDescriptor) => code,
    createComputePipeline: ({ label, compute }: GPUComputePipelineDescriptor) => ({ label, source: compute.module }),
    createBindGroup({ entries }: GPUBindGroupDescriptor) {
      groups++
      return [...entries].map(({ resource }) => nameOf((resource as GPUBufferBinding).buffer))
    },
    createCommandEncoder: encoder,
    queue: {
      writeBuffer(buffer: unknown, at: number, data: ArrayBufferView) {
        expect(at).toBe(0)
        const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice()
        did.push({ write: nameOf(buffer), words: [...new Uint32Array(bytes.buffer)] })
      },
      submit: (all: Did[][]) => did.push(...all.flat(), 'submit'),
      onSubmittedWorkDone: async () => {},
    },
  }
  const own = { serial: false, lanes: 1, half: false, ...traits }
  const on = new GpuDevice(device as unknown as GPUDevice, {
    ...{ name: 'fake', reason: '', traits: own, ...(submitWork !== undefined && { submitWork }) },
  })
  const named = <T extends { readonly buffer: GPUBuffer }>(name: string, tensor: T): T => {
    ;(tensor.buffer as unknown as FakeBuffer).name += ` #${name}`
    return tensor
  }
  return {
    ...{ on, did, buffers },
    groups: () => groups,
    rows: (name: string, rows: number, columns: number) => named(name, on.activations(rows, columns) as GpuActivations),
    vector: (name: string, length: number) =>
      named(name, on.vector(new Float32Array(length)) as Vector & { buffer: GPUBuffer }),
    matrix: (rows: number, columns: number) =>
      on.matrix({ format: 'f32', rows, columns, data: new Uint8Array(rows * columns * 4) }),
    async passed(batch: Batch, record: (pass: Pass) => void) {
      did.length = 0
      const pass = on.begin(batch)
      record(pass)
      await pass.submit()
      return [...did]
    },
  }
}

const span = (length: number, position = 0, page = 0) => ({
  tokens: Int32Array.from({ length }, (_, i) => 10 + i),
  position,
  pages: Int32Array.from({ length: Math.ceil((position + length) / 16) }, (_, i) => page + i),
})
const batch = (...spans: Batch['spans']): Batch => ({ spans })
const runs = (did: readonly Did[]) => did.flatMap((one) => (one !== 'submit' && 'run' in one ? [one] : []))
const names = (did: readonly Did[]) => runs(did).map(({ run }) => run.replace(/ (q4|f16|f32).*/, ''))
const metaOf = (did: readonly Did[]) =>
  did.flatMap((one) => (one !== 'submit' && 'write' in one && one.write === 'batch' ? [one.words] : []))

afterEach(() => void vi.restoreAllMocks())

describe('pages of a cache', () => {
  it('are cleared in each layer, and copied by way of another buffer', async () => {
    const { on, passed } = fake()
    const cache = on.cache({ layers: 2, pages: 5, heads: 2, headSize: 16, type: 'f32' }) as GpuCache
    const own = cache.pageBytes
    expect(own).toBe(2 * 2 * 16 * 16 * 4)
    const did = await passed(batch(span(1)), (pass) => {
      pass.clearPages(cache, [3, 0])
      pass.copyPages(cache, [{ from: 1, to: 4 }])
    })
    expect(did.filter((one) => one !== 'submit' && !('write' in one))).toEqual([
      ...[3, 0].flatMap((page) => ['cache 0', 'cache 1'].map((name) => ({ clear: [name, page * own, own] }))),
      ...[0, 1].map((layer) => ({ copy: [`cache ${layer}`, own, 'page aside', layer * own, own] })),
      ...[0, 1].map((layer) => ({ copy: ['page aside', layer * own, `cache ${layer}`, 4 * own, own] })),
    ])
  })
})

describe('rows', () => {
  it('that are written are there before what is recorded, and have to fit', async () => {
    const { on, rows, did } = fake()
    const out = rows('out', 2, 4)
    const pass = on.begin(batch(span(2)))
    pass.write(out, Float32Array.of(9, 1, 2, 3, 4, 9).subarray(1, 5))
    const words = [...new Uint32Array(Float32Array.of(1, 2, 3, 4).buffer)]
    expect(did).toEqual([{ write: 'activations #out', words }])
    expect(() => pass.write(out, new Float32Array(12))).toThrow(RangeError)
    expect(() => pass.write(out, new Float32Array(3))).toThrow(RangeError)
  })

  it('are read where the pass has come to, by a buffer that is then given back', async () => {
    const { on, rows, buffers, did } = fake()
    const x = rows('x', 3, 8)
    const before = on.memory
    const pass = on.begin(batch(span(3)))
    const read = pass.read(x, 2)
    const staging = buffers.at(-1)!
    new Float32Array(staging.content).set(Float32Array.from({ length: 16 }, (_, i) => i + 0.5))
    expect(await pass.submit()).toEqual([])
    expect(await read).toEqual(Float32Array.from({ length: 16 }, (_, i) => i + 0.5))
    expect(did).toContainEqual({ copy: ['activations #x', 0, 'staging', 0, 64] })
    await vi.waitFor(() => expect(staging.gone).toBe(true))
    expect(on.memory.buffers).toBe(before.buffers + 1)
    const again = on.begin(batch(span(3)))
    const broken = again.read(x, 2)
    buffers.at(-1)!.broken = new Error('gone')
    const refused = expect(broken).rejects.toMatchObject({ code: 'device_lost', message: 'The GPU was lost: gone' })
    await again.submit()
    await refused
  })
})

describe('an operation', () => {
  it('is told of its batch, and refused where its operands do not fit', async () => {
    const { on, rows, passed } = fake()
    const states = on.states({ slots: 3, sizes: [4, 8] }) as GpuStates
    const [x, out] = [rows('x', 5, 8), rows('out', 5, 8)]
    const spans = [
      { ...span(3, 4), state: { from: NO_STATE, to: 2 } },
      { ...span(2, 0, 1), state: { from: 1, to: 0 } },
    ]
    const did = await passed(batch(...spans), (pass) => {
      expect(pass.rows).toBe(5)
      pass.run(pool, x, out)
      pass.run(tokenShift, x, states, 1, out)
      expect(() => pass.run(pool, x, rows('narrow', 5, 4))).toThrow('Columns to pool')
    })
    expect(runs(did).map(({ run, on, groups }) => [run, on, groups])).toEqual([
      ['pool', ['batch', 'activations #x', 'activations #out'], [1, 1, 1]],
      ['tokenShift', ['batch', 'activations #x', 'state 1', 'activations #out'], [1, 2, 1]],
    ])
    const [words] = metaOf(did) as [number[]]
    // The first row of each span is gathered.
    expect([words[0], words[1], words[4], ...words.slice(8 + 3 * 5, 8 + 3 * 5 + 2)]).toEqual([5, 2, 2, 0, 3])
    expect(did.at(-1)).toBe('submit')
  })

  it('finds tokens that were not read back in the slots of the sampler, where there is one', async () => {
    const { on, rows, matrix, passed } = fake()
    const sampler = on.sampler({ vocabulary: 32, tokens: 30, rows: 2, slots: 2 })
    const [table, out] = [matrix(16, 8), rows('out', 2, 8)]
    const boundOf = async (more: Partial<Batch>) =>
      runs(await passed({ ...batch(span(2)), ...more }, (pass) => pass.run(embed, table, out)))[0]!.on[1]
    expect([await boundOf({}), await boundOf({ sampler })]).toEqual(['batch', 'slots'])
  })
})

describe('a product', () => {
  const variants = [
    {},
    { add: true },
    { gated: true },
    { gated: true, gate: 'gelu' },
    { bias: true },
    { norm: 1e-5 },
    { norm: 1e-6 },
    { otherOut: true },
    { otherX: true },
  ] as const
  type Variant = { -readonly [K in keyof (typeof variants)[number]]?: never } & Record<string, unknown>

  /** Passes one after the other on one device. */
  async function recorded(all: readonly Variant[], count = 2) {
    const { on, rows, matrix, vector, passed, groups } = fake()
    const [w, x, x2] = [matrix(64, 32), rows('x', count, 32), rows('x2', count, 32)]
    const [out, out2] = [rows('out', count, 64), rows('out2', count, 64)]
    const [bias, weight] = [vector('bias', 64), vector('weight', 32)]
    const recordings = []
    for (const { otherOut, otherX, bias: biased, norm, ...more } of all) {
      const before = groups()
      const did = await passed(batch(span(count)), (pass) =>
        pass.run(matmul, w, otherX ? x2 : x, otherOut ? out2 : out, {
          ...more,
          ...(biased ? { bias } : {}),
          ...(norm ? { norm: { weight, epsilon: norm as number } } : {}),
        }),
      )
      recordings.push({ runs: runs(did), bound: groups() - before })
    }
    on.destroy()
    return recordings
  }

  it.each(variants)(
    '%j is recorded as if nothing had been before, and repeated without being bound anew',
    async (one) => {
      const [alone] = await recorded([one])
      const all = await recorded([...variants, one, one])
      expect(all.at(-1)).toEqual({ runs: alone!.runs, bound: 0 })
      expect(all.at(-2)!.runs).toEqual(alone!.runs)
      expect(alone!.runs.length).toBeGreaterThan(0)
    },
  )

  it('adds nothing, gates nothing and gates by silu unless it is said', async () => {
    const recordings = await recorded([
      {},
      { add: false, gated: false },
      { gated: true },
      { gated: true, gate: 'silu' },
    ])
    expect(recordings[1]!.runs).toEqual(recordings[0]!.runs)
    expect(recordings[3]!.runs).toEqual(recordings[2]!.runs)
    const differ = await recorded(variants)
    expect(new Set(differ.map(({ runs }) => JSON.stringify(runs))).size).toBe(variants.length)
  })

  it('takes all rows or those that were gathered, and no others', async () => {
    const { rows, matrix, passed } = fake()
    const [w, x, out] = [matrix(64, 32), rows('x', 5, 32), rows('out', 5, 64)]
    const did = await passed(batch(span(3), span(2, 0, 1)), (pass) => {
      pass.run(matmul, w, x, out)
      expect(() => pass.run(matmul, w, x, out, { rows: 2 })).toThrow('all rows, or the gathered ones')
      pass.run(pool, x, rows('pooled', 5, 32))
      expect(() => pass.run(matmul, w, x, out, { rows: 3 })).toThrow('all rows, or the gathered ones')
      pass.run(matmul, w, x, out, { rows: 2 })
      pass.run(matmul, w, x, out, { rows: 5 })
      expect(() => pass.run(matmul, w, rows('narrow', 5, 16), out)).toThrow('Columns to project from')
    })
    const [all, , gathered, again] = runs(did)
    expect(gathered!.source).not.toBe(all!.source)
    expect(again).toEqual(all)
  })

  it('is computed as one of few rows where there are few, unless the pass is to be steady', async () => {
    const { rows, matrix, passed } = fake()
    const [w, x, out] = [matrix(64, 32), rows('x', 17, 32), rows('out', 17, 64)]
    const nameFor = async (count: number, steady?: boolean) =>
      names(await passed({ spans: [span(count)], ...(steady && { steady }) }, (pass) => pass.run(matmul, w, x, out)))[0]
    expect([await nameFor(16), await nameFor(17), await nameFor(16, true)]).toEqual(['matvec', 'matmul', 'matmul'])
  })

  it('has room beside its rows for what it makes of them by the way', async () => {
    const madeOf = async (traits: Partial<GpuTraits>, count: number) => {
      const { on, rows, vector, passed } = fake(traits)
      const bytes = { codes: new Uint8Array(64 * 16), scales: new Uint8Array(64 * 4) }
      const w = on.matrix({ format: 'q4', scaleType: 'f32', rows: 64, columns: 32, ...bytes })
      const norm = { weight: vector('weight', 32), epsilon: 1e-5 }
      const did = await passed(batch(span(count)), (pass) =>
        pass.run(matmul, w, rows('x', count, 32), rows('out', count, 64), { norm }),
      )
      return runs(did)[0]!.on
    }
    const packed = { packed: true, cuts: { vectors: { ...CUTS.vectors, packed: true } } }
    const read = ['activations #x', 'vector #weight']
    expect(await madeOf({ serial: true }, 1)).toEqual([...read, 'normed'])
    expect(await madeOf({ half: true }, 17)).toEqual([...read, 'halves', 'steps'])
    expect(await madeOf(packed, 1)).toEqual([...read, 'packed', 'steps'])
  })

  it('with gates is one step of each part, where gates lie beside their values', async () => {
    const { on, rows, passed } = fake()
    Object.assign(on.limits, { tensorBytes: 32 * 32 * 4 })
    const data = new Uint8Array(64 * 32 * 4)
    const w = on.matrix({ format: 'f32', rows: 64, columns: 32, data }, { gated: true })
    const did = await passed(batch(span(1)), (pass) =>
      pass.run(matmul, w, rows('x', 1, 32), rows('out', 1, 32), { gated: true }),
    )
    expect(names(did)).toEqual(['matvec', 'matvec'])
  })

  it('goes to the GPU with those before it once they are so much work', async () => {
    const { on, rows, matrix, passed } = fake({}, 2 * 2048)
    const took: number[][] = []
    vi.spyOn(on.submits, 'took').mockImplementation((...args) => void took.push(args))
    let now = 0
    vi.spyOn(performance, 'now').mockImplementation(() => 100 * ++now)
    const [w, x, out] = [matrix(64, 32), rows('x', 1, 32), rows('out', 1, 64)]
    const did = await passed(batch(span(1)), (pass) => {
      for (let i = 0; i < 8; i++) pass.run(matmul, w, x, out)
    })
    const at: number[] = []
    let products = 0
    for (const one of did) {
      if (one === 'submit') at.push(products)
      else if ('run' in one) products++
    }
    expect(at).toEqual([3, 6, 8])
    // Each with what is known of the batch, and the time from the first of them.
    expect(metaOf(did)).toHaveLength(3)
    expect(took).toEqual([[8 * 2048, 100]])
    await passed(batch(span(1)), () => {})
    expect(took).toHaveLength(2)
  })
})

describe('attention', () => {
  const [heads, headSize] = [4, 16]
  type CaseOptions = Partial<Omit<AttendOptions, 'sinks'>> & { readonly sinks?: boolean }
  interface Case {
    readonly spans?: Batch['spans']
    readonly steady?: boolean
    readonly sliding?: boolean
    readonly place?: Partial<Omit<RopeOptions, 'headNorm'>> & { readonly norm?: number }
    /** Nothing is turned. */
    readonly bare?: boolean
    /** Attention is over another layer, cache or row. */
    readonly other?: 'layer' | 'cache' | 'qkv'
    readonly options?: CaseOptions
    /** What comes between. */
    readonly between?: boolean
  }

  async function recorded(cases: readonly Case[], traits: Partial<GpuTraits> = {}) {
    const { on, rows, vector, matrix, passed, groups } = fake(traits)
    const most = 40
    const shape = { layers: 2, pages: 8, heads: 2, headSize, type: 'f32' } as const
    const caches = [false, true].map((sliding) => on.cache({ ...shape, ...(sliding && { sliding }) }))
    const another = on.cache(shape)
    const [qkv, qkv2] = [rows('qkv', most, 8 * headSize), rows('qkv2', most, 8 * headSize)]
    const out = rows('out', most, heads * headSize)
    const [angles, query, key] = [vector('angles', 128 * headSize), vector('query', 16), vector('key', 16)]
    const sinks = vector('sinks', heads)
    const [w, x, y] = [matrix(8, 8), rows('x', most, 8), rows('y', most, 8)]
    const recordings = []
    for (const one of cases) {
      const { spans = [span(1), span(1, 3, 1)], steady, sliding, place = {}, bare, other, options = {}, between } = one
      const cache = caches[sliding ? 1 : 0]!
      const { norm, ...how } = place
      const headNorm = norm ? { headNorm: { query, key, epsilon: norm } } : {}
      const slid = spans.map((each) => (sliding ? { ...each, windowPages: each.pages } : each))
      const before = groups()
      const did = await passed({ spans: slid, ...(steady && { steady }) }, (pass) => {
        if (!bare) pass.run(rope, qkv, cache, 1, { heads, angles, ...how, ...headNorm })
        if (between) pass.run(matmul, w, x, y)
        const over = other === 'cache' ? another : cache
        const { sinks: sunk, ...rest } = options
        const all = { heads, scale: 0.25, ...rest, ...(sunk && { sinks }) }
        pass.run(attend, other === 'qkv' ? qkv2 : qkv, over, other === 'layer' ? 0 : 1, out, all)
      })
      recordings.push({ names: names(did), runs: runs(did), bound: groups() - before, meta: metaOf(did)[0]! })
    }
    on.destroy()
    return recordings
  }
  const namesOf = async (one: Case, traits?: Partial<GpuTraits>) => (await recorded([one], traits))[0]!.names

  it('turns queries and keys by the way, where each sequence has one row of its own', async () => {
    expect(await namesOf({})).toEqual(['attend and rope'])
    for (const other of ['layer', 'cache', 'qkv'] as const)
      expect(await namesOf({ other })).toEqual(['rope', 'attend pieces'])
    expect(await namesOf({ bare: true })).toEqual(['attend pieces'])
    expect(await namesOf({ between: true })).toEqual(['rope', 'matvec', 'attend pieces'])
    expect(await namesOf({ spans: [span(2)] })).toEqual(['rope', 'attend pieces'])
    expect(await namesOf({}, { serial: true })).toEqual(['rope', 'attend serial'])
    const many = ['rope', expect.stringMatching(/^attend (blocks|tiled)$/)]
    expect(await namesOf({ spans: [span(40)] })).toEqual(many)
    expect(await namesOf({ steady: true })).toEqual(many)
    expect(await namesOf({ spans: Array.from({ length: 17 }, () => span(1)) })).toEqual(many)
  })

  const variants: Case[] = [
    ...[{}, { sliding: true }, { bare: true }, { between: true }, { other: 'qkv' as const }],
    ...[{ growth: { by: 0.1, every: 8 } }, { norm: 1e-5 }, { norm: 1e-6 }].map((place) => ({ place })),
    ...[{ window: 9 }, { cap: 5 }, { causal: false }, { sinks: true }, { scale: 0.5 }].map((options) => ({ options })),
    { spans: [span(1), span(1, 70, 1)] },
    { spans: [span(2)] },
  ]

  it.each(variants)(
    '%j is recorded as if nothing had been before, and repeated without being bound anew',
    async (one) => {
      for (const traits of [{}, { serial: true }]) {
        const [alone] = await recorded([one], traits)
        const all = await recorded([...variants, one, one], traits)
        expect(all.at(-2)!.runs).toEqual(alone!.runs)
        expect(all.at(-1)).toEqual({ ...alone!, bound: 0 })
      }
    },
  )

  it('differs wherever something else is asked', async () => {
    for (const traits of [{}, { serial: true }]) {
      const recordings = await recorded(variants, traits)
      expect(new Set(recordings.map(({ runs, meta }) => JSON.stringify([runs, meta]))).size).toBe(variants.length)
      const plain = await recorded([{}, { options: { causal: true } }], traits)
      expect(plain[1]!.runs).toEqual(plain[0]!.runs)
    }
  })

  it('reads what rope has been given', async () => {
    const [normed] = await recorded([{ place: { norm: 1e-5 }, other: 'layer' }])
    expect(normed!.runs.map(({ on }) => on)).toEqual([
      ['batch', 'vector #angles', 'activations #qkv', 'cache 1', 'vector #query', 'vector #key'],
      ['batch', 'activations #qkv', 'cache 0', 'activations #out'],
    ])
    const [sunk, unsunk] = await recorded([{ bare: true, options: { sinks: true } }, { bare: true }])
    expect(sunk!.runs[0]!.on.at(-1)).toBe('vector #sinks')
    expect(sunk!.runs[0]!.source).not.toBe(unsunk!.runs[0]!.source)
    const [slid, still] = await recorded([{ sliding: true, other: 'layer' }, { other: 'layer' }])
    for (const i of [0, 1]) expect(slid!.runs[i]!.source).not.toBe(still!.runs[i]!.source)
    const [queries] = await recorded([{ place: { queriesOnly: true }, other: 'layer' }], { serial: true })
    const [all] = await recorded([{ other: 'layer' }], { serial: true })
    expect(queries!.runs[0]!.source).not.toBe(all!.runs[0]!.source)
  })

  it('is cut into as many pieces as the longest context has', async () => {
    const { positions } = CUTS.pieces
    const spans = [positions - 1, positions].map((position) => [span(1), span(1, position, 1)])
    const recordings = await recorded(spans.map((spans) => ({ spans })))
    expect(recordings.map(({ runs }) => runs[0]!.groups[2])).toEqual([1, 2])
  })

  it('of rows that nobody else reads is of these alone, or of their tiles', async () => {
    const options = { rows: Int32Array.of(5, 39) }
    const spans = [span(40)]
    const [[gathered], [all]] = [
      await recorded([{ spans, options }], { serial: true }),
      await recorded([{ spans }], { serial: true }),
    ] as const
    expect(gathered!.meta.slice(8 + 3 * 40, 8 + 3 * 40 + 2)).toEqual([5, 39])
    expect([gathered!.meta[1], all!.meta[1]]).toEqual([2, 0])
    expect(gathered!.runs[1]!.source).not.toBe(all!.runs[1]!.source)
    expect([gathered!.runs[1]!.groups[0], all!.runs[1]!.groups[0]]).toEqual([1, (40 * heads) / 64 + 0.5])
    const [elsewhere] = await recorded([{ spans, options }])
    // Tiles of these rows come first, and are all that there are.
    expect(elsewhere!.meta[1]).toBe(0)
    const tiles = [elsewhere!, (await recorded([{ spans }]))[0]!].map(({ runs }) => runs[1]!.groups[0]!)
    expect(tiles[0]).toBeLessThan(tiles[1]!)
  })

  it('and rope have to fit', async () => {
    const { on, rows, vector } = fake()
    const cache = on.cache({ layers: 1, pages: 2, heads: 2, headSize, type: 'f32' })
    const pass = on.begin(batch(span(2)))
    const [qkv, out] = [rows('qkv', 2, 8 * headSize), rows('out', 2, 8)]
    expect(() => pass.run(rope, qkv, cache, 0, { heads, angles: vector('short', 4) })).toThrow('Angles')
    expect(() => pass.run(attend, qkv, cache, 0, out, { heads, scale: 1 })).toThrow('Columns of attention')
  })

  it('is not waited for by the rope that came last, or by who reads it', async () => {
    const { on, rows, vector, did } = fake()
    const cache = on.cache({ layers: 2, pages: 2, heads: 2, headSize, type: 'f32' })
    const [qkv, angles] = [rows('qkv', 1, 8 * headSize), vector('angles', 512)]
    const pass = on.begin(batch(span(1)))
    for (const layer of [0, 1]) pass.run(rope, qkv, cache, layer, { heads, angles })
    const read = pass.read(qkv, 1)
    pass.run(rope, qkv, cache, 0, { heads, angles })
    await pass.submit()
    await read
    const order = did.flatMap((one) => {
      if (one === 'submit' || 'write' in one) return []
      return 'run' in one ? [one.on[3]] : ['read']
    })
    expect(order).toEqual(['cache 0', 'cache 1', 'read', 'cache 0'])
  })
})

describe('sampling', () => {
  const shape = { vocabulary: 32, tokens: 30, rows: 3, slots: 3 }
  const row = { slot: 1, temperature: 0, topP: 1, seed: 7, index: 3 }

  it('is told what to draw before it is handed over, and reads no more than was asked', async () => {
    const { on, rows, did, buffers } = fake()
    const sampler = on.sampler(shape) as GpuSampler
    const logits = rows('logits', 3, 32)
    for (const [sampleRows, among] of [
      [[row, { ...row, slot: 2 }], false],
      [[{ ...row, among: [3] }, row], true],
      [[row, row], false],
    ] as const) {
      did.length = 0
      const had = buffers.length
      const pass = on.begin({ ...batch(span(2)), sampler })
      pass.run(sample, sampler, logits, sampleRows)
      expect(() => pass.run(sample, sampler, logits, sampleRows)).toThrow('A pass samples once.')
      const submitted = pass.submit()
      const bytes = 4 * resultWords(shape.rows, among)
      expect(did.slice(-2)).toEqual([{ copy: ['results', 0, 'staging', 0, bytes] }, 'submit'])
      expect(did[0]).toMatchObject({ write: 'sampler job' })
      // One that was given back is taken again.
      const staging = buffers.findLast(({ name, size }) => name === 'staging' && size >= bytes && size < bytes + 16)!
      expect(buffers.slice(had).includes(staging)).toBe(sampleRows[1] !== sampleRows[0])
      new Uint32Array(staging.content).set([21], 0)
      new Uint32Array(staging.content).set([22], RESULT_WORDS)
      expect((await submitted).map(({ token }) => token)).toEqual([21, 22])
    }
  })

  it('has to fit', () => {
    const { on, rows } = fake()
    const sampler = on.sampler(shape)
    const pass = on.begin({ ...batch(span(2)), sampler })
    expect(() => pass.run(sample, sampler, rows('narrow', 3, 16), [row])).toThrow('Logits of a row')
  })
})

it('what is asked for again with the same facts is found out once, even where a buffer had to grow for it', async () => {
  const { rows, passed } = fake()
  const [x, small] = [rows('x', 1, 8), rows('small', 1, 8)]
  const kernel = (name: string) => ({ name, source: name, bindings: 'r' })
  const owner = {}
  let found = 0
  const passWith = async (fact: string) => {
    const did = await passed(batch(span(1)), (pass) => {
      const own = pass as GpuPass
      own.repeat(owner, [fact], () => {
        if (found++ === 0) small.destroy()
        own.dispatch(kernel(fact), [x.buffer], 1)
      })
      own.dispatch(kernel('after'), [x.buffer], 1)
    })
    return [...names(did), found]
  }
  expect(await passWith('one')).toEqual(['one', 'after', 1])
  expect(await passWith('one')).toEqual(['one', 'after', 1])
  expect(await passWith('other')).toEqual(['other', 'after', 2])
  expect(await passWith('one')).toEqual(['one', 'after', 2])
})

describe('what layers come to', () => {
  const kernel = (name: string) => ({ name, source: name, bindings: 'r' })
  interface StepOptions {
    readonly facts?: readonly unknown[]
    readonly work?: number
    readonly gathers?: boolean
    /** Rows that are gathered, and that attention is asked for. */
    readonly named?: Int32Array
    readonly read?: Int32Array
  }

  /** What a pass over `spans` dispatches and says of its batch, and whether it had to find that out. */
  function setUp(submitWork?: number) {
    const { on, rows, passed } = fake({}, submitWork)
    const x = rows('x', 32, 8)
    const owner = {}
    const step = async (spans: Batch['spans'], options: StepOptions = {}) => {
      const { facts = [], work = 1, gathers = true, named, read } = options
      let found = false
      const did = await passed(batch(...spans), (pass) => {
        const own = pass as GpuPass
        pass.repeated(owner, facts, () => {
          found = true
          own.weigh(work)
          if (gathers) own.gather(named)
          own.tiles(1, own.spans, false, read)
          own.repeat(x, [own.spans], () => own.dispatch(kernel('inner'), [x.buffer], own.spans))
          own.postpone({ facts: [], record: (late) => late.dispatch(kernel('late'), [x.buffer], own.rows) })
        })
        own.dispatch(kernel('after'), [x.buffer], 1)
      })
      const submits = did.filter((one) => one === 'submit').length
      return { found, recording: { runs: runs(did), words: metaOf(did), submits } }
    }
    return { step, submits: on.submits }
  }

  it('is found out once, and is the same again', async () => {
    const { step } = setUp()
    const spans = [span(1, 3), span(1, 9, 1)]
    const first = await step(spans)
    expect(first.found).toBe(true)
    expect(first.recording.runs.map(({ run, groups }) => [run, groups[0]])).toEqual([
      ['inner', 2],
      ['late', 2],
      ['after', 1],
    ])
    expect(await step(spans)).toEqual({ found: false, recording: first.recording })
    // Elsewhere in its texts it says so of its batch.
    const later = await step([span(1, 4), span(1, 9, 1)])
    expect([later.found, later.recording.runs]).toEqual([false, first.recording.runs])
    expect(later.recording.words).not.toEqual(first.recording.words)
  })

  it('is found out anew where anything is other that decides it', async () => {
    const { step } = setUp()
    const one = [span(1, 3), span(2, 9, 1)]
    await step(one)
    const cut = CUTS.pieces.positions
    for (const [spans, facts] of [
      [one, ['other']],
      [[span(1, 3), span(1, 9, 1), span(1, 9, 2)], []],
      [[span(3, 9, 1)], []],
      [[span(1, 3), span(2, cut, 1)], []],
    ] as const) {
      expect((await step(spans, { facts })).found).toBe(true)
      expect((await step(spans, { facts })).found).toBe(false)
    }
    expect((await step(one)).found).toBe(false)
  })

  it('gathers the first rows again where they were gathered', async () => {
    const { step } = setUp()
    const [some, none] = [await step([span(2)]), await step([span(2)], { facts: ['other'], gathers: false })]
    expect(none.recording.words).not.toEqual(some.recording.words)
    expect(await step([span(2)])).toEqual({ ...some, found: false })
    expect(await step([span(2)], { facts: ['other'], gathers: false })).toEqual({ ...none, found: false })
  })

  it('is found out each time where rows are many, are named, or go to the GPU in pieces', async () => {
    const { step, submits } = setUp(100)
    const row = Int32Array.of(1)
    for (let i = 0; i < 2; i++) {
      expect((await step([span(20)])).found).toBe(true)
      for (const options of [{ named: row }, { read: row }, { work: 101 }])
        expect((await step([span(2)], options)).found).toBe(true)
    }
    expect((await step([span(2)], { work: 100 })).found).toBe(true)
    expect((await step([span(2)], { work: 100 })).found).toBe(false)
    // The GPU has turned out to be slower.
    vi.spyOn(submits, 'most', 'get').mockReturnValue(99)
    expect((await step([span(2)], { work: 100 })).found).toBe(true)
  })

  it('takes nobody’s place in what is kept where it is found out each time', async () => {
    const { step } = setUp(100)
    await step([span(2)])
    for (let i = 0; i < 50; i++) await step([span(2)], { facts: [i], work: 101 })
    expect((await step([span(2)])).found).toBe(false)
  })
})

it('what a pass will need is compiled without anything being run', async () => {
  const { on, rows, matrix, did } = fake()
  const compiled: string[] = []
  Object.assign(on.gpu.device, {
    createComputePipelineAsync: async ({ label, compute }: GPUComputePipelineDescriptor) => {
      compiled.push(label!)
      return { label, source: compute.module }
    },
  })
  const [w, x, out] = [matrix(64, 32), rows('x', 2, 32), rows('out', 2, 64)]
  await on.prepare((begin) => {
    const pass = begin(batch(span(2)))
    pass.write(x, new Float32Array(64))
    for (let i = 0; i < 3; i++) pass.run(matmul, w, x, out)
    void pass.submit()
  })
  expect([compiled.length, did]).toEqual([1, []])
})
