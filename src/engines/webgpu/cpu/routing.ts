/** Where rows go of which each goes to some of many experts, and what is done for and with those. */
import type { Activations, CollectOptions, RouteOptions, Routing, RoutingShape } from '../contract.js'
import { OPERATIONS } from '../operations/index.js'
import { own } from './guards.js'
import type { DeviceMemory } from './memory.js'
import type { PassRecorder } from './pass-recorder.js'
import { few } from './program.js'
import { CpuActivations, CpuVector, Tensor } from './tensors.js'

/** In words, one after the other: see `route` of `abi.ts`. */
function layoutOf({ rows, experts, chosen }: RoutingShape) {
  const places = rows * chosen
  const lengths = {
    ...{ active: 1, list: experts, firsts: experts + 1, cursors: experts, keys: experts },
    ...{ rowOf: places, placeOf: places, weights: places + rows },
  }
  let words = 0
  const starts = Object.entries(lengths).map(([name, length]) => {
    words += length
    return [name, words - length]
  })
  return { words, starts: Object.fromEntries(starts) as Readonly<Record<keyof typeof lengths, number>> }
}

export class CpuRouting extends Tensor implements Routing {
  readonly shape: RoutingShape
  readonly #starts: ReturnType<typeof layoutOf>['starts']
  /** Rows of activations where their places are, by their bytes. */
  readonly #rooms = new Map<number, number>()

  constructor(device: DeviceMemory, shape: RoutingShape) {
    const { words, starts } = layoutOf(shape)
    super(device, words * 4)
    this.shape = shape
    this.#starts = starts
  }

  where(part: keyof ReturnType<typeof layoutOf>['starts']): number {
    return this.use() + 4 * this.#starts[part]
  }

  /** Room for a row at each place, which is kept. */
  room(bytesPerRow: number): number {
    let at = this.#rooms.get(bytesPerRow)
    if (at === undefined) {
      at = this.device.allocate(this.shape.rows * this.shape.chosen * bytesPerRow)
      this.#rooms.set(bytesPerRow, at)
    }
    return at
  }

  override destroy(): void {
    for (const at of this.#rooms.values()) this.device.free(at)
    this.#rooms.clear()
    super.destroy()
  }
}

export function route(pass: PassRecorder, scores: Activations, routing: Routing, options: RouteOptions): void {
  OPERATIONS.route.fit(pass.shape, scores, routing, options)
  const [source, to] = [own(scores, CpuActivations), own(routing, CpuRouting)]
  const { rows = pass.rows, normed = false, scale = 1, bias, factors, shared = false } = options
  const { experts, chosen } = to.shape
  const args = {
    ...{ scores: source.use(), scoresStride: source.stride, rows, experts, chosen },
    ...{ kind: options.scores === 'sigmoid' ? 1 : 0, normed, scale },
    ...{ active: to.where('active'), list: to.where('list'), firsts: to.where('firsts') },
    ...{ cursors: to.where('cursors'), rowOf: to.where('rowOf'), placeOf: to.where('placeOf') },
    ...{ weights: to.where('weights'), keys: to.where('keys'), shared },
    bias: bias ? own(bias, CpuVector).use() : 0,
    factors: factors ? own(factors, CpuVector).use() : 0,
  }
  pass.add('route', 1, args, { by: 'one' })
}

export function collect(
  pass: PassRecorder,
  x: Activations,
  out: Activations,
  routing: Routing,
  options: CollectOptions = {},
): void {
  OPERATIONS.collect.fit(pass.shape, x, out, routing, options)
  const [source, target, by] = [own(x, CpuActivations), own(out, CpuActivations), own(routing, CpuRouting)]
  const { rows = pass.rows } = options
  const { chosen } = by.shape
  const shared = options.shared && own(options.shared, CpuActivations)
  const args = {
    ...{ x: source.use(), xStride: source.stride, placeOf: by.where('placeOf'), weights: by.where('weights'), chosen },
    ...{ out: target.use(), outStride: target.stride, columns: source.columns },
    ...{ shared: shared?.use() ?? 0, sharedStride: shared?.stride ?? 0 },
  }
  pass.add('collect', rows, args, few(rows * chosen * source.columns))
}
