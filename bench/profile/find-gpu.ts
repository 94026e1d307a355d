/** Node's WebGPU, with its clock as fine as it is: the machine's GPU, and SwiftShader where there is none. */
import { existsSync } from 'node:fs'
import { useSwiftshader } from '../../test/support/swiftshader.js'

/** For ever: Dawn crashes once what `create` returned is garbage-collected. */
let kept: GPU | undefined

export async function findGpu(): Promise<GPU> {
  await softwareWhereNone()
  const { create, globals } = await import('webgpu')
  Object.assign(globalThis, globals)
  // Against pages that spy, Dawn rounds timestamps to 65 us, which is longer than most dispatches take.
  kept ??= create(['disable-dawn-features=timestamp_quantization'])
  return kept
}

/** Before anybody looks for a GPU: where there is none, SwiftShader is one. */
export async function softwareWhereNone(): Promise<void> {
  if (process.env.LOCAL_V1_VULKAN || !hasGpu()) await useSwiftshader()
}

/** Where Linux shows its GPUs; drivers are often installed without one. Other systems bring theirs. */
function hasGpu(): boolean {
  return process.platform !== 'linux' || ['/dev/dri', '/dev/nvidia0', '/dev/dxg'].some(existsSync)
}
