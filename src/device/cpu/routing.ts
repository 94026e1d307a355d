/** Where rows go of which each goes to some of many experts, and what is done for and with those. */
import { getOrMake } from '../../platform/index.js'
import type { Routing, RoutingShape } from '../contract.js'
import type { RoutingList } from '../operations/define.js'
import type { DeviceMemory } from './memory.js'
import { Tensor } from './tensors.js'

/** Words of each of its lists, which lie one after the other. */
function lengthsOf({ rows, experts, chosen }: RoutingShape): Readonly<Record<RoutingList, number>> {
  const places = rows * chosen
  return {
    ...{ active: 1, list: experts, firsts: experts + 1, cursors: experts, keys: experts },
    ...{ rowOf: places, placeOf: places, weights: places + rows },
  }
}

export class CpuRouting extends Tensor implements Routing {
  readonly shape: RoutingShape
  readonly #lists: Readonly<Record<RoutingList, number>>
  /** Rows of activations where their places are, by their bytes. */
  readonly #rooms = new Map<number, number>()

  constructor(device: DeviceMemory, shape: RoutingShape) {
    const lengths = Object.entries(lengthsOf(shape))
    super(device, 4 * lengths.reduce((sum, [, length]) => sum + length, 0))
    this.shape = shape
    let { at } = this
    const starts = lengths.map(([name, length]) => {
      at += 4 * length
      return [name, at - 4 * length]
    })
    this.#lists = Object.fromEntries(starts) as Record<RoutingList, number>
  }

  lists(): Readonly<Record<RoutingList, number>> {
    this.use()
    return this.#lists
  }

  /** Room for a row at each place, which is kept. */
  room(bytesPerRow: number): number {
    return getOrMake(this.#rooms, bytesPerRow, () =>
      this.device.allocate(this.shape.rows * this.shape.chosen * bytesPerRow),
    )
  }

  override destroy(): void {
    for (const at of this.#rooms.values()) this.device.free(at)
    this.#rooms.clear()
    super.destroy()
  }
}
