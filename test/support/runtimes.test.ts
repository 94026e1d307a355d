import { afterAll, describe, expect, test } from 'vitest'
import { launchChromium } from './chromium.js'
import { startDeno } from './deno.js'
import { serveFiles } from './serve.js'
import { softwareGpu } from './swiftshader.js'
import { canUnpack } from './unpack.js'

const closing: (() => Promise<unknown>)[] = []
afterAll(() => Promise.all(closing.map((close) => close())))

describe.skipIf(!canUnpack)('a GPU in software (npm has it for Linux on x64)', () => {
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
      device.createBindGroup({
        layout: pipeline.getBindGroupLayout(0),
        entries: [{ binding: 0, resource: { buffer } }],
      }),
    )
    pass.dispatchWorkgroups(1)
    pass.end()
    encoder.copyBufferToBuffer(buffer, 0, read, 0, 16)
    device.queue.submit([encoder.finish()])
    await read.mapAsync(GPUMapMode.READ)
    expect([...new Uint32Array(read.getMappedRange())]).toEqual([0, 1, 4, 9])
  })

  test('Chromium has a GPU in a page, in a worker and in a service worker', async () => {
    const ask = `navigator.gpu.requestAdapter().then((adapter) => adapter.info.architecture)`
    const server = await serveFiles({
      '/index.html': '<!doctype html><title>gpu</title>',
      '/worker.js': `${ask}.then((name) => postMessage(name))`,
      '/sw.js': `self.onmessage = (event) => event.waitUntil(${ask}.then((name) => event.source.postMessage(name)))`,
    })
    const browser = await launchChromium()
    closing.push(() => browser.close(), server.close)
    const page = await browser.newPage()
    await page.goto(server.origin)
    const found = await page.evaluate(async () => {
      const inPage = await navigator.gpu.requestAdapter()
      const inWorker = await new Promise((resolve, reject) => {
        const worker = new Worker('/worker.js')
        worker.onmessage = (event) => resolve(event.data)
        worker.onerror = (event) => reject(new Error(event.message))
      })
      await navigator.serviceWorker.register('/sw.js')
      const { active } = await navigator.serviceWorker.ready
      const inServiceWorker = await new Promise((resolve) => {
        navigator.serviceWorker.onmessage = (event) => resolve(event.data)
        active!.postMessage('gpu?')
      })
      return [inPage?.info.architecture, inWorker, inServiceWorker]
    })
    expect(found).toEqual(['swiftshader', 'swiftshader', 'swiftshader'])
  })

  test('Deno has a GPU and takes what the test says', async () => {
    const deno = await startDeno('test/support/deno-gpu.ts', { gpu: true, args: ['one', 'two words'] })
    closing.push(() => deno.stop())
    const [, description] = await deno.line(/^adapter: (.*)$/)
    expect(description).toContain('SwiftShader')
    expect((await deno.line(/^args: (.*)$/))[1]).toBe('["one","two words"]')
    expect(await deno.exit).toEqual({ code: 0, signal: null })
  })
})
