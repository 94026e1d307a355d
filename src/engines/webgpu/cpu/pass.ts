/** A pass records a program, then runs it at once: the CPU has nothing to wait for. */
import type {
  Activations,
  AttentionShape,
  Batch,
  ConvolveOptions,
  DeltaOptions,
  GateOptions,
  JoinOptions,
  KeyValueCache,
  Matrix,
  Pass,
  PlaceOptions,
  ProjectOptions,
  SampledRow,
  SampleRow,
  Sampler,
  States,
} from '../contract.js'
import { MAX_TAPS, PAGE } from '../contract.js'
import { type BatchShape, OPERATIONS, shapeOf, writeFits } from '../operations/index.js'
import { type Arguments, CHANNELS_OF_LINE, gateCode, type OperationName } from './abi.js'
import { type PlacedBatch, placeBatch } from './batch.js'
import { own } from './guards.js'
import type { CpuPassHost } from './pass-host.js'
import { Products } from './products.js'
import { few, OPERATION_BYTES, type PassProgram, type Sharing } from './program.js'
import { CpuSampler } from './sampler.js'
import { CpuActivations, CpuCache, CpuMatrix, CpuStates, CpuVector, roomOf } from './tensors.js'

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
  readonly #program: PassProgram
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
  readonly #shape: BatchShape
  readonly #sights = new Map<string, { lasts: number; firsts: number }>()
  #open = true

  constructor(host: CpuPassHost, batch: Batch) {
    this.#shape = shapeOf(batch)
    this.#host = host
    this.#program = host.program
    this.#program.clear()
    this.rows = this.#shape.rows
    this.#products = new Products({
      activationBlockBytes: host.activationBlockBytes,
      add: (name, items, args, sharing) => this.#add(name, items, args, sharing),
      amend: (name, args) => this.#program.amend(name, args),
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

  #add<N extends OperationName>(name: N, items: number, args: Arguments<N>, sharing?: Sharing): void {
    if (!this.#open) throw new Error('The pass was submitted.')
    this.#products.forget()
    this.#host.profiler?.recorded(name)
    this.#program.add(name, items, args, sharing)
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

  write(out: Activations, values: Float32Array): void {
    writeFits(out, values)
    const target = own(out, CpuActivations)
    const kept = values.slice()
    this.#copies.push(() => this.#host.memory.f32.set(kept, target.use() / 4))
  }

  embed(table: Matrix, out: Activations, by: 'tokens' | 'places' = 'tokens'): void {
    OPERATIONS.embed.fit(this.#shape, table, out, by)
    const [matrix, target] = [own(table, CpuMatrix), own(out, CpuActivations)]
    matrix.use()
    const { kind, at } = matrix.whole
    const bytes = roomOf(kind, matrix.columns, 1)
    const room = bytes > 0 ? this.#perThread(bytes) : { at: 0, stride: 0 }
    const args = {
      kind,
      matrix: at,
      room: room.at,
      roomGap: room.stride,
      ids: by === 'tokens' ? this.#batch.tokens : (this.#batch.places ?? this.#batch.positions),
      out: target.use(),
      outStride: target.stride,
      columns: matrix.columns,
    }
    this.#add('embed', this.rows, args, few(this.rows * matrix.columns))
  }

  project(matrix: Matrix, x: Activations, out: Activations, options: ProjectOptions = {}): void {
    OPERATIONS.project.fit(this.#shape, matrix, x, out, options)
    const rows = options.rows ?? this.rows
    this.#products.record(own(matrix, CpuMatrix), own(x, CpuActivations), own(out, CpuActivations), rows, options)
  }

  join(x: Activations, out: Activations, options: JoinOptions): void {
    OPERATIONS.join.fit(this.#shape, x, out, options)
    const [source, target] = [own(x, CpuActivations), own(out, CpuActivations)]
    const { rows = this.rows, norm, scale = 1, add = false, gate, cap = 0 } = options
    const { from = 0, columns = source.columns, every = columns, total } = options
    const args = {
      x: source.use() + from * 4,
      xStride: source.stride,
      columns: every,
      parts: columns / every,
      scale,
      add,
      cap,
      out: target.use() + from * 4,
      outStride: target.stride,
      weight: norm ? own(norm.weight, CpuVector).use() : 0,
      epsilon: norm?.epsilon ?? 0,
      centred: norm?.centred === true,
      bias: norm?.bias ? own(norm.bias, CpuVector).use() : 0,
      gate: gate ? gateCode(gate) : 0,
      total: total ? own(total, CpuVector).use() : 0,
    }
    this.#add('join', rows, args, few(rows * columns))
  }

  place(qkv: Activations, cache: KeyValueCache, layer: number, options: PlaceOptions): void {
    OPERATIONS.place.fit(this.#shape, qkv, cache, layer, options)
    const [x, kv] = [own(qkv, CpuActivations), own(cache, CpuCache)]
    if (!options.queriesOnly) this.#caches.add(kv)
    const { heads, headSize } = kv.shape
    const angles = own(options.angles, CpuVector)
    const norm = options.headNorm
    this.#add('place', this.rows * heads, {
      qkv: x.use(),
      stride: x.stride,
      heads: options.heads,
      keyHeads: heads,
      headSize,
      angles: angles.use(),
      positions: this.#batch.positions,
      pages: kv.shape.sliding ? this.#batch.windowPages : this.#batch.pages,
      keys: kv.keys(layer),
      values: kv.values(layer),
      keyPageBytes: kv.keyPageBytes,
      valuePageBytes: kv.valuePageBytes,
      half: kv.half,
      overflows: kv.overflows(),
      queryNorm: norm ? own(norm.query, CpuVector).use() : 0,
      keyNorm: norm ? own(norm.key, CpuVector).use() : 0,
      epsilon: norm?.epsilon ?? 0,
      growBy: options.growth?.by ?? 0,
      growEvery: options.growth?.every ?? 1,
      queriesOnly: options.queriesOnly === true,
    })
  }

  attend(qkv: Activations, cache: KeyValueCache, layer: number, out: Activations, shape: AttentionShape): void {
    OPERATIONS.attend.fit(this.#shape, qkv, cache, layer, out, shape)
    const [x, kv, target] = [own(qkv, CpuActivations), own(cache, CpuCache), own(out, CpuActivations)]
    const { heads, headSize } = kv.shape
    // For each of two queries: itself, scaled, and its scores, in whole pages.
    const room = this.#perThread(2 * (headSize + (Math.ceil(this.#batch.longest / PAGE) + 1) * PAGE) * 4)
    const sharing = few(this.rows * shape.heads * this.#batch.longest * headSize)
    const { lasts, firsts } = this.#sight(shape)
    const args = {
      qkv: x.use(),
      stride: x.stride,
      out: target.use(),
      outStride: target.stride,
      heads: shape.heads,
      keyHeads: heads,
      headSize,
      rows: this.rows,
      pairsTokens: this.#batch.several,
      keys: kv.keys(layer),
      values: kv.values(layer),
      keyPageBytes: kv.keyPageBytes,
      valuePageBytes: kv.valuePageBytes,
      half: kv.half,
      overflows: kv.overflows(),
      lasts,
      firsts,
      lists: kv.shape.sliding ? this.#batch.windowLists : this.#batch.lists,
      room: room.at,
      roomGap: room.stride,
      scale: shape.scale,
      cap: shape.cap ?? 0,
    }
    this.#add('attend', this.#attendItems(shape.heads, heads), args, sharing)
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
    for (const { position, tokens } of this.#shape.spans) {
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

  convolve(x: Activations, states: States, index: number, out: Activations, options: ConvolveOptions): void {
    OPERATIONS.convolve.fit(this.#shape, x, states, index, out, options)
    const [source, target, kept] = [own(x, CpuActivations), own(out, CpuActivations), own(states, CpuStates)]
    const taps = own(options.taps, CpuVector)
    const channels = taps.length / MAX_TAPS
    const gated = options.form === 'gated'
    const args = {
      x: source.use(),
      xStride: source.stride,
      out: target.use(),
      outStride: target.stride,
      taps: taps.use(),
      channels,
      gated,
      state: kept.state(index),
      slotBytes: kept.slotBytes,
      spans: this.#batch.spans,
    }
    this.#add(
      'convolve',
      this.#shape.spans.length * Math.ceil(channels / CHANNELS_OF_LINE),
      args,
      few(this.rows * channels),
    )
  }

  delta(x: Activations, states: States, index: number, out: Activations, options: DeltaOptions): void {
    OPERATIONS.delta.fit(this.#shape, x, states, index, out, options)
    const { keyHeads, valueHeads, keySize, valueSize, norm, gatesFrom, tiled = false } = options
    const [source, target, kept] = [own(x, CpuActivations), own(out, CpuActivations), own(states, CpuStates)]
    const [rates, gates] = [own(options.rates, CpuActivations), own(options.gates, CpuActivations)]
    const longest = Math.max(...this.#shape.spans.map(({ tokens }) => tokens.length))
    const room = this.#perThread(longest * (2 * keySize * 4 + 48))
    this.#add('delta', this.#shape.spans.length * valueHeads, {
      x: source.use(),
      xStride: source.stride,
      rates: rates.use(),
      ratesStride: rates.stride,
      out: target.use(),
      outStride: target.stride,
      gates: gates.use() + gatesFrom * 4,
      gatesStride: gates.stride,
      keyHeads,
      valueHeads,
      tiled,
      keySize,
      valueSize,
      speed: own(options.speed, CpuVector).use(),
      delay: own(options.delay, CpuVector).use(),
      weight: own(norm.weight, CpuVector).use(),
      epsilon: norm.epsilon,
      state: kept.state(index),
      slotBytes: kept.slotBytes,
      spans: this.#batch.spans,
      room: room.at,
      roomGap: room.stride,
    })
  }

  gate(gates: Activations, values: Activations, out: Activations, options: GateOptions): void {
    OPERATIONS.gate.fit(this.#shape, gates, values, out, options)
    const [by, of, target] = [own(gates, CpuActivations), own(values, CpuActivations), own(out, CpuActivations)]
    const { rows = this.rows, gatesFrom = 0, valuesFrom = 0 } = options
    const { columns } = target
    const args = {
      gates: by.use() + gatesFrom * 4,
      gatesStride: by.stride,
      values: of.use() + valuesFrom * 4,
      valuesStride: of.stride,
      out: target.use(),
      outStride: target.stride,
      columns,
      gate: gateCode(options.gate),
    }
    this.#add('gate', rows, args, few(rows * columns))
  }

  pick(x: Activations, rows: Int32Array, out: Activations): void {
    OPERATIONS.pick.fit(this.#shape, x, rows, out)
    const [source, target] = [own(x, CpuActivations), own(out, CpuActivations)]
    const bytes = Math.min(source.stride, target.stride)
    const args = {
      x: source.use(),
      xStride: source.stride,
      rows: this.#put(rows),
      out: target.use(),
      outStride: target.stride,
      bytes,
    }
    this.#add('copy', rows.length, args, few((rows.length * bytes) / 4))
  }

  pool(x: Activations, out: Activations): void {
    OPERATIONS.pool.fit(this.#shape, x, out)
    const [source, target] = [own(x, CpuActivations), own(out, CpuActivations)]
    const firsts = [0]
    for (const { tokens } of this.#shape.spans) firsts.push(firsts.at(-1)! + tokens.length)
    const args = {
      x: source.use(),
      xStride: source.stride,
      firsts: this.#put(Int32Array.from(firsts)),
      out: target.use(),
      outStride: target.stride,
      columns: source.columns,
    }
    this.#add('pool', this.#shape.spans.length, args, few(this.rows * source.columns))
  }

  sample(sampler: Sampler, logits: Activations, rows: readonly SampleRow[]): void {
    if (this.#sampling) throw new Error('A pass samples at most once.')
    OPERATIONS.sample.fit(this.#shape, sampler, logits, rows)
    const source = own(logits, CpuActivations)
    const target = own(sampler, CpuSampler)
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
    const { stride } = source
    this.#add('copy', rows, { x: source.use(), xStride: stride, rows: 0, out: at, outStride: stride, bytes: stride })
    return new Promise((resolve) => this.#readings.push({ at, count, resolve }))
  }

  async submit(): Promise<readonly SampledRow[]> {
    if (!this.#open) throw new Error('The pass was submitted.')
    const { memory, profiler } = this.#host
    let sampled: readonly SampledRow[] = []
    try {
      for (const copy of this.#copies) copy()
      for (const cache of this.#caches) for (const span of this.#shape.spans) cache.begin(span)
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
      if (to > from) runner.run(at + from * OPERATION_BYTES, to - from, this.rows)
      return
    }
    for (let i = from; i < to; i++) {
      profiler.run(i, () => runner.run(at + i * OPERATION_BYTES, 1, this.rows))
    }
  }

  /** Gives back what the pass holds; also of one that is never submitted. */
  close(): void {
    this.#open = false
    for (const at of this.#rooms) this.#host.memory.free(at)
    this.#rooms.length = 0
  }
}
