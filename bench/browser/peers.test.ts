import { expect, it } from 'vitest'
import { onGpu } from '../peers/wllama.js'
import { onDevices } from './peers.js'

it('wllama stands on the GPU where our core is asked to, and on each device once', () => {
  expect(onDevices(['cpu'])).toEqual([false])
  expect(onDevices(['webgpu'])).toEqual([true])
  expect(onDevices(['cpu', 'webgpu', 'cpu'])).toEqual([false, true])
})

it('wllama is taken to be on the GPU where its weights lie there, not where it was asked to', () => {
  const cpu = 'load_tensors:          CPU model buffer size =     0.08 MiB'
  expect(onGpu(['llama_context:     WebGPU  output buffer size = 0.02 MiB', cpu])).toBe(false)
  expect(onGpu([cpu.replace('CPU', 'CPU_Mapped')])).toBe(false)
  expect(onGpu([cpu, cpu.replace('CPU', 'WebGPU')])).toBe(true)
})
