import type { ModelRecord } from './library.js'

/** What WebLLM asks of an adapter. */
export interface GpuFacts {
  readonly features: { has(feature: string): boolean }
  readonly maxStorageBufferBindingSize: number
  readonly name?: string
}

/** The adapter that WebLLM will take; undefined where there is none. */
export async function probeGpu(): Promise<GpuFacts | undefined> {
  const gpu = typeof navigator === 'undefined' ? undefined : navigator.gpu
  const adapter = await gpu?.requestAdapter({ powerPreference: 'high-performance' })
  if (!adapter) return undefined
  const { vendor, architecture, description } = adapter.info
  return {
    features: adapter.features,
    maxStorageBufferBindingSize: adapter.limits.maxStorageBufferBindingSize,
    name: description || [vendor, architecture].filter(Boolean).join(' '),
  }
}

/** Why this device cannot run a model; undefined where nothing speaks against it. */
export function whyNot(record: ModelRecord, gpu: GpuFacts | undefined, budget: number): string | undefined {
  if (gpu === undefined) return 'There is no WebGPU here. Node has it from the npm package webgpu.'
  const missing = (record.required_features ?? []).filter((feature) => !gpu.features.has(feature))
  if (missing.length > 0) return `The GPU lacks ${missing.join(', ')}.`
  const buffer = record.buffer_size_required_bytes ?? 0
  if (buffer > gpu.maxStorageBufferBindingSize) {
    return `It needs buffers of ${mib(buffer)} MiB; the GPU's are limited to ${mib(gpu.maxStorageBufferBindingSize)} MiB.`
  }
  const needed = memoryOf(record)
  if (needed > budget) return `It needs ${mib(needed)} MiB of GPU memory; the memory budget is ${mib(budget)} MiB.`
  return undefined
}

/** GPU memory by WebLLM's own figure; 0 where the record has none. */
export function memoryOf({ vram_required_MB }: ModelRecord): number {
  return Math.round((vram_required_MB ?? 0) * 2 ** 20)
}

const mib = (bytes: number) => Math.ceil(bytes / 2 ** 20)
