/** What kernels can count on, found by trying: what adapters promise, compilers do not always take. */

import { ofNative } from '../../platform/index.js'

const THREADS = 64
const STORAGE = 0x80
const COPY_SRC = 0x4
const COPY_DST = 0x8
const MAP_READ = 0x1

const LANES = /* wgsl */ `
enable subgroups;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(${THREADS})
fn main(
  @builtin(local_invocation_index) index: u32,
  @builtin(subgroup_invocation_id) place: u32,
  @builtin(subgroup_size) size: u32,
) {
  out[index] = subgroupShuffleXor(index, 1u) | (place << 8u) | (size << 16u);
}`

/** A code, as the end of the mantissa of 1024, times itself less 1031. */
const HALVES = /* wgsl */ `
enable f16;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(${THREADS})
fn main(@builtin(local_invocation_index) index: u32) {
  let pair = bitcast<vec2<f16>>((index % 16u) | 0x64006400u) - 1031.0h;
  out[index] = u32(f32(fma(pair.x, pair.x, pair.y)) + 8.0);
}`

/** Bytes of both signs, by others: what lies above an eighth bit must not leak, and the sum is added up in 32 bits. */
const PACKED = /* wgsl */ `
requires packed_4x8_integer_dot_product;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(${THREADS})
fn main(@builtin(local_invocation_index) index: u32) {
  let i = i32(index);
  out[index] = u32(dot4I8Packed(pack4xI8(vec4<i32>(i, -i, -127, 127)), 0x7f80ff03u) + 65536);
}`

/** Whether shaders multiply and add four bytes at once, and do so rightly. */
export async function multipliesPacked(device: GPUDevice): Promise<boolean> {
  const words = await probe(device, PACKED)
  return words?.every((word, i) => word === 3 * i + i + 127 * 128 + 127 * 127 + 65536) ?? false
}

/** Whether shaders may compute in f16, and do so rightly. */
export async function computesInHalf(device: GPUDevice): Promise<boolean> {
  if (!device.features.has('shader-f16')) return false
  const words = await probe(device, HALVES)
  return words?.every((word, i) => word === ((i % 16) - 7) ** 2 + 1) ?? false
}

/** What Dawn's adapters say of their subgroups; absent elsewhere. */
type Info = GPUAdapterInfo & { readonly subgroupMinSize?: number; readonly subgroupMaxSize?: number }

/**
 * How many neighbouring lanes every kernel may count on: 1 where there are no subgroups, or where they do not lie in a
 * workgroup in order.
 */
export async function lanesTogether(device: GPUDevice, adapterInfo: GPUAdapterInfo): Promise<number> {
  if (!device.features.has('subgroups' as GPUFeatureName)) return 1
  const { subgroupMinSize: least = 4, vendor } = adapterInfo as Info
  const words = await probe(device, LANES)
  if (!words) return 1
  const size = words[0]! >>> 16
  const inOrder = words.every((word, i) => (word & 0xff) === (i ^ 1) && ((word >>> 8) & 0xff) === i % size)
  if (!inOrder || size < 2) return 1
  // Metal names no size before a kernel is compiled, and Apple's are all of one.
  const sure = vendor === 'apple' ? size : Math.min(least, size)
  return Math.min(64, 2 ** Math.floor(Math.log2(sure)))
}

async function probe(device: GPUDevice, code: string): Promise<Uint32Array | undefined> {
  const buffers: GPUBuffer[] = []
  const buffer = (usage: number) => {
    const made = device.createBuffer({ size: THREADS * 4, usage })
    buffers.push(made)
    return made
  }
  device.pushErrorScope('validation')
  try {
    const module = device.createShaderModule({ code, label: 'probe' })
    const pipeline = device.createComputePipeline({ layout: 'auto', compute: { module } })
    const out = buffer(STORAGE | COPY_SRC)
    const staging = buffer(COPY_DST | MAP_READ)
    const entries = [{ binding: 0, resource: { buffer: out } }]
    const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries })
    const encoder = device.createCommandEncoder()
    const pass = encoder.beginComputePass()
    pass.setPipeline(pipeline)
    pass.setBindGroup(0, group)
    pass.dispatchWorkgroups(1)
    pass.end()
    encoder.copyBufferToBuffer(out, 0, staging, 0, THREADS * 4)
    device.queue.submit([encoder.finish()])
    if (await ofNative(device.popErrorScope())) return undefined
    await ofNative(staging.mapAsync(MAP_READ))
    return new Uint32Array(staging.getMappedRange().slice(0))
  } catch {
    return undefined
  } finally {
    for (const made of buffers) made.destroy()
  }
}
