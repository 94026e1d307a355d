import { expect, test } from 'vitest'
import { softwareGpu } from './swiftshader.js'

test('a compute shader runs in Node without a GPU', async () => {
  const gpu = await softwareGpu()
  const adapter = await gpu.requestAdapter()
  const device = await adapter!.requestDevice()
  const buffer = device.createBuffer({ size: 16, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC })
  const read = device.createBuffer({ size: 16, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST })
  const code = `@group(0) @binding(0) var<storage, read_write> out: array<u32>;
    @compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3u) { out[id.x] = id.x * id.x; }`
  const pipeline = device.createComputePipeline({
    layout: 'auto',
    compute: { module: device.createShaderModule({ code }), entryPoint: 'main' },
  })
  const encoder = device.createCommandEncoder()
  const pass = encoder.beginComputePass()
  pass.setPipeline(pipeline)
  pass.setBindGroup(
    0,
    device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries: [{ binding: 0, resource: { buffer } }] }),
  )
  pass.dispatchWorkgroups(1)
  pass.end()
  encoder.copyBufferToBuffer(buffer, 0, read, 0, 16)
  device.queue.submit([encoder.finish()])
  await read.mapAsync(GPUMapMode.READ)
  expect([...new Uint32Array(read.getMappedRange())]).toEqual([0, 1, 4, 9])
})
