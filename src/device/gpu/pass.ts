/** One forward pass, recorded into one command buffer. */

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
  States,
  Vector,
} from '../contract.js'
import { splitsOf } from '../operations/attend/kernel.js'
import {
  type ArgumentKinds,
  type BatchShape,
  batchShapeOf,
  type Functions,
  type GpuRecorder,
  type Operation,
  type Postponed,
  type SamplerBuffers,
  writeFits,
} from '../operations/define.js'
import { FEW } from '../operations/matmul/kernel.js'
import type { HalfRows } from '../operations/matmul/to-half.js'
import type { PackedOrder, PackedRows } from '../operations/matmul/to-packed.js'
import { decodeResults, encodeJob, resultWords } from '../operations/sample/job.js'
import { BatchWords } from './batch.js'
import { type CommandHost, Commands } from './commands.js'
import type { StoredMatrix } from './kernels/formats.js'
import type { Kernel } from './kernels/kernel.js'
import type { GpuMatrix } from './matrix.js'
import type { SubmitWork } from './submit-work.js'
import { type Dispatch, PassTape } from './tapes.js'
import type { GpuActivations, GpuCache, GpuRouting, GpuSampler, GpuStates, GpuVector } from './tensors.js'

export interface GpuPassHost extends CommandHost {
  /** A buffer for the batch, wide enough for so many words. */
  batchBuffer(words: number): GPUBuffer
  readonly submits: SubmitWork
}

export class GpuPass implements Pass, GpuRecorder {
  readonly #host: GpuPassHost
  readonly #commands: Commands
  readonly #shape: BatchShape
  readonly #batch: BatchWords
  /** Multiplications recorded since work was last handed over. */
  #work = 0
  /** All that was recorded, and when the first of it was handed over. */
  #all = 0
  #begun: number | undefined
  #postponed: Postponed | undefined
  #tape: Dispatch[] | undefined
  #passTape: PassTape | undefined
  #sampled: { sampler: GpuSampler; rows: readonly SampleRow[]; words: Uint32Array<ArrayBuffer> } | undefined
  readonly #reads: (() => void)[] = []
  readonly meta: GPUBuffer
  readonly slots: GPUBuffer

