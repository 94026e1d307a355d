/** One forward pass, recorded into one command buffer. */

import type {
  Activations,
  AttentionShape,
  Batch,
  KeyValueCache,
  Matrix,
  Pass,
  PlaceOptions,
  ProjectOptions,
  Routing,
  SampledRow,
  SampleRow,
  Sampler,
  States,
  Vector,
} from '../contract.js'
import type { ArgumentKinds, BatchShape, GpuRecorder, Operation } from '../operations/define.js'
import { OPERATIONS, shapeOf, writeFits } from '../operations/index.js'
import { BatchWords } from './batch.js'
import { type CommandHost, Commands } from './commands.js'
import { attend, placesWithin, splitsOf } from './kernels/attend.js'
import type { StoredMatrix } from './kernels/formats.js'
import type { Kernel } from './kernels/kernel.js'
import { type PlaceOperands, place } from './kernels/place.js'
import { sample } from './kernels/sample.js'
import { decodeResults, encodeJob, resultWords } from './kernels/sample-job.js'
import type { PlaceShape } from './kernels/turn.js'
import type { GpuMatrix } from './matrix.js'
import { FEW, project } from './products.js'
import type { SubmitWork } from './submit-work.js'
import type { Dispatch } from './tapes.js'
import type { GpuActivations, GpuCache, GpuRouting, GpuSampler, GpuStates, GpuVector } from './tensors.js'

const slides = (sliding: boolean | undefined) => (sliding ? { sliding } : {})

interface ToPlace {
  readonly qkv: Activations
  readonly cache: KeyValueCache
  readonly layer: number
  readonly options: PlaceOptions
}

