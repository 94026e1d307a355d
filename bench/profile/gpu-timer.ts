/** Times of a GPU's dispatches, by timestamps at the edges of compute passes: each dispatch has its own while it is on. */
import type { DispatchProfiler } from '../../src/device/gpu/dispatch-profiler.js'
import type { Kernel } from '../../src/device/gpu/kernels/kernel.js'
import type { Current, Operation, Timed, Timer } from './operation.js'

/** As many as a query set may hold; each dispatch takes two. */
const QUERIES = 4096
const QUERY_RESOLVE = 0x200
const COPY_SRC = 0x4
const COPY_DST = 0x8
const MAP_READ = 0x1
/** By the labels that matrices give their buffers. */
const WEIGHTS = new Set(['codes', 'scales', 'weights'])

interface Dispatched {
  readonly operation: Operation
  readonly kernel: string
  /** Bytes of the matrices that it was given. */
  readonly bound: number
}

export class GpuTimer implements Timer, DispatchProfiler {
  on = false
  readonly #device: GPUDevice
  readonly #current: Current
  readonly #queries: GPUQuerySet
  readonly #resolved: GPUBuffer
  /** Recorded into the encoder that is open. */
  #open: Dispatched[] = []
  #finished: { readonly dispatches: readonly Dispatched[]; readonly staging: GPUBuffer }[] = []

  constructor(device: GPUDevice, current: Current) {
    this.#device = device
    this.#current = current
    this.#queries = device.createQuerySet({ type: 'timestamp', count: QUERIES })
    this.#resolved = device.createBuffer({ size: QUERIES * 8, usage: QUERY_RESOLVE | COPY_SRC })
  }

  dispatch(kernel: Kernel, buffers: readonly GPUBuffer[]): GPUComputePassTimestampWrites | undefined {
    if (!this.on) return undefined
    const at = 2 * this.#open.length
    if (at + 2 > QUERIES) throw new Error(`A submit of more than ${QUERIES / 2} dispatches cannot be timed.`)
    const bound = buffers.reduce((sum, { label, size }) => (WEIGHTS.has(label) ? sum + size : sum), 0)
    this.#open.push({ operation: this.#current.operation, kernel: kernel.name, bound })
    return { querySet: this.#queries, beginningOfPassWriteIndex: at, endOfPassWriteIndex: at + 1 }
  }

  finish(encoder: GPUCommandEncoder): void {
    const dispatches = this.#open
    if (dispatches.length === 0) return
    this.#open = []
    const size = dispatches.length * 16
    const staging = this.#device.createBuffer({ size, usage: MAP_READ | COPY_DST })
    encoder.resolveQuerySet(this.#queries, 0, dispatches.length * 2, this.#resolved, 0)
    encoder.copyBufferToBuffer(this.#resolved, 0, staging, 0, size)
    this.#finished.push({ dispatches, staging })
  }

  async collect(): Promise<readonly Timed[]> {
    const finished = this.#finished
    this.#finished = []
    const all: Timed[] = []
    const shareOf = sharesOf(finished.flatMap(({ dispatches }) => dispatches))
    for (const { dispatches, staging } of finished) {
      await staging.mapAsync(MAP_READ)
      const times = new BigUint64Array(staging.getMappedRange())
      dispatches.forEach((dispatch, i) => {
        // Nanoseconds. Drivers have been seen to set their clock back.
        const nanoseconds = Math.max(0, Number(times[2 * i + 1]! - times[2 * i]!))
        all.push({ ...described(dispatch, shareOf(dispatch)), milliseconds: nanoseconds / 1e6 })
      })
      staging.destroy()
    }
    return all
  }

  begin(): void {}

  destroy(): void {
    for (const { staging } of this.#finished.splice(0)) staging.destroy()
    this.#resolved.destroy()
    this.#queries.destroy()
  }
}

/** Which part of an operation's products a dispatch makes: of a matrix in parts, or twice with its halves, its own. */
function sharesOf(dispatches: readonly Dispatched[]): (dispatch: Dispatched) => number {
  const whole = new Map<Operation, number>()
  for (const { operation, bound } of dispatches) whole.set(operation, (whole.get(operation) ?? 0) + bound)
  return ({ operation, bound }) => (bound > 0 ? bound / whole.get(operation)! : 0)
}

function described({ operation, kernel }: Dispatched, share: number): Omit<Timed, 'milliseconds'> {
  const { name, weights, cache, logits, multiplications } = operation
  const attends = /attend/.test(kernel) && !/merge/.test(kernel)
  return {
    // It waits for attention, which may do it by the way.
    operation: kernel === 'rope' ? 'rope' : name,
    kernel,
    bytes: weights * share + (attends ? cache : 0) + logits,
    multiplications: multiplications * (attends ? 1 : share),
  }
}
