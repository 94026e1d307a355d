/** A pass records a program, then runs it at once: the CPU has nothing to wait for. */
import type {
  Activations,
  AttentionShape,
  Batch,
  JoinOptions,
  KeyValueCache,
  Matrix,
  Pass,
  PlaceOptions,
  ProjectOptions,
  SampledRow,
  SampleRow,
  Sampler,
} from '../contract.js'
import { PAGE } from '../contract.js'
import { type PlacedBatch, placeBatch } from './batch.js'
import { expectFit, own } from './guards.js'
import type { CpuPassHost } from './pass-host.js'
import { Products } from './products.js'
import * as op from './program.js'
import { CpuSampler } from './sampler.js'
import { CpuActivations, CpuCache, CpuMatrix, CpuVector } from './tensors.js'

/**
 * Bytes between what two threads write. A processor fetches ahead, up to the end of a page, and would take from the other
 * what it is about to write: without the gap a product of eight rows runs 1.6 instead of 2.0 times as fast on two threads.
 */
const THREAD_GAP = 4096 + 128

interface Reading {
  readonly at: number
  readonly count: number
  readonly resolve: (values: Float32Array) => void
}

export class CpuPass implements Pass {
  readonly rows: number
  readonly #host: CpuPassHost
  readonly #program: op.PassProgram
  /** Allocations that live as long as the pass. */
  readonly #rooms: number[] = []
  readonly #shared = new Map<number, number>()
  readonly #readings: Reading[] = []
  readonly #batch: PlacedBatch
  #copies: (() => void)[] = []
  #sampling: { before: number; run: () => SampledRow[] } | undefined
  readonly #products: Products
  /** Where keys and values are written. */
  readonly #caches = new Set<CpuCache>()
  readonly #spans: Batch['spans']
  readonly #sights = new Map<string, { lasts: number; firsts: number }>()
  #open = true

