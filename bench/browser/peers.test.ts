import { expect, it } from 'vitest'
import { onDevices } from './peers.js'

it('wllama stands on the GPU where our core is asked to, and on each device once', () => {
  expect(onDevices(['cpu'])).toEqual([false])
  expect(onDevices(['webgpu'])).toEqual([true])
  expect(onDevices(['cpu', 'webgpu', 'cpu'])).toEqual([false, true])
})
