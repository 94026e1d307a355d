/** A pass records a program, then runs it at once: the CPU has nothing to wait for. */
import type {
  Activations,
  AttentionShape,
  Batch,
  KeyValueCache,
  Matrix,
  Pass,
  PlaceOptions,
  ProjectOptions,
  SampledRow,
  SampleRow,
  Sampler,
} from '../contract.js'
import type { ArgumentKinds, BatchShape, Operation } from '../operations/define.js'
import { OPERATIONS, shapeOf, writeFits } from '../operations/index.js'
import type { Arguments, OperationName } from './abi.js'
import { CpuAttention } from './attention.js'
import { type PlacedBatch, placeBatch } from './batch.js'
import { CpuMatrix, roomOf } from './matrix.js'
import type { CpuPassHost } from './pass-host.js'
import type { PassRecorder } from './pass-recorder.js'
import { Products } from './products.js'
import { few, OPERATION_BYTES, type PassProgram, type Sharing } from './program.js'
import { CpuRouting } from './routing.js'
import { CpuSampler } from './sampler.js'
import { CpuActivations, CpuCache, CpuStates, CpuVector, own } from './tensors.js'

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
  readonly #recorder: PassRecorder
  readonly #products: Products
  readonly #attention: CpuAttention
  readonly #shape: BatchShape
  #open = true

  constructor(host: CpuPassHost, batch: Batch) {
    this.#shape = shapeOf(batch)
    this.#host = host
    this.#program = host.program
    this.#program.clear()
    this.rows = this.#shape.rows
    this.#batch = placeBatch(batch, this.rows, (values) => this.#put(values))
    this.#recorder = {
      rows: this.rows,
      shape: this.#shape,
      batch: this.#batch,
      spans: this.#shape.spans,
      spanWords: this.#batch.spans,
      at: (tensor) => (tensor instanceof CpuActivations ? tensor : own(tensor, CpuVector)).use(),
      stride: (x) => own(x, CpuActivations).stride,
      state: (states, index) => {
        const kept = own(states, CpuStates)
        return { state: kept.state(index), slotBytes: kept.slotBytes }
      },
      table: (matrix) => this.#table(own(matrix, CpuMatrix)),
      ids: (by) => (by === 'tokens' ? this.#batch.tokens : (this.#batch.places ?? this.#batch.positions)),
      routing: (routing) => own(routing, CpuRouting).lists(),
      band: (matrix, rows, count) => this.#products.band(own(matrix, CpuMatrix), rows, count),
      atPlaces: (x, columns, form, rows, from, routing) =>
        this.#products.atPlaces(own(x, CpuActivations), columns, form, rows, from, own(routing, CpuRouting)),
      add: (name, items, args, sharing) => this.#add(name, items, args, sharing),
      put: (values) => this.#put(values),
      perThread: (bytes, rooms) => this.#perThread(bytes, rooms),
    }
    this.#attention = new CpuAttention(this.#recorder)
    this.#products = new Products(this.#recorder, {
      variant: host.variant,
      trial: host.products,
      amend: (name, args) => this.#program.amend(name, args),
    })
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

  run<F extends ArgumentKinds, Operands extends readonly unknown[]>(
    operation: Operation<F, Operands>,
    ...operands: Operands
  ): void {
    operation.fit(this.#shape, ...operands)
    const name = operation.name as OperationName
    const work = operation.cpu(this.#recorder, ...operands)
    for (const { args, items, values } of 'args' in work ? [work] : work) {
      this.#add(name, items, args as Arguments<typeof name>, values === undefined ? undefined : few(values))
    }
  }

  place(qkv: Activations, cache: KeyValueCache, layer: number, options: PlaceOptions): void {
    this.#attention.place(qkv, cache, layer, options)
  }

  attend(qkv: Activations, cache: KeyValueCache, layer: number, out: Activations, shape: AttentionShape): void {
    this.#attention.attend(qkv, cache, layer, out, shape)
  }

  #table(matrix: CpuMatrix) {
    matrix.use()
    const { kind, at } = matrix.whole
    const bytes = roomOf(kind, matrix.columns, 1)
    const room = bytes > 0 ? this.#perThread(bytes) : { at: 0, stride: 0 }
    return { kind, matrix: at, room: room.at, roomGap: room.stride }
  }

  project(matrix: Matrix, x: Activations, out: Activations, options: ProjectOptions = {}): void {
    OPERATIONS.project.fit(this.#shape, matrix, x, out, options)
    const rows = options.rows ?? this.rows
    this.#products.record(own(matrix, CpuMatrix), own(x, CpuActivations), own(out, CpuActivations), rows, options)
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
    this.#add('pick', rows, { x: source.use(), xStride: stride, rows: 0, out: at, outStride: stride, bytes: stride })
    return new Promise((resolve) => this.#readings.push({ at, count, resolve }))
  }

  async submit(): Promise<readonly SampledRow[]> {
    if (!this.#open) throw new Error('The pass was submitted.')
    const { memory, profiler } = this.#host
    let sampled: readonly SampledRow[] = []
    try {
      for (const copy of this.#copies) copy()
      for (const cache of this.#attention.written) for (const span of this.#shape.spans) cache.begin(span)
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