  constructor(host: GpuPassHost, batch: Batch) {
    this.#host = host
    this.#commands = new Commands(host)
    this.#shape = batchShapeOf(batch)
    this.#batch = new BatchWords(batch)
    this.meta = host.batchBuffer(this.#batch.words.length)
    // Without a sampler no token stands for a slot; the binding needs some buffer all the same.
    this.slots = (batch.sampler as GpuSampler | undefined)?.slots ?? this.meta
  }

  get traits() {
    return this.#host.gpu.traits
  }

  get rows(): number {
    return this.#batch.rows
  }

  few(rows: number): boolean {
    return rows <= FEW && !this.#batch.steady
  }

  get lastPosition(): number {
    return this.#batch.lastPosition
  }

  get spans(): number {
    return this.#batch.spans
  }

  get single(): boolean {
    return this.#batch.single
  }

  buffer(tensor: Activations | Vector | Routing): GPUBuffer {
    return (tensor as GpuActivations | GpuVector | GpuRouting).buffer
  }

  layer(cache: KeyValueCache, index: number): GPUBuffer {
    return (cache as GpuCache).layers[index]!
  }

  normed(x: Activations): GPUBuffer {
    return (x as GpuActivations).normed
  }

  inHalf(x: Activations): HalfRows {
    return (x as GpuActivations).inHalf
  }

  packed(x: Activations, order: PackedOrder): PackedRows {
    return (x as GpuActivations).packed(order)
  }

  scratch(out: Activations, bytes: number): GPUBuffer {
    return (out as GpuActivations).scratch(bytes)
  }

  state(states: States, index: number): GPUBuffer {
    return (states as GpuStates).states[index]!
  }

  gather(rows?: Int32Array): void {
    if (this.#passTape) this.#passTape[rows ? 'namesRows' : 'gathers'] = true
    this.#batch.gather(rows ?? this.#batch.firsts)
  }

  parts(matrix: Matrix): readonly StoredMatrix[] {
    return (matrix as GpuMatrix).parts
  }

  isTogether(matrix: Matrix): boolean {
    return (matrix as GpuMatrix).gated
  }

  run<Operands extends readonly unknown[]>(
    operation: Operation<ArgumentKinds, Operands, Functions>,
    ...operands: Operands
  ): void {
    operation.fit(this.#shape, ...operands)
    operation.gpu(this, ...operands)
  }

  tiles(rows: number, splits: number, large: boolean, read?: Int32Array): number {
    this.#passTape?.tiles.set(large, { rows, splits })
    if (this.#passTape && read) this.#passTape.namesRows = true
    return this.#batch.tile(rows, splits, large, read)
  }

  dispatch(kernel: Kernel, buffers: readonly GPUBuffer[], x: number, y = 1, z = 1): void {
    this.#recordPostponed()
    const dispatch = { kernel, buffers, x, y, z }
    this.#tape?.push(dispatch)
    this.#add(dispatch)
  }

  #add(dispatch: Dispatch): void {
    this.#passTape?.dispatches.push(dispatch)
    this.encode(dispatch)
  }

  protected encode(dispatch: Dispatch): void {
    this.#commands.dispatch(dispatch)
  }

  repeat(owner: object, facts: readonly unknown[], record: () => void): void {
    const { gpu } = this.#host
    // What waits is recorded with it, or done by the way.
    const all = [
      ...facts,
      ...(this.#postponed?.facts ?? []),
      this.meta,
      this.traits,
      this.#batch.steady,
      gpu.generation,
    ]
    const known = gpu.tapes.find(owner, all)
    if (known) {
      this.dropPostponed()
      for (const dispatch of known.dispatches) this.#add(dispatch)
      return
    }
    this.#tape = []
    try {
      record()
      // A buffer that had to grow while it was recorded has taken the place of one that is gone.
      all[all.length - 1] = gpu.generation
      gpu.tapes.keep(owner, { facts: all, dispatches: this.#tape })
    } finally {
      this.#tape = undefined
    }
  }

  /** Of many rows attention hangs on all their sequences, and what is recorded is little beside what it computes. */
  repeated(owner: object, facts: readonly unknown[], record: () => void): void {
    const { gpu, submits } = this.#host
    if (!this.few(this.rows) || this.#postponed) {
      record()
      return
    }
    const { rows, spans, single, meta, slots, traits } = this
    const all = [...facts, rows, spans, single, splitsOf(this), meta, slots, traits, gpu.generation]
    const known = gpu.passTapes.find(owner, all)
    if (known && known.work <= submits.most) {
      this.weigh(known.work)
      for (const [large, { rows, splits }] of known.tiles) this.tiles(rows, splits, large)
      if (known.gathers) this.gather()
      for (const dispatch of known.dispatches) this.encode(dispatch)
      return
    }
    const tape = new PassTape()
    this.#passTape = tape
    try {
      record()
      this.#recordPostponed()
      all[all.length - 1] = gpu.generation
      tape.facts = all
      // What is handed over in pieces is cut anew each time.
      if (!tape.namesRows && tape.work <= submits.most) gpu.passTapes.keep(owner, tape)
    } finally {
      this.#passTape = undefined
    }
  }

  get postponed(): Postponed | undefined {
    return this.#postponed
  }

  postpone(work: Postponed): void {
    this.#recordPostponed()
    this.#postponed = work
  }

  dropPostponed(): void {
    this.#postponed = undefined
  }

  #recordPostponed(): void {
    const waiting = this.#postponed
    this.#postponed = undefined
    waiting?.record(this)
  }

  clearPages(cache: KeyValueCache, pages: readonly number[]): void {
    const { layers, pageBytes } = cache as GpuCache
    for (const page of pages) for (const layer of layers) this.#commands.clear(layer, page * pageBytes, pageBytes)
  }

  copyPages(cache: KeyValueCache, pairs: readonly { readonly from: number; readonly to: number }[]): void {
    const { layers, pageBytes, aside } = cache as GpuCache
    for (const { from, to } of pairs) {
      // By way of another buffer: WebGPU copies nothing within one.
      layers.forEach((layer, i) => {
        this.#commands.copy(layer, from * pageBytes, aside, i * pageBytes, pageBytes)
      })
      layers.forEach((layer, i) => {
        this.#commands.copy(aside, i * pageBytes, layer, to * pageBytes, pageBytes)
      })
    }
  }

  write(out: Activations, values: Float32Array): void {
    writeFits(out, values)
    // The queue keeps this before what is recorded here, and after what was handed over before.
    const bytes = new Uint8Array(values.buffer as ArrayBuffer, values.byteOffset, values.byteLength)
    this.fill((out as GpuActivations).buffer, bytes)
  }

  protected fill(buffer: GPUBuffer, bytes: Uint8Array<ArrayBuffer>): void {
    this.#host.gpu.device.queue.writeBuffer(buffer, 0, bytes)
  }

  counted(rows = this.rows): { readonly count: number; readonly head: boolean } {
    const head = rows !== this.rows
    if (head && rows !== this.#batch.words[1]) throw new Error('A product takes all rows, or the gathered ones.')
    return { count: rows, head }
  }

  weigh(multiplications: number): void {
    if (this.#passTape) this.#passTape.work += multiplications
    if (this.#work > this.#host.submits.most) {
      this.handOver()
      this.#work = 0
    }
    this.#work += multiplications
    this.#all += multiplications
  }

  sampling(sampler: Sampler, rows: readonly SampleRow[]): SamplerBuffers {
    if (this.#sampled) throw new Error('A pass samples once.')
    const gpuSampler = sampler as GpuSampler
    const words = encodeJob(rows)
    this.#sampled = { sampler: gpuSampler, rows, words }
    const { values, parts, races, slots, results } = gpuSampler
    return { job: gpuSampler.job(words.length), values, parts, races, slots, results }
  }

  read(x: Activations, rows: number): Promise<Float32Array> {
    this.#recordPostponed()
    const { gpu } = this.#host
    const bytes = rows * x.columns * 4
    const staging = gpu.staging(bytes)
    this.#commands.copy((x as GpuActivations).buffer, 0, staging, 0, bytes)
    return new Promise((resolve, reject) => {
      this.#reads.push(() => {
        this.#commands
          .read(staging)
          .then((buffer) => resolve(new Float32Array(buffer, 0, rows * x.columns)), reject)
          .finally(() => gpu.release(staging))
      })
    })
  }

  async submit(): Promise<readonly SampledRow[]> {
    this.#recordPostponed()
    const staging = this.#copyResults()
    this.handOver()
    for (const read of this.#reads) read()
    if (!staging) {
      await this.#commands.done()
      this.#done()
      return []
    }
    const { sampler, rows } = this.#sampled!
    const buffer = await this.#commands.read(staging)
    this.#done()
    sampler.giveStaging(staging, this.#resultBytes())
    this.#host.gpu.check()
    return decodeResults(buffer, rows, sampler.shape)
  }

  #done(): void {
    this.#host.submits.took(this.#all, performance.now() - this.#begun!)
  }

  #resultBytes(): number {
    const { sampler, rows } = this.#sampled!
    return (
      4 *
      resultWords(
        sampler.shape.rows,
        rows.some(({ among }) => among !== undefined),
      )
    )
  }

  #copyResults(): GPUBuffer | undefined {
    if (!this.#sampled) return undefined
    const { sampler, words } = this.#sampled
    const { results } = sampler
    this.#host.gpu.device.queue.writeBuffer(sampler.job(words.length), 0, words)
    const bytes = this.#resultBytes()
    const staging = sampler.takeStaging(bytes)
    this.#commands.copy(results, 0, staging, 0, bytes)
    return staging
  }

  /**
   * What was recorded so far goes to the GPU, with what is known of the batch by now: a long pass in pieces lets others
   * (the page's own pictures) have their turn, and no watchdog takes it for hung.
   */
  protected handOver(): void {
    this.#recordPostponed()
    this.#begun ??= performance.now()
    this.#host.gpu.device.queue.writeBuffer(this.meta, 0, this.#batch.words)
    this.#commands.handOver()
  }
}