function placingOf({ qkv, cache, layer, options }: ToPlace): { shape: PlaceShape; operands: PlaceOperands } {
  const { heads: queries, angles, headNorm, growth, queriesOnly } = options
  const { heads, headSize, type, sliding } = cache.shape
  const layout = { queries, columns: qkv.columns, heads, headSize, type, growth, ...slides(sliding) }
  const shape = { ...layout, ...(queriesOnly && { queriesOnly }) }
  return {
    shape: headNorm ? { ...shape, epsilon: headNorm.epsilon } : shape,
    operands: {
      angles: (angles as GpuVector).buffer,
      qkv: (qkv as GpuActivations).buffer,
      cache: (cache as GpuCache).layers[layer]!,
      ...(headNorm ? { gains: [(headNorm.query as GpuVector).buffer, (headNorm.key as GpuVector).buffer] } : {}),
    },
  }
}

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
  #toPlace: ToPlace | undefined
  #tape: Dispatch[] | undefined
  #sampled: { sampler: GpuSampler; rows: readonly SampleRow[]; words: Uint32Array<ArrayBuffer> } | undefined
  readonly #reads: (() => void)[] = []
  readonly meta: GPUBuffer
  readonly slots: GPUBuffer

  constructor(host: GpuPassHost, batch: Batch) {
    this.#host = host
    this.#commands = new Commands(host)
    this.#shape = shapeOf(batch)
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

  buffer(tensor: Activations | Vector | Routing): GPUBuffer {
    return (tensor as GpuActivations | GpuVector | GpuRouting).buffer
  }

  state(states: States, index: number): GPUBuffer {
    return (states as GpuStates).states[index]!
  }

  pick(rows = this.#batch.firsts): void {
    this.#batch.pick(rows)
  }

  parts(matrix: Matrix): readonly StoredMatrix[] {
    return (matrix as GpuMatrix).parts
  }

  run<F extends ArgumentKinds, Operands extends readonly unknown[]>(
    operation: Operation<F, Operands>,
    ...operands: Operands
  ): void {
    operation.fit(this.#shape, ...operands)
    operation.gpu(this, ...operands)
  }

  tiles(rows: number, splits: number, large: boolean, read?: Int32Array): number {
    return this.#batch.tile(rows, splits, large, read)
  }

  dispatch(kernel: Kernel, buffers: readonly GPUBuffer[], x: number, y = 1, z = 1): void {
    this.#place()
    const dispatch = { kernel, buffers, x, y, z }
    this.#tape?.push(dispatch)
    this.encode(dispatch)
  }

  protected encode(dispatch: Dispatch): void {
    this.#commands.dispatch(dispatch)
  }

  /** What `record` asks for, or what it asked for when all that decides it was as now. */
  #repeat(owner: object, facts: readonly unknown[], record: () => void): void {
    const { gpu } = this.#host
    const all = [...facts, this.meta, this.traits, this.#batch.steady, gpu.generation]
    const known = gpu.tapes.find(owner, all)
    if (known) {
      for (const dispatch of known.dispatches) this.encode(dispatch)
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

  project(matrix: Matrix, x: Activations, out: Activations, options: ProjectOptions = {}): void {
    const { norm: normed, bias, add = false, gated = false, gate = 'silu' } = options
    const { count, head } = this.counted(options.rows)
    this.weigh(matrix.rows * matrix.columns * count)
    this.#place()
    const facts = [x, out, count, head, add, gated, gate, bias, normed?.weight, normed?.epsilon]
    this.#repeat(matrix, facts, () => {
      OPERATIONS.project.fit(this.#shape, matrix, x, out, options)
      project(this, matrix as GpuMatrix, x as GpuActivations, out as GpuActivations, {
        count,
        head,
        add,
        gated,
        gate,
        bias: (bias as GpuVector | undefined)?.buffer,
        norm: normed && { gain: (normed.weight as GpuVector).buffer, epsilon: normed.epsilon },
      })
    })
  }

  counted(rows = this.rows): { readonly count: number; readonly head: boolean } {
    const head = rows !== this.rows
    if (head && rows !== this.#batch.words[1]) throw new Error('A product takes all rows, or the picked ones.')
    return { count: rows, head }
  }

  weigh(multiplications: number): void {
    if (this.#work > this.#host.submits.most) {
      this.handOver()
      this.#work = 0
    }
    this.#work += multiplications
    this.#all += multiplications
  }

  place(qkv: Activations, cache: KeyValueCache, layer: number, options: PlaceOptions): void {
    OPERATIONS.place.fit(this.#shape, qkv, cache, layer, options)
    this.#place()
    this.#toPlace = { qkv, cache, layer, options }
  }

  /** What waits to be placed is, unless attention has done it by the way. */
  #place(): void {
    const waiting = this.#toPlace
    this.#toPlace = undefined
    if (!waiting) return
    const { shape, operands } = placingOf(waiting)
    place(this, shape, operands)
  }

  attend(qkv: Activations, cache: KeyValueCache, layer: number, out: Activations, options: AttentionShape): void {
    OPERATIONS.attend.fit(this.#shape, qkv, cache, layer, out, options)
    const { heads, headSize, type, sliding } = cache.shape
    const { heads: queries, scale, window, cap, causal = true, sinks } = options
    const few = this.few(this.rows)
    const { serial } = this.traits
    // Hardware takes several rows at once, of which one is read; and of few rows all, which cost it little.
    const read = serial || !few ? options.rows : undefined
    if (serial && read) this.pick(read)
    const record = () => {
      const layout = { queries, columns: qkv.columns, heads, headSize, type, ...slides(sliding) }
      const shape = {
        ...layout,
        scale,
        window,
        ...(cap && { cap }),
        ...(!causal && { causal }),
        ...(sinks && { sinks: true }),
        ...(serial && read && { picked: true }),
      }
      const target = out as GpuActivations
      const buffers = {
        qkv: (qkv as GpuActivations).buffer,
        cache: (cache as GpuCache).layers[layer]!,
        out: target.buffer,
        sinks: (sinks as GpuVector | undefined)?.buffer,
        scratch: (bytes: number) => target.scratch(bytes),
      }
      const waiting = this.#toPlace
      const own = waiting?.qkv === qkv && waiting.cache === cache && waiting.layer === layer
      const within = own && few && !serial && this.#batch.single && placesWithin(shape, this.traits)
      if (within) this.#toPlace = undefined
      attend(this, shape, buffers, few, read, within ? placingOf(waiting) : undefined)
    }
    // Of many rows, what is recorded depends on all their sequences.
    if (!few) {
      record()
      return
    }
    const splits = splitsOf(this)
    for (const large of [false, true]) this.tiles(1, splits, large)
    const facts = [
      qkv,
      out,
      queries,
      scale,
      window,
      cap,
      causal,
      sinks,
      this.rows,
      read?.length,
      splits,
      this.#batch.single,
    ]
    const { qkv: placed, cache: into, layer: of, options: how } = this.#toPlace ?? {}
    const placing = [placed, into, of, how?.heads, how?.angles, how?.growth, how?.queriesOnly]
    const norm = [how?.headNorm?.query, how?.headNorm?.key, how?.headNorm?.epsilon]
    this.#repeat((cache as GpuCache).layers[layer]!, [...facts, ...placing, ...norm], record)
    this.#toPlace = undefined
  }

  sample(sampler: Sampler, logits: Activations, rows: readonly SampleRow[]): void {
    OPERATIONS.sample.fit(this.#shape, sampler, logits, rows)
    if (this.#sampled) throw new Error('A pass samples once.')
    const gpuSampler = sampler as GpuSampler
    const words = encodeJob(rows)
    const job = gpuSampler.job(words.length)
    const { values, parts, races, slots, results } = gpuSampler
    const buffers = { job, values, parts, races, slots, results }
    sample(this, sampler.shape, (logits as GpuActivations).buffer, rows, buffers)
    this.#sampled = { sampler: gpuSampler, rows, words }
  }

  read(x: Activations, rows: number): Promise<Float32Array> {
    this.#place()
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
    this.#place()
    const staging = this.#copyResults()
    this.handOver()
    for (const read of this.#reads) read()
    if (!this.#sampled || !staging) {
      await this.#commands.done()
      this.#done()
      return []
    }
    const { sampler, rows } = this.#sampled
    const buffer = await this.#commands.read(staging)
    this.#done()
    sampler.giveStaging(staging, this.#resultBytes())
    this.#host.gpu.check()
    return decodeResults(buffer, rows, sampler.shape)
  }

  #done(): void {
    if (this.#begun !== undefined) this.#host.submits.took(this.#all, performance.now() - this.#begun)
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
    this.#place()
    this.#begun ??= performance.now()
    this.#host.gpu.device.queue.writeBuffer(this.meta, 0, this.#batch.words)
    this.#commands.handOver()
  }
}
