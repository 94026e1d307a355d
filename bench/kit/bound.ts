/**
 * What the adapter can do at most, by kernels that do nothing else: bytes copied, and multiplications with an addition.
 * Beside these every other figure says how far it is from the machine's bound.
 */
import type { MachineBound } from '../profile/table.js'

const LANES = 256
/** Workgroups of a dispatch: more than any GPU runs at once. */
const GROUPS = 4096
/** So much of memory that no cache holds it, and the tenth of a second that a GPU in software has. */
const COPIED = { hardware: 1 << 28, software: 1 << 24 }
/** Chains of vectors of four, so that no product waits for the one before it. */
const CHAINS = 8
const ROUNDS = { hardware: 256, software: 8 }
/** Milliseconds that a measurement takes at least: what the queue takes to answer is little beside it. */
const LONG = 40
const MOST_DISPATCHES = 4096
const REPEATS = 5

const COPY = `
@group(0) @binding(0) var<storage, read> source: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> result: array<vec4f>;
@compute @workgroup_size(${LANES})
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  for (var i = id.x; i < arrayLength(&result); i += groups.x * ${LANES}) { result[i] = source[i]; }
}`

/** All begin with numbers of their own, and all are asked for in the end: nothing can be left out. */
function products(type: 'f32' | 'f16', rounds: number): string {
  const chains = Array.from({ length: CHAINS }, (_, i) => i)
  const vector = `vec4<${type}>`
  return `${type === 'f16' ? 'enable f16;' : ''}
@group(0) @binding(0) var<storage, read> source: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> result: array<vec4f>;
@compute @workgroup_size(${LANES})
fn main(@builtin(global_invocation_id) id: vec3u) {
  let factor = ${vector}(source[id.x % arrayLength(&source)]);
  ${chains.map((i) => `var a${i} = factor + ${vector}(${i});`).join(' ')}
  for (var i = 0; i < ${rounds}; i++) { ${chains.map((i) => `a${i} = fma(a${i}, factor, factor);`).join(' ')} }
  result[id.x % arrayLength(&result)] = vec4f(${chains.map((i) => `a${i}`).join(' + ')});
}`
}

export async function boundOf(adapter: GPUAdapter, software: boolean): Promise<MachineBound> {
  const kind = software ? 'software' : 'hardware'
  const half = adapter.features.has('shader-f16')
  const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits
  const device = await adapter.requestDevice({
    requiredFeatures: half ? ['shader-f16'] : [],
    requiredLimits: { maxBufferSize, maxStorageBufferBindingSize },
  })
  const size = Math.min(COPIED[kind], maxBufferSize, maxStorageBufferBindingSize) & ~15
  const buffers = [0, 1].map(() => device.createBuffer({ size, usage: GPUBufferUsage.STORAGE }))
  try {
    const measured = (code: string) => quickest(device, code, buffers)
    const multiplied = (seconds: number) => (GROUPS * LANES * CHAINS * 4 * ROUNDS[kind]) / seconds / 1e9
    return {
      copyGBps: (2 * size) / (await measured(COPY)) / 1e9,
      fmaGMulps: multiplied(await measured(products('f32', ROUNDS[kind]))),
      ...(half && { halfGMulps: multiplied(await measured(products('f16', ROUNDS[kind]))) }),
    }
  } finally {
    device.destroy()
  }
}

/** Seconds of a dispatch. */
async function quickest(device: GPUDevice, code: string, buffers: readonly GPUBuffer[]): Promise<number> {
  const pipeline = await device.createComputePipelineAsync({
    layout: 'auto',
    compute: { module: device.createShaderModule({ code }), entryPoint: 'main' },
  })
  const bindings = device.createBindGroup({
    layout: pipeline.getBindGroupLayout(0),
    entries: buffers.map((buffer, binding) => ({ binding, resource: { buffer } })),
  })
  const timed = async (dispatches: number) => {
    const encoder = device.createCommandEncoder()
    const pass = encoder.beginComputePass()
    pass.setPipeline(pipeline)
    pass.setBindGroup(0, bindings)
    for (let i = 0; i < dispatches; i++) pass.dispatchWorkgroups(GROUPS)
    pass.end()
    const start = performance.now()
    device.queue.submit([encoder.finish()])
    await device.queue.onSubmittedWorkDone()
    return performance.now() - start
  }
  // The first is the warm-up.
  await timed(1)
  let dispatches = 1
  while ((await timed(dispatches)) < LONG && dispatches < MOST_DISPATCHES) dispatches *= 2
  const times: number[] = []
  for (let i = 0; i < REPEATS; i++) times.push(await timed(dispatches))
  return Math.min(...times) / dispatches / 1000
}
