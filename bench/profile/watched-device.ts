/** A device that tells which operation is being recorded, and how long recording and waiting take. */
import type {
  Activations,
  AttentionShape,
  Batch,
  CollectOptions,
  ConvolveOptions,
  DeltaOptions,
  Device,
  GateOptions,
  JoinOptions,
  KeyValueCache,
  Matrix,
  Pass,
  PlaceOptions,
  ProjectOptions,
  RoutedOptions,
  RouteOptions,
  Routing,
  SampledRow,
  SampleRow,
  Sampler,
  States,
} from '../../src/engines/webgpu/contract.js'
import type { Current, Timer } from './operation.js'

/** Milliseconds of one pass, as the caller sees it. */
export interface Seen {
  /** Until all operations were asked for. */
  readonly recording: number
  /** In `submit`, until it returned: the CPU device computes here. */
  readonly submitting: number
  /** Until its result was there. */
  readonly waiting: number
}

export function watch(device: Device, current: Current, timer: Timer, seen: (pass: Seen) => void): Device {
  return {
    info: device.info,
    limits: device.limits,
    get memory() {
      return device.memory
    },
    lost: device.lost,
    matrix: (data, options) => device.matrix(data, options),
    growingMatrix: (bands, options) => device.growingMatrix(bands, options),
    matrixBytes: (shape) => device.matrixBytes(shape),
    vector: (values) => device.vector(values),
    activations: (rows, columns) => device.activations(rows, columns),
    routing: (shape) => device.routing(shape),
    cache: (shape) => device.cache(shape),
    states: (shape) => device.states(shape),
    sampler: (shape) => device.sampler(shape),
    begin(batch) {
      timer.begin()
      const start = performance.now()
      return new WatchedPass(device.begin(batch), batch, current, start, seen)
    },
    idle: () => device.idle(),
    destroy: () => device.destroy(),
  }
}

class WatchedPass implements Pass {
  readonly rows: number
  readonly #pass: Pass
  readonly #batch: Batch
  readonly #current: Current
  readonly #start: number
  readonly #seen: (pass: Seen) => void
  /** Gates come before the second product that is added. */
  #gated = false

  constructor(pass: Pass, batch: Batch, current: Current, start: number, seen: (pass: Seen) => void) {
    this.rows = pass.rows
    this.#pass = pass
    this.#batch = batch
    this.#current = current
    this.#start = start
    this.#seen = seen
  }

  clearPages(cache: KeyValueCache, pages: readonly number[]): void {
    this.#pass.clearPages(cache, pages)
  }

  copyPages(cache: KeyValueCache, pairs: readonly { readonly from: number; readonly to: number }[]): void {
    this.#pass.copyPages(cache, pairs)
  }

  write(out: Activations, values: Float32Array): void {
    this.#pass.write(out, values)
  }

  embed(table: Matrix, out: Activations, by?: 'tokens' | 'places'): void {
    const weights = (table.bytes / table.rows) * this.rows
    this.#current.during({ name: 'embed', weights }, () => this.#pass.embed(table, out, by))
  }

  project(matrix: Matrix, x: Activations, out: Activations, options: ProjectOptions = {}): void {
    const multiplications = matrix.rows * matrix.columns * (options.rows ?? this.rows)
    const operation = { name: this.#nameOf(matrix, options), weights: matrix.bytes, multiplications }
    this.#gated = options.gated === true
    this.#current.during(operation, () => this.#pass.project(matrix, x, out, options))
  }

  #nameOf({ rows }: Matrix, { gated, add }: ProjectOptions): string {
    if (gated) return 'gate and up'
    if (add) return this.#gated ? 'down' : 'attention out'
    return rows === this.#batch.sampler?.shape.vocabulary ? 'logits' : 'queries, keys, values'
  }

  join(x: Activations, out: Activations, options: JoinOptions): void {
    this.#current.during({ name: 'join' }, () => this.#pass.join(x, out, options))
  }