  constructor(host: CpuPassHost, batch: Batch) {
    this.#spans = batch.spans
    this.#host = host
    this.#program = host.program
    this.#program.clear()
    this.rows = batch.spans.reduce((sum, span) => sum + span.tokens.length, 0)
    this.#products = new Products({
      activationBlockBytes: host.activationBlockBytes,
      add: (code, items, sharing) => this.#add(code, items, sharing),
      perThread: (bytes, rooms) => this.#perThread(bytes, rooms),
    })
    this.#batch = placeBatch(batch, this.rows, (values) => this.#put(values))
  }

  #room(bytes: number): number {
    const at = this.#host.memory.allocate(bytes)
    this.#rooms.push(at)
    return at
  }

  #put(values: Int32Array): number {
    const at = this.#room(values.byteLength)
    this.#host.memory.i32.set(values, at / 4)
    return at
  }

  #add(code: number, items: number, sharing?: op.Sharing): op.PassProgram {
    if (!this.#open) throw new Error('The pass was submitted.')
    this.#products.forget()
    this.#host.profiler?.recorded(code)
    return this.#program.add(code, items, sharing)
  }

  clearPages(cache: KeyValueCache, pages: readonly number[]): void {
    const target = own(cache, CpuCache)
    this.#copies.push(() => {
      for (const page of pages) target.clearPage(page)
    })
  }

  copyPages(cache: KeyValueCache, pairs: readonly { readonly from: number; readonly to: number }[]): void {
    const target = own(cache, CpuCache)
    this.#copies.push(() => {
      for (const { from, to } of pairs) target.copyPage(from, to)
    })
  }

  embed(table: Matrix, out: Activations, by: 'tokens' | 'places' = 'tokens'): void {
    const [matrix, target] = [own(table, CpuMatrix), own(out, CpuActivations)]
    expectFit('Columns to embed into', target.columns, matrix.columns)
    expectFit('Rows to embed into', target.rows, this.rows)
    const operation = this.#add(op.EMBED, this.rows, op.few(this.rows * matrix.columns))
      .word(matrix.kind)
      .word(matrix.use())
      .word(by === 'tokens' ? this.#batch.tokens : (this.#batch.places ?? this.#batch.positions))
    operation.word(target.use()).word(target.stride).word(matrix.columns)
  }

  project(matrix: Matrix, x: Activations, out: Activations, options: ProjectOptions = {}): void {
    const rows = options.rows ?? this.rows
    this.#products.record(own(matrix, CpuMatrix), own(x, CpuActivations), own(out, CpuActivations), rows, options)
  }

  join(x: Activations, out: Activations, options: JoinOptions): void {
    const [source, target] = [own(x, CpuActivations), own(out, CpuActivations)]
    const { rows = this.rows, norm, scale = 1, add = false, gate, cap = 0 } = options
    const { from = 0, columns = source.columns } = options
    expectFit('Columns to join', Math.min(source.columns, target.columns), from + columns)
    expectFit('Rows to join', Math.min(source.rows, target.rows), rows)
    const operation = this.#add(op.JOIN, rows, op.few(rows * columns))
    operation.word(source.use() + from * 4).word(source.stride)
    operation.word(norm ? own(norm.weight, CpuVector).use() : 0)
    operation.word(target.use() + from * 4).word(target.stride)
    operation
      .word(columns)
      .float(norm?.epsilon ?? 0)
      .float(scale)
    operation.word(add ? 1 : 0).float(cap)
    operation.word(norm?.centred ? 1 : 0).word(norm?.bias ? own(norm.bias, CpuVector).use() : 0)
    operation.word(gate ? op.gateNumber(gate) + 1 : 0)
  }

  place(qkv: Activations, cache: KeyValueCache, layer: number, options: PlaceOptions): void {
    const [x, kv] = [own(qkv, CpuActivations), own(cache, CpuCache)]
    this.#caches.add(kv)
    const { heads, headSize } = kv.shape
    expectFit('Columns of queries, keys and values', x.columns, (options.heads + 2 * heads) * headSize)
    const angles = own(options.angles, CpuVector)
    expectFit('Angles', angles.length, this.#batch.longest * headSize)
    const norm = options.headNorm
    const operation = this.#add(op.PLACE, this.rows * heads)
      .word(x.use())
      .word(x.stride)
    operation
      .word(options.heads)
      .word(heads)
      .word(headSize)
      .word(angles.use())
      .word(this.#batch.positions)
      .word(this.#batch.pages)
    operation.word(kv.keys(layer)).word(kv.values(layer)).word(kv.keyPageBytes).word(kv.valuePageBytes)
    operation.word(norm ? own(norm.query, CpuVector).use() : 0).word(norm ? own(norm.key, CpuVector).use() : 0)
    operation.float(norm?.epsilon ?? 0).word(kv.half ? 1 : 0)
  }

  attend(qkv: Activations, cache: KeyValueCache, layer: number, out: Activations, shape: AttentionShape): void {
    const [x, kv, target] = [own(qkv, CpuActivations), own(cache, CpuCache), own(out, CpuActivations)]
    const { heads, headSize } = kv.shape
    expectFit('Columns of attention', target.columns, shape.heads * headSize)
    // For each of two queries: itself, scaled, and its scores, in whole pages.
    const room = this.#perThread(2 * (headSize + (Math.ceil(this.#batch.longest / PAGE) + 1) * PAGE) * 4)
    const sharing = op.few(this.rows * shape.heads * this.#batch.longest * headSize)
    const operation = this.#add(op.ATTEND, this.#attendItems(shape.heads, heads), sharing).word(x.use()).word(x.stride)
    operation.word(target.use()).word(target.stride).word(shape.heads).word(heads).word(headSize)
    operation.word(kv.keys(layer)).word(kv.values(layer)).word(kv.keyPageBytes).word(kv.valuePageBytes)
    const { lasts, firsts } = this.#sight(shape)
    operation.word(lasts).word(this.#batch.lists)
    operation.word(firsts).float(shape.scale)
    operation.word(room.at).word(room.stride)
    operation.word((kv.half ? 1 : 0) | (this.#batch.several ? 2 : 0)).word(this.rows)
    operation.float(shape.cap ?? 0)
  }

  /** The last position that each row sees, and the first; 0: all see from the begin. */
  #sight({ window, causal = true }: AttentionShape): { lasts: number; firsts: number } {
    if (causal && window === undefined) return { lasts: this.#batch.positions, firsts: 0 }
    const key = `${causal} ${window}`
    const known = this.#sights.get(key)
    if (known) return known
    const reach = causal ? 1 : (window ?? Number.POSITIVE_INFINITY)
    const lasts = new Int32Array(this.rows)
    const firsts = new Int32Array(this.rows)
    let row = 0
    for (const { position, tokens } of this.#spans) {
      const end = position + tokens.length
      for (let at = position; at < end; at++, row++) {
        lasts[row] = Math.min(at + reach, end) - 1
        firsts[row] = window === undefined ? 0 : Math.max(0, at + 1 - window)
      }
    }
    const sight = { lasts: this.#put(lasts), firsts: window === undefined ? 0 : this.#put(firsts) }
    this.#sights.set(key, sight)
    return sight
  }

  /** Pairs of queries that read the same keys and values: `assembly/attend.ts` tells how they are counted. */
  #attendItems(heads: number, keyHeads: number): number {
    if (this.#batch.several) return Math.ceil(this.rows / 2) * heads
    return this.rows * keyHeads * Math.ceil(heads / keyHeads / 2)
  }

  /** Room of which each thread has its part, `stride` bytes apart; one for all operations that need as much for the same. */
  #perThread(bytes: number, rooms = this.#shared): { at: number; stride: number } {
    const stride = Math.ceil(bytes / 64) * 64 + THREAD_GAP
    let at = rooms.get(bytes)
    if (at === undefined) {
      at = this.#room(stride * this.#host.threads)
      rooms.set(bytes, at)
    }
    return { at, stride }
  }

  pick(x: Activations, rows: Int32Array, out: Activations): void {
    const [source, target] = [own(x, CpuActivations), own(out, CpuActivations)]
    expectFit('Rows to pick into', target.rows, rows.length)
    const bytes = Math.min(source.stride, target.stride)
    const operation = this.#add(op.COPY, rows.length, op.few((rows.length * bytes) / 4)).word(source.use())
    operation.word(source.stride).word(this.#put(rows)).word(target.use()).word(target.stride).word(bytes)
  }

  pool(x: Activations, out: Activations): void {
    const [source, target] = [own(x, CpuActivations), own(out, CpuActivations)]
    expectFit('Rows to pool into', target.rows, this.#spans.length)
    expectFit('Columns to pool', target.columns, source.columns)
    const firsts = [0]
    for (const { tokens } of this.#spans) firsts.push(firsts.at(-1)! + tokens.length)
    const operation = this.#add(op.POOL, this.#spans.length, op.few(this.rows * source.columns)).word(source.use())
    operation.word(source.stride).word(this.#put(Int32Array.from(firsts)))
    operation.word(target.use()).word(target.stride).word(source.columns)
  }

  sample(sampler: Sampler, logits: Activations, rows: readonly SampleRow[]): void {
    if (this.#sampling) throw new Error('A pass samples at most once.')
    const source = own(logits, CpuActivations)
    const target = own(sampler, CpuSampler)
    expectFit('Rows of logits', source.rows, rows.length)
    this.#products.forget()
    this.#sampling = {
      before: this.#program.count,
      run: () => rows.map((row, i) => target.sample(source.use() + i * source.stride, row)),
    }
  }

  read(x: Activations, rows: number): Promise<Float32Array> {
    const source = own(x, CpuActivations)
    const count = rows * source.columns
    const at = this.#room(count * 4)
    const operation = this.#add(op.COPY, rows).word(source.use()).word(source.stride).word(0)
    operation.word(at).word(source.stride).word(source.stride)
    return new Promise((resolve) => this.#readings.push({ at, count, resolve }))
  }

  async submit(): Promise<readonly SampledRow[]> {
    if (!this.#open) throw new Error('The pass was submitted.')
    const { memory, profiler } = this.#host
    let sampled: readonly SampledRow[] = []
    try {
      for (const cache of this.#caches) for (const span of this.#spans) cache.begin(span)
      for (const copy of this.#copies) copy()
      const { count } = this.#program
      const split = this.#sampling?.before ?? count
      const at = this.#room(this.#program.bytes)
      this.#program.write(memory.i32, at)
      this.#run(at, 0, split)
      const sampling = this.#sampling?.run
      if (sampling) sampled = profiler?.on ? profiler.run('sample', sampling) : sampling()
      this.#run(at, split, count)
      for (const { at, count, resolve } of this.#readings) resolve(memory.f32.slice(at / 4, at / 4 + count))
    } finally {
      this.close()
    }
    await this.#host.done()
    return sampled
  }

  /** Operations `from` to before `to` of the program at `at`. */
  #run(at: number, from: number, to: number): void {
    const { runner, profiler } = this.#host
    if (!profiler?.on) {
      if (to > from) runner.run(at + from * op.OPERATION_BYTES, to - from, this.rows)
      return
    }
    for (let i = from; i < to; i++) {
      profiler.run(i, () => runner.run(at + i * op.OPERATION_BYTES, 1, this.rows))
    }
  }

  /** Gives back what the pass holds; also of one that is never submitted. */
  close(): void {
    this.#open = false
    for (const at of this.#rooms) this.#host.memory.free(at)
    this.#rooms.length = 0
  }
}
