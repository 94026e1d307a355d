/**
 * Times ways of cutting kernels beside each other: each variant of `Cuts` by timestamps around many dispatches of the
 * operation as the device records it, its answer compared with that of the first.
 */

import { weightsOf } from '../../src/bench/weights.js'
import type { Batch, CacheType, Matrix, MatrixBand, Span } from '../../src/device/contract.js'
import { PAGE, rowBytes } from '../../src/device/contract.js'
import type { GpuDevice } from '../../src/device/gpu/gpu-device.js'
import { openWebGpuDevice } from '../../src/device/gpu/index.js'
import type { Cuts } from '../../src/device/gpu/kernels/cuts.js'
import { CUTS } from '../../src/device/gpu/kernels/cuts.js'
import type { Kernel } from '../../src/device/gpu/kernels/kernel.js'
import { GpuPass } from '../../src/device/gpu/pass.js'
import type { Dispatch } from '../../src/device/gpu/tapes.js'
import type { GpuActivations, GpuCache } from '../../src/device/gpu/tensors.js'
import { attend } from '../../src/device/operations/attend/index.js'
import { matmul } from '../../src/device/operations/matmul/index.js'
import { rope } from '../../src/device/operations/rope/index.js'
import { angleTable } from '../../src/models/angles.js'
import { loadCore } from '../../src/models/load.js'
import { BLOCK_TYPES } from '../../src/platform/block-types.js'
import { SAMPLE } from '../profile/measure.js'
import { tell } from './message.js'
import type { Subject, TunedRow } from './tuned.js'

class Recorded extends GpuPass {
  readonly calls: Dispatch[] = []

  protected override encode(dispatch: Dispatch): void {
    this.calls.push(dispatch)
  }

  /** What is known of the batch goes to the GPU. */
  finish(): void {
    super.handOver()
  }
}

type Named = readonly [name: string, cuts: Partial<Cuts>]

interface Trial {
  readonly shape: string
  readonly bytes: number
  readonly multiplications: number
  readonly variants: readonly Named[]
  readonly batch: Batch
  readonly out: GPUBuffer
  readonly outBytes: number
  /** Recorded once for each of these, in turn: so much that no cache holds it. */
  readonly copies: number
  record(pass: GpuPass, copy: number): void
}

/** Seconds of all dispatches of a measurement, at least. */
const LONG = 0.003
const MOST = 400
/** Bytes of an answer that are compared. */
const COMPARED = 1 << 22

export async function tune(subject: Subject, gpu: GPU, software: boolean, until: number): Promise<void> {
  let raw: GPUDevice | undefined
  if (subject === 'whole prompts') return prompts(gpu, software, until)
  const device = (await openWebGpuDevice({
    gpu,
    serial: false,
    // So that it is found out whether the GPU can.
    cuts: { vectors: { ...CUTS.vectors, packed: true } },
    profiler: (made) => {
      raw = made
      return { dispatch: () => undefined, finish: () => {} }
    },
  })) as GpuDevice
  const tuner = new Tuner(device, raw!)
  const late = () => performance.now() > until
  for (const make of trialsOf(subject, software)) {
    if (late()) return
    let made: Made | undefined
    try {
      made = make(device, raw!)
      await tuner.run(made.trial, late, (row) => tell({ kind: 'tuned', subject, row }))
    } catch (error) {
      console.log(`${subject}: ${error}`)
    } finally {
      made?.close()
    }
  }
}

class Tuner {
  readonly #device: GpuDevice
  readonly #raw: GPUDevice
  readonly #queries: GPUQuerySet
  readonly #resolved: GPUBuffer
  readonly #traits: GpuDevice['gpu']['traits']

  constructor(device: GpuDevice, raw: GPUDevice) {
    this.#device = device
    this.#raw = raw
    this.#traits = device.gpu.traits
    this.#queries = raw.createQuerySet({ type: 'timestamp', count: 2 })
    this.#resolved = raw.createBuffer({ size: 16, usage: 0x200 | 0x4 })
  }

