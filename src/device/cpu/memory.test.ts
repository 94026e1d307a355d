import { expect, it } from 'vitest'
import { DeviceMemory } from './memory.js'

const MIB = 1048576

it('memory that was reserved does not grow when it is asked for', () => {
  const device = new DeviceMemory(0, false)
  device.reserve(50 * MIB)
  expect(device.bytes).toBe(0)
  const { buffer } = device.memory
  for (let i = 0; i < 50; i++) device.allocate(MIB)
  expect(device.memory.buffer).toBe(buffer)
})

it('more than there is cannot be reserved, and what there is may still be asked for', () => {
  const device = new DeviceMemory(0, false)
  device.reserve(device.limit + MIB)
  expect(device.u8[device.allocate(MIB)]).toBe(0)
})
