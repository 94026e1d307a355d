/**
 * `available`: a GPU computes. `software`: WebGPU is there, but computes on the processor. `missing`: there is none.
 */
export type WebGpuState = 'available' | 'software' | 'missing'

export interface WebGpuFinding {
  readonly webgpu: WebGpuState
  /** What that means for the user, in a sentence or two that may be shown. */
  readonly explanation: string
}

const CPU = "Models run on this device's processor instead: the same answers, but slower, so choose a small model."

/** What the page can tell about WebGPU before any model is loaded; the models' metadata names the device that was taken. */
export async function findWebGpu(): Promise<WebGpuFinding> {
  const gpu = (navigator as { gpu?: GPU }).gpu
  if (!gpu) return { webgpu: 'missing', explanation: `This browser has no WebGPU. ${CPU}` }
  const adapter = await gpu.requestAdapter().catch(() => null)
  if (!adapter) {
    return { webgpu: 'missing', explanation: `This browser has WebGPU, but found no GPU that it may use. ${CPU}` }
  }
  const { description, vendor, architecture } = adapter.info
  const name = description || [vendor, architecture].filter(Boolean).join(' ')
  const { isFallbackAdapter } = adapter.info as GPUAdapterInfo & { readonly isFallbackAdapter?: boolean }
  if (isFallbackAdapter || /swiftshader|llvmpipe|lavapipe|basic render/i.test(name)) {
    return { webgpu: 'software', explanation: `WebGPU is only emulated in software here (${name}). ${CPU}` }
  }
  return { webgpu: 'available', explanation: `Models run on this device's GPU${name && ` (${name})`}.` }
}
