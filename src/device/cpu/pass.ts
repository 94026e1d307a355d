/** A pass records a program, then runs it at once: the CPU has nothing to wait for. */
import { getOrMake } from '../../platform/index.js'
import type {
  Activations,
  Batch,
  KeyValueCache,
  Matrix,
  Pass,
  Routing,
  SampledRow,
  SampleRow,
  Sampler,
  Span,
  States,
  Vector,
} from '../contract.js'
import {
  type ArgumentKinds,
  batchShapeOf,
  type CpuRecorder,
  type Functions,
  type Operation,
  type Preparing,
  writeFits,
} from '../operations/define.js'
import type { Arguments, FunctionName } from './abi.js'
import { type PlacedBatch, placeBatch } from './batch.js'
import { CpuMatrix, unpackingRoom } from './matrix.js'
import type { CpuPassHost } from './pass-host.js'
import { Products } from './products.js'
import { OPERATION_BYTES, type PassProgram, type Sharing, shareOf } from './program.js'
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

const NOWHERE = { at: 0, stride: 0 }

export class CpuPass implements Pass, CpuRecorder {
  readonly rows: number
  readonly spans: readonly Span[]
  readonly longest: number
  readonly spanWords: number
  readonly threads: number
  readonly #host: CpuPassHost
  readonly #program: PassProgram
  /** Allocations that live as long as the pass. */
  readonly #rooms: number[] = []
  readonly #shared = new Map<number, number>()
  readonly #made = new Map<string, unknown>()
  readonly #readings: Reading[] = []
  readonly #batch: PlacedBatch
  readonly #products: Products
  #copies: (() => void)[] = []
  /** Where keys and values are written. */
  readonly #written = new Set<CpuCache>()
  #sampling: { before: number; run: () => SampledRow[] } | undefined
  #open = true

  constructor(host: CpuPassHost, batch: Batch) {
    const { rows, spans, longest } = batchShapeOf(batch)
    this.#host = host
    this.threads = host.threads
    this.#program = host.program
    this.#program.count = 0
    this.rows = rows
    this.spans = spans
    this.longest = longest
    this.#batch = placeBatch(batch, rows, this)
    this.spanWords = this.#batch.spans
    this.#products = new Products(host, this)
  }

  at(tensor: Activations | Vector): number {
    return (tensor instanceof CpuActivations ? tensor : own(tensor, CpuVector)).use()
  }

  stride(x: Activations): number {
    return own(x, CpuActivations).stride
  }

  state(states: States, index: number) {
    const kept = own(states, CpuStates)
    return { state: kept.state(index), slotBytes: kept.slotBytes }
  }

  table(matrix: Matrix) {
    const table = own(matrix, CpuMatrix)
    table.use()
    const { kind, at } = table.whole
    const room = this.perThread(unpackingRoom(kind, matrix.columns, 1))
    return { kind, matrix: at, room: room.at, roomGap: room.stride }
  }

  ids(by: 'tokens' | 'positions' | 'places'): number {
    return this.#batch[by] ?? this.#batch.positions
  }

  cached(cache: KeyValueCache, layer: number, writes: boolean) {
    const kv = own(cache, CpuCache)
    if (writes) this.#written.add(kv)
    const { keyHeadBytes, valueHeadBytes, kept, overflows } = kv
    const { pages, lists, windowPages, windowLists } = this.#batch
    return {
      ...kv.layer(layer),
      keyHeadBytes,
      valueHeadBytes,
      kept,
      overflows,
      pages: kv.shape.sliding ? windowPages : pages,
      lists: kv.shape.sliding ? windowLists : lists,
    }
  }

  routing(routing: Routing) {
    return own(routing, CpuRouting).lists()
  }

  bands(matrix: Matrix, rows: number) {
    return own(matrix, CpuMatrix).multipliedWith(rows)
  }

  prepared(x: Activations, columns: number, form: number, rows: number, how: Preparing) {
    return this.#products.prepared(own(x, CpuActivations), columns, form, rows, how)
  }

  atPlaces(x: Activations, columns: number, form: number, rows: number, from: 'rows' | 'places', routing: Routing) {
    return this.#products.atPlaces(own(x, CpuActivations), columns, form, rows, from, own(routing, CpuRouting))
  }

  put(values: Int32Array): number {
    const at = this.#room(values.byteLength)
    this.#host.memory.i32.set(values, at / 4)
    return at
  }

  once<T>(key: string, make: () => T): T {
    if (!this.#made.has(key)) this.#made.set(key, make())
    return this.#made.get(key) as T
  }

  /** As for all, but shared only by those who name the same `rooms`. */
  perThread(bytes: number, rooms = this.#shared): { at: number; stride: number } {
    if (bytes === 0) return NOWHERE
    const stride = Math.ceil(bytes / 64) * 64 + THREAD_GAP
    const at = getOrMake(rooms, bytes, () => this.#room(stride * this.threads))
    return { at, stride }
  }

  scratch(out: Activations, bytesPerRow: number): number {
    return own(out, CpuActivations).scratch('halves', bytesPerRow)
  }

  sample(sampler: Sampler, logits: Activations, rows: readonly SampleRow[]): void {
    if (this.#sampling) throw new Error('A pass samples once.')
    const source = own(logits, CpuActivations)
    const target = own(sampler, CpuSampler)
    this.#products.filling = undefined
    this.#sampling = {
      before: this.#program.count,
      run: () => rows.map((row, i) => target.sample(source.use() + i * source.stride, row)),
    }
  }

  #room(bytes: number): number {
    const at = this.#host.memory.allocate(bytes)
    this.#rooms.push(at)
    return at
  }

  add<N extends FunctionName>(name: N, items: number, args: Arguments<N>, sharing?: Sharing): void {
    if (!this.#open) throw new Error('The pass was submitted.')
    this.#products.filling = undefined
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

  repeated(_owner: object, _facts: readonly unknown[], record: () => void): void {
    record()
  }

  run<Operands extends readonly unknown[]>(
    operation: Operation<ArgumentKinds, Operands, Functions>,
    ...operands: Operands
  ): void {
    operation.fit(this, ...operands)
    const work = operation.cpu(this, ...operands)
    if (!work) return
    for (const each of 'args' in work ? [work] : work) {
      const { of, args, items, values = Number.POSITIVE_INFINITY, least, unit, fills } = each
      const name = (of ?? operation.name) as FunctionName
      this.add(name, items, args as Arguments<typeof name>, { least, unit, by: shareOf(values) })
      if (fills) this.#products.filling = { out: own(fills, CpuActivations), name, args }
    }
  }

  read(x: Activations, rows: number): Promise<Float32Array> {
    const source = own(x, CpuActivations)
    const count = rows * source.columns
    const at = this.#room(count * 4)
    const { stride } = source
    this.add('gatherRows', rows, {
      x: source.use(),
      xStride: stride,
      rows: 0,
      out: at,
      outStride: stride,
      bytes: stride,
    })
    return new Promise((resolve) => this.#readings.push({ at, count, resolve }))
  }

  async submit(): Promise<readonly SampledRow[]> {
    if (!this.#open) throw new Error('The pass was submitted.')
    const { memory, profiler } = this.#host
    let sampled: readonly SampledRow[] = []
    try {
      for (const copy of this.#copies) copy()
      for (const cache of this.#written) for (const span of this.spans) cache.begin(span)
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
