import { overlaid } from './overlaid.js'
import { softwareGpu } from './swiftshader.js'

/** By what was asked for. */
const devices = new Map<string, Promise<GPUDevice>>()
/** While one of a source is there, Dawn compiles it no second time. */
const pipelines = new Set<GPUComputePipeline>()

/**
 * A GPU whose devices are one for all who ask for the same, as long as the process lives: SwiftShader compiles for a second
 * what it runs for a millisecond, and many tests run the same kernels. Whoever destroys theirs leaves it to the others.
 */
export async function sharedGpu(): Promise<GPU> {
  const gpu = await softwareGpu()
  return overlaid(gpu, {
    requestAdapter: async (options) => {
      const adapter = await gpu.requestAdapter(options)
      return adapter && overlaid(adapter, { requestDevice: (wanted) => deviceOf(adapter, wanted) })
    },
  })
}

async function deviceOf(adapter: GPUAdapter, wanted?: GPUDeviceDescriptor): Promise<GPUDevice> {
  const key = JSON.stringify(wanted)
  const found = devices.get(key) ?? adapter.requestDevice(wanted)
  devices.set(key, found)
  const device = await found
  const kept = (pipeline: GPUComputePipeline) => {
    pipelines.add(pipeline)
    return pipeline
  }
  return overlaid(device, {
    createComputePipeline: (descriptor) => kept(device.createComputePipeline(descriptor)),
    createComputePipelineAsync: async (descriptor) => kept(await device.createComputePipelineAsync(descriptor)),
    destroy: () => undefined,
  })
}