  place(qkv: Activations, cache: KeyValueCache, layer: number, options: PlaceOptions): void {
    this.#current.during({ name: 'place' }, () => this.#pass.place(qkv, cache, layer, options))
  }

  attend(qkv: Activations, cache: KeyValueCache, layer: number, out: Activations, shape: AttentionShape): void {
    const { heads, headSize, type } = cache.shape
    const positions = this.#batch.spans.reduce((sum, { tokens, position }) => sum + position + tokens.length, 0)
    const bytes = positions * 2 * heads * headSize * (type === 'f16' ? 2 : 4)
    // A query multiplies with a key, then its weight with a value; a prompt's later tokens see more than earlier ones.
    const pairs = this.#batch.spans.reduce((sum, { tokens: { length }, position }) => {
      return sum + length * position + (length * (length + 1)) / 2
    }, 0)
    const multiplications = pairs * 2 * shape.heads * headSize
    const operation = { name: 'attention', cache: bytes, multiplications }
    this.#current.during(operation, () => this.#pass.attend(qkv, cache, layer, out, shape))
  }

  convolve(x: Activations, states: States, index: number, out: Activations, options: ConvolveOptions): void {
    this.#current.during({ name: 'convolution' }, () => this.#pass.convolve(x, states, index, out, options))
  }

  delta(x: Activations, states: States, index: number, out: Activations, options: DeltaOptions): void {
    this.#current.during({ name: 'delta rule' }, () => this.#pass.delta(x, states, index, out, options))
  }

  route(scores: Activations, routing: Routing, options: RouteOptions): void {
    this.#current.during({ name: 'choose experts' }, () => this.#pass.route(scores, routing, options))
  }

  projectRouted(matrix: Matrix, x: Activations, out: Activations, routing: Routing, options: RoutedOptions): void {
    const { experts, chosen } = routing.shape
    const places = (options.rows ?? this.rows) * chosen
    const operation = {
      name: options.from === 'rows' ? 'gate and up of experts' : 'down of experts',
      // Of as many experts as may be chosen.
      weights: (matrix.bytes / experts) * Math.min(experts, places),
      multiplications: (matrix.rows / experts) * matrix.columns * places,
    }
    this.#current.during(operation, () => this.#pass.projectRouted(matrix, x, out, routing, options))
  }

  collect(x: Activations, out: Activations, routing: Routing, options?: CollectOptions): void {
    this.#current.during({ name: 'add up experts' }, () => this.#pass.collect(x, out, routing, options))
  }

  gate(gates: Activations, values: Activations, out: Activations, options: GateOptions): void {
    this.#current.during({ name: 'gate' }, () => this.#pass.gate(gates, values, out, options))
  }

  pick(x: Activations, rows: Int32Array, out: Activations): void {
    this.#current.during({ name: 'pick rows' }, () => this.#pass.pick(x, rows, out))
  }

  pool(x: Activations, out: Activations): void {
    this.#current.during({ name: 'pool' }, () => this.#pass.pool(x, out))
  }

  sample(sampler: Sampler, logits: Activations, rows: readonly SampleRow[]): void {
    const operation = { name: 'sample', logits: rows.length * sampler.shape.tokens * 4 }
    this.#current.during(operation, () => this.#pass.sample(sampler, logits, rows))
    // What the CPU device does not compute before it is submitted.
    this.#sampling = operation
  }

  #sampling: { readonly name: string; readonly logits: number } | undefined

  read(x: Activations, rows: number): Promise<Float32Array> {
    return this.#pass.read(x, rows)
  }

  async submit(): Promise<readonly SampledRow[]> {
    const recorded = performance.now()
    const result = this.#current.during(this.#sampling ?? {}, () => this.#pass.submit())
    const submitted = performance.now()
    const rows = await result
    this.#seen({
      recording: recorded - this.#start,
      submitting: submitted - recorded,
      waiting: performance.now() - submitted,
    })
    return rows
  }
}
