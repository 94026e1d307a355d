/** A device of which each pass is written down. */
import type { Batch, Device } from '../../src/device/contract.js'
import type { Counts } from './compare.js'

export function watched(device: Device, passes: Batch[]): Device {
  return {
    ...device,
    get memory() {
      return device.memory
    },
    begin(batch) {
      passes.push(batch)
      return device.begin(batch)
    },
  }
}

export function passesOf(passes: readonly Batch[]): Counts {
  const rows = passes.flatMap(({ spans }) => spans.map(({ tokens }) => tokens.length))
  return { passes: passes.length, 'rows of them': rows.reduce((sum, each) => sum + each, 0) }
}