  async run(trial: Trial, late: () => boolean, take: (row: TunedRow) => void): Promise<void> {
    const kernels = new Map<string, Kernel>()
    for (const [, cuts] of trial.variants) {
      // One that cannot even be recorded says so when its turn comes.
      try {
        for (const { kernel } of this.#record(trial, cuts, 1)[0]!.calls) kernels.set(kernel.source, kernel)
      } catch {}
    }
    const { gpu } = this.#device
    await Promise.all(
      [...kernels.values()].map((kernel) =>
        gpu.compileAll([kernel]).catch((error) => console.log(`${kernel.name}: ${error}`)),
      ),
    )
    let first: Float32Array | undefined
    for (const [variant, cuts] of trial.variants) {
      if (late()) return
      const { shape, bytes, multiplications } = trial
      const row = { shape, variant, bytes, multiplications }
      try {
        const passes = this.#record(trial, cuts, trial.copies)
        passes.at(-1)!.finish()
        const calls = passes.map((pass) => pass.calls)
        this.#raw.pushErrorScope('validation')
        const got = await this.#answer(calls[0]!, trial)
        const wrong = await this.#raw.popErrorScope()
        if (wrong) throw new Error(wrong.message)
        first ??= got
        const microseconds = (await this.#time(calls)) * 1e6
        take({ ...row, microseconds, error: difference(got, first) })
      } catch (error) {
        take({ ...row, fault: String(error).replaceAll('\n', ' ').slice(0, 200) })
      }
    }
  }

  #record(trial: Trial, cuts: Partial<Cuts>, copies: number): Recorded[] {
    Object.assign(this.#device.gpu, { traits: { ...this.#traits, cuts } })
    return Array.from({ length: copies }, (_, copy) => {
      const pass = new Recorded(this.#device, trial.batch)
      trial.record(pass, copy)
      return pass
    })
  }

  async #answer(calls: readonly Dispatch[], { out, ...trial }: Trial): Promise<Float32Array> {
    const outBytes = Math.min(trial.outBytes, COMPARED)
    const staging = this.#raw.createBuffer({ size: outBytes, usage: 0x1 | 0x8 })
    const encoder = this.#raw.createCommandEncoder()
    encoder.clearBuffer(out)
    const pass = encoder.beginComputePass()
    this.#encode(pass, calls)
    pass.end()
    encoder.copyBufferToBuffer(out, 0, staging, 0, outBytes)
    this.#raw.queue.submit([encoder.finish()])
    await staging.mapAsync(1)
    const values = new Float32Array(staging.getMappedRange().slice(0))
    staging.destroy()
    return values
  }

  #encode(pass: GPUComputePassEncoder, calls: readonly Dispatch[]): void {
    for (const call of calls) {
      this.#device.gpu.bind(pass, call)
      pass.dispatchWorkgroups(call.x, call.y, call.z)
    }
  }

  /** Seconds of one round of one copy. */
  async #time(copies: readonly (readonly Dispatch[])[]): Promise<number> {
    const once = (await this.#timed(copies, copies.length)) / copies.length
    const rounds = Math.max(copies.length, Math.min(MOST, Math.ceil(LONG / Math.max(once, 1e-7))))
    const times = [once]
    for (let i = 0; i < 2; i++) times.push((await this.#timed(copies, rounds)) / rounds)
    return Math.min(...times)
  }

  async #timed(copies: readonly (readonly Dispatch[])[], rounds: number): Promise<number> {
    const encoder = this.#raw.createCommandEncoder()
    const timestampWrites = { querySet: this.#queries, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 }
    const pass = encoder.beginComputePass({ timestampWrites })
    for (let i = 0; i < rounds; i++) this.#encode(pass, copies[i % copies.length]!)
    pass.end()
    const staging = this.#raw.createBuffer({ size: 16, usage: 0x1 | 0x8 })
    encoder.resolveQuerySet(this.#queries, 0, 2, this.#resolved, 0)
    encoder.copyBufferToBuffer(this.#resolved, 0, staging, 0, 16)
    this.#raw.queue.submit([encoder.finish()])
    await staging.mapAsync(1)
    const [begin, end] = new BigUint64Array(staging.getMappedRange())
    const seconds = Number(end! - begin!) / 1e9
    staging.destroy()
    return Math.max(seconds, 0)
  }
}

function difference(got: Float32Array, expected: Float32Array): number {
  let [gap, most] = [0, 0]
  for (let i = 0; i < got.length; i++) {
    const off = Math.abs(got[i]! - expected[i]!)
    // NaN too.
    if (!(off <= gap)) gap = off
    most = Math.max(most, Math.abs(expected[i]!))
  }
  return gap / Math.max(most, 1e-30)
}

/** By the clock: prompts in chunks of several sizes, and steps after them, without and with what is tried. */
async function prompts(gpu: GPU, software: boolean, until: number): Promise<void> {
  const models = software ? ['nano-like'] : ['SmolLM2-135M-like', 'Llama-3.2-1B-like']
  const length = software ? 64 : 4096
  for (const model of models) {
    const weights = await weightsOf(`made-up/${model}`)
    for (const [on, chunk] of [
      [true, 1024],
      [true, 256],
      [true, 2048],
      [false, 1024],
      [true, 512],
    ] as const) {
      if (performance.now() > until) return
      const name = `chunks of ${chunk}${on ? '' : ', attention as before'}`
      try {
        const cuts = { blocks: { ...CUTS.blocks, on } }
        const device = await openWebGpuDevice({ gpu, serial: false, cuts })
        const options = { contextLength: length + 128, cacheTokens: 2 * length + 256, maxBatch: 1, maxChunk: chunk }
        const core = await loadCore(device, weights, options)
        for (let i = 0; i < 3; i++) {
          const sequence = core.open()
          const start = performance.now()
          for (let at = 0; at < length; at += chunk) {
            const tokens = Array.from({ length: Math.min(chunk, length - at) }, (_, k) => (at + k) % 1000)
            await core.step([{ sequence, tokens, ...(at + chunk >= length && { sample: SAMPLE }) }])
          }
          const read = performance.now()
          const steps = 48
          for await (const _ of core.run([{ sequence, tokens: [7], sample: SAMPLE }], steps));
          const written = performance.now()
          sequence.close()
          if (i === 0) continue
          const row = { variant: `${name}, round ${i}`, bytes: 0, multiplications: 0 }
          const subject = 'whole prompts'
          tell({
            kind: 'tuned',
            subject,
            row: { ...row, shape: `${model}, ${length} tokens`, microseconds: (read - start) * 1000 },
          })
          tell({
            kind: 'tuned',
            subject,
            row: { ...row, shape: `${model}, a step after it`, microseconds: ((written - read) * 1000) / steps },
          })
        }
        await core.close()
        device.destroy()
      } catch (error) {
        console.log(`${model}, ${name}: ${error}`)
      }
    }
  }
}

interface Made {
  readonly trial: Trial
  close(): void
}
type Make = (device: GpuDevice, raw: GPUDevice) => Made

interface Heads {
  readonly name: string
  readonly heads: number
  readonly keyHeads: number
  readonly headSize: number
}
const HEADS: readonly Heads[] = [
  { name: '1B', heads: 32, keyHeads: 8, headSize: 64 },
  { name: '135M', heads: 9, keyHeads: 3, headSize: 64 },
  { name: '7B', heads: 28, keyHeads: 4, headSize: 128 },
  { name: '0.5B', heads: 14, keyHeads: 2, headSize: 64 },
]

function trialsOf(subject: Exclude<Subject, 'whole prompts'>, software: boolean): Make[] {
  const heads = software ? HEADS.slice(1, 2) : HEADS
  if (subject === 'decode attention') {
    const behind = software ? [100] : [4096, 512]
    return heads.flatMap((one) => behind.flatMap((at) => [1, 8].map((rows) => decoding(one, at, rows))))
  }
  if (subject === 'prompt attention') {
    const chunks = software ? [40] : [256, 1024]
    return chunks.flatMap((rows) => heads.map((one) => prompting(one, software ? 30 : 4096 - rows, rows)))
  }
  const matrices = software ? MATRICES.slice(-1) : MATRICES
  const counts = software
    ? [{ 'few rows': 2, 'many rows': 20 }[subject]]
    : { 'few rows': [1, 8], 'many rows': [256, 1024] }[subject]
  return counts.flatMap((count) => matrices.map((matrix) => product(matrix, count, subject === 'few rows')))
}

function pieces(): Named[] {
  const all: Named[] = [['present', {}]]
  for (const [positions, lanes] of [
    [32, 64],
    [32, 128],
    [64, 64],
    [64, 128],
    [64, 256],
    [128, 128],
    [128, 256],
    [16, 32],
  ] as const) {
    all.push([`${positions} positions, ${lanes} lanes`, { pieces: { positions, lanes, early: true } }])
  }
  all.push(['64 positions, 64 lanes, values late', { pieces: { positions: 64, lanes: 64, early: false } }])
  all.push(['128 positions, 64 lanes, values late', { pieces: { positions: 128, lanes: 64, early: false } }])
  return all
}

function blocks(): Named[] {
  const all: Named[] = [['before', { blocks: { ...CUTS.blocks, on: false } }]]
  const tried = [
    [64, 64, 256],
    [64, 64, 128],
    [32, 64, 128],
    [32, 64, 64],
    [64, 32, 128],
    [64, 32, 64],
    [32, 32, 64],
  ] as const
  for (const [queries, keys, lanes] of tried) {
    all.push([`${queries} by ${keys}, ${lanes} lanes`, { blocks: { queries, keys, lanes, on: true } }])
  }
  return all
}

function vectors(count: number): Named[] {
  const all: Named[] = [['present', {}]]
  for (const [lanes, held] of [
    [64, 4],
    [32, 4],
    [32, 2],
  ] as const) {
    const cut = { held, threads: 64 } as const
    const packed = { words: true, packed: true, lanes, one: cut, several: cut } as const
    all.push([`activations in 8 bits, ${lanes} lanes, ${held} rows`, { vectors: packed }])
  }
  const tried =
    count === 1
      ? ([
          [32, 4, 64],
          [32, 8, 64],
          [32, 2, 64],
          [32, 4, 128],
          [32, 4, 256],
          [32, 8, 256],
          [64, 4, 64],
          [64, 4, 256],
          [16, 4, 64],
          [16, 4, 256],
          [8, 4, 64],
        ] as const)
      : ([
          [32, 4, 64],
          [32, 8, 64],
          [32, 4, 128],
          [32, 8, 128],
          [64, 4, 64],
          [64, 8, 64],
          [16, 4, 64],
          [16, 8, 64],
        ] as const)
  for (const [lanes, held, threads] of tried) {
    const cut = { held, threads }
    all.push([
      `${lanes} lanes, ${held} rows, ${threads} threads`,
      { vectors: { words: true, lanes, one: cut, several: cut } },
    ])
  }
  return all
}

function tiles(): Named[] {
  const tried = [
    [64, 64, 256, 8],
    [64, 64, 64, 8],
    [64, 64, 128, 8],
    [128, 64, 256, 8],
    [128, 64, 128, 4],
    [128, 128, 256, 4],
    [64, 32, 128, 8],
    [64, 32, 64, 8],
    [32, 32, 64, 8],
    [128, 32, 128, 8],
  ] as const
  const all = tried.map(
    ([rows, tokens, threads, quads]): Named => [
      `${rows} by ${tokens}, ${threads} threads, ${4 * quads} columns`,
      { matmul: [{ rows, tokens, threads, quads, ahead: false }] },
    ],
  )
  for (const [rows, tokens, threads, quads] of [
    [64, 64, 64, 8],
    [128, 64, 256, 4],
    [128, 128, 256, 4],
  ] as const) {
    all.push([
      `${rows} by ${tokens}, ${threads} threads, ${4 * quads} columns, ahead`,
      { matmul: [{ rows, tokens, threads, quads, ahead: true }] },
    ])
  }
  // Where shaders have f16, all rows above are made by this.
  all.push(['in f16, one step after the other', { halves: { twice: false } }])
  // Only the last may go by matrices that subgroups multiply, where these can.
  const others = all.map(([name, cuts]): Named => [name, { ...cuts, matrices: false }])
  return [...others, ['by matrices of subgroups', {}]]
}

/** Rows of sequences of their own. */
const decoding = (heads: Heads, behind: number, rows: number): Make =>
  attention(
    heads,
    `${heads.name}, x${rows}, ${behind} behind`,
    Array.from({ length: rows }, () => [behind, 1] as const),
    pieces(),
  )

const prompting = (heads: Heads, behind: number, rows: number): Make =>
  attention(heads, `${heads.name}, ${rows} rows, ${behind} behind`, [[behind, rows]], blocks(), false)

function attention(
  { heads, keyHeads, headSize }: Heads,
  shape: string,
  texts: readonly (readonly [behind: number, rows: number])[],
  variants: readonly Named[],
  placed = true,
): Make {
  return (device, raw) => {
    const rows = texts.reduce((sum, [, count]) => sum + count, 0)
    const each = Math.max(...texts.map(([behind, count]) => Math.ceil((behind + count) / PAGE)))
    const width = (heads + 2 * keyHeads) * headSize
    const type: CacheType = 'f16'
    const cache = device.cache({ layers: 1, pages: each * texts.length, heads: keyHeads, headSize, type })
    const qkv = device.activations(rows, width)
    const out = device.activations(rows, heads * headSize)
    const angles = device.vector(angleTable(8192, { size: headSize, theta: 10000 }))
    const words = (cache as unknown as GpuCache).layers[0]!
    fill(raw, words, (word) => ((word & 0x83ff83ff) | 0x38003800) >>> 0)
    fill(raw, (qkv as GpuActivations).buffer, (word) => ((word & 0x807fffff) | 0x3f000000) >>> 0)
    const spans = texts.map(([position, count], i): Span => {
      const pages = Int32Array.from({ length: each }, (_, k) => i * each + ((k * 7919) % each))
      return { tokens: new Int32Array(count), position, pages }
    })
    const seen = texts.reduce((sum, [behind, count]) => sum + behind + count, 0)
    const pairs = texts.reduce((sum, [behind, count]) => sum + behind * count + (count * (count + 1)) / 2, 0)
    const resources = [cache, qkv, out, angles]
    return {
      trial: {
        ...{ shape, variants, batch: { spans }, copies: 1 },
        bytes: seen * 4 * keyHeads * headSize,
        multiplications: pairs * 2 * heads * headSize,
        out: (out as GpuActivations).buffer,
        outBytes: rows * heads * headSize * 4,
        record(pass) {
          if (placed) pass.run(rope, qkv, cache, 0, { heads, angles })
          pass.run(attend, qkv, cache, 0, out, { heads, scale: headSize ** -0.5 })
        },
      },
      close() {
        for (const one of resources) one.destroy()
      },
    }
  }
}

interface Form {
  readonly name: string
  readonly rows: number
  readonly columns: number
  readonly gated?: boolean
  readonly normed?: boolean
  readonly add?: boolean
  /** In GGUF's blocks. @default MLC's four bits */
  readonly blocks?: 'q4_k' | 'q6_k'
}
const MATRICES: readonly Form[] = [
  { name: '1B gate and up', rows: 16384, columns: 2048, gated: true, normed: true },
  { name: '1B down', rows: 2048, columns: 8192, add: true },
  { name: '1B qkv', rows: 3072, columns: 2048, normed: true },
  { name: '1B out', rows: 2048, columns: 2048, add: true },
  { name: '1B down in Q4_K', rows: 2048, columns: 8192, add: true, blocks: 'q4_k' },
  { name: '1B down in Q6_K', rows: 2048, columns: 8192, add: true, blocks: 'q6_k' },
  { name: '7B gate and up', rows: 37888, columns: 3584, gated: true, normed: true },
  { name: '7B down', rows: 3584, columns: 18944, add: true },
  { name: '135M gate and up', rows: 3072, columns: 576, gated: true, normed: true },
  { name: '135M down', rows: 576, columns: 1536, add: true },
  { name: '135M out', rows: 576, columns: 576, add: true },
  { name: '135M logits', rows: 49152, columns: 576, normed: true },
]
/** More than the caches of any GPU hold. */
const SPREAD = 120e6
let codes: Uint8Array<ArrayBuffer> | undefined
const someCodes = () => {
  codes ??= random(68e6)
  return codes
}

function bandOf({ rows, columns, blocks }: Form): MatrixBand {
  if (blocks) {
    const { bytes, halves } = BLOCK_TYPES[blocks]
    const data = someCodes().slice(0, rows * rowBytes(blocks, columns))
    // 2^-7: any bits would be no numbers in some.
    for (let at = 0; at < data.length; at += bytes) for (const half of halves) data.set([0, 0x20], at + half)
    return { format: blocks, rows, columns, data }
  }
  const scales = new Uint8Array(
    Uint16Array.from({ length: (rows * columns) / 32 }, (_, i) => 0x2400 + ((i * 37) & 0x3ff)).buffer,
  )
  const codes = someCodes().subarray(0, (rows * columns) / 2)
  return { format: 'q4', scaleType: 'f16', rows, columns, codes, scales }
}

/** Of these no other cut makes a difference. */
function ofBlocks(few: boolean): Named[] {
  const other: Named = few
    ? ['activations in 8 bits', { vectors: { ...CUTS.vectors, packed: true } }]
    : ['by matrices of subgroups', {}]
  return [['present', { matrices: false }], other]
}

function product(form: Form, count: number, few: boolean): Make {
  return (device, raw) => {
    const { name, rows, columns, gated = false, normed = false, add = false } = form
    const bytes = form.blocks ? rows * rowBytes(form.blocks, columns) : rows * (columns / 2 + columns / 16)
    const copies = few ? Math.min(24, Math.max(1, Math.ceil(SPREAD / bytes))) : 1
    const band = bandOf(form)
    const matrices = Array.from({ length: copies }, (): Matrix => device.matrix(band, gated ? { gated } : {}))
    const x = device.activations(count, columns)
    const out = device.activations(count, gated ? rows / 2 : rows)
    const weight = device.vector(new Float32Array(columns).fill(1.25))
    fill(raw, (x as GpuActivations).buffer, (word) => ((word & 0x807fffff) | 0x3f000000) >>> 0)
    const norm = normed ? { norm: { weight, epsilon: 1e-5 } } : {}
    const variants = form.blocks ? ofBlocks(few) : few ? vectors(count) : tiles()
    return {
      trial: {
        ...{ shape: `${name} by ${count}`, bytes, multiplications: rows * columns * count, variants, copies },
        batch: {
          spans: [{ tokens: new Int32Array(count), position: 0, pages: new Int32Array(Math.ceil(count / PAGE)) }],
        },
        out: (out as GpuActivations).buffer,
        outBytes: count * (gated ? rows / 2 : rows) * 4,
        record: (pass, copy) => pass.run(matmul, matrices[copy]!, x, out, { gated, add, ...norm }),
      },
      close() {
        for (const one of [...matrices, x, out, weight]) one.destroy()
      },
    }
  }
}

function random(bytes: number): Uint8Array<ArrayBuffer> {
  const words = new Uint32Array(bytes / 4)
  let state = 12345
  for (let i = 0; i < words.length; i++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    words[i] = state
  }
  return new Uint8Array(words.buffer)
}

function fill(raw: GPUDevice, buffer: GPUBuffer, form: (word: number) => number): void {
  const words = new Uint32Array(someCodes().buffer, 0, Math.min(buffer.size, 1 << 24) / 4).map(form)
  for (let at = 0; at < buffer.size; at += words.byteLength) {
    raw.queue.writeBuffer(buffer, at, words, 0, Math.min(words.length, (buffer.size - at) / 4))
  }
}
