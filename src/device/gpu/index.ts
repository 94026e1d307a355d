/** Opens a WebGPU device: the browser's, Deno's, or in Node that of the npm package `webgpu`. */
import { V1Error } from '../../contract/index.js'
import {
  heldByNative,
  lookForAdapter,
  MATRICES_FEATURE,
  matrixConfigsOf,
  ofNative,
  openDawn,
  type SeenAdapter,
} from '../../platform/index.js'
import type { Device } from '../contract.js'
import type { DispatchProfiler } from './dispatch-profiler.js'
import { GpuDevice } from './gpu-device.js'
import { type Cuts, cutsOf, ROOMY } from './kernels/cuts.js'
import type { GpuTraits } from './kernels/kernel.js'
import { chooseMatrices } from './kernels/subgroup-matrices.js'
import { provesMatrices } from './matrix-trial.js'
import { computesInHalf, lanesTogether, multipliesPacked } from './probe.js'

export interface OpenGpuOptions {
  /** @default navigator.gpu, else the npm package `webgpu` */
  gpu?: GPU
  /** Refuses an adapter in software. @default false */
  hardwareOnly?: boolean
  /** Which way of cutting the work: chosen by the adapter unless a test names one. */
  serial?: boolean
  /** `false`: kernels do without subgroups where there are some. @default true */
  subgroups?: boolean
  /** `false`: kernels compute in f32 also where shaders may in f16. @default true */
  half?: boolean
  /** Other ways of cutting kernels, for tests and to find the best. @default `CUTS` */
  cuts?: Partial<Cuts>
  /** Bytes that one binding may have, for tests: matrices of more are kept in parts. @default the adapter's limit */
  bindingBytes?: number
  /** Bytes that a workgroup may share, for tests: what every GPU has is 16384. @default the adapter's limit */
  workgroupBytes?: number
  /** Multiplications after which a pass hands over what it has recorded. @default by how quick the GPU is */
  submitWork?: number
  /** Makes what takes the times of dispatches: the adapter must have `timestamp-query`. @default none */
  profiler?: (device: GPUDevice) => DispatchProfiler
  /** @default 'WebGPU was asked for.' */
  reason?: string
}

/** Fails with a `V1Error` 503 that says what is missing. */
export async function openWebGpuDevice(options: OpenGpuOptions = {}): Promise<Device> {
  const gpu = options.gpu ?? (await findGpu(options))
  if (!gpu) throw unavailable(globalThis.isSecureContext === false ? NOT_SECURE : 'this runtime has no WebGPU')
  const adapter = await ofNative(gpu.requestAdapter({ powerPreference: 'high-performance' }))
  if (!adapter) throw unavailable('there is no WebGPU adapter')
  holdToHardware(adapter, options)
  const software = isSoftware(adapter)
  if (options.profiler && !adapter.features.has('timestamp-query')) {
    throw unavailable(`${adapterName(adapter)} has no timestamp-query, and nothing else tells the times of dispatches`)
  }
  const serial = options.serial ?? software
  const requested = adapter.requestDevice({
    requiredLimits: wantedLimits(adapter.limits, options),
    requiredFeatures: [
      ...(serial ? [] : wantedFeatures(adapter, options)),
      ...(options.profiler ? (['timestamp-query'] as const) : []),
    ],
  })
  const device = await ofNative(requested)
  const forget = heldByNative(() => device.destroy())
  void device.lost.then(forget)
  const traits: GpuTraits = {
    ...{ serial, lanes: await lanesTogether(device, adapter.info), half: await computesInHalf(device) },
    ...(device.limits.maxComputeWorkgroupStorageSize < ROOMY && { tight: true }),
    ...(options.cuts && { cuts: options.cuts }),
    ...(options.cuts?.vectors?.packed && !serial && { packed: await multipliesPacked(device) }),
  }
  return new GpuDevice(device, {
    name: adapterName(adapter),
    reason: options.reason ?? 'WebGPU was asked for.',
    traits: await withMatrices(device, adapter, traits),
    ...(options.bindingBytes === undefined ? {} : { bindingBytes: options.bindingBytes }),
    ...(options.submitWork === undefined ? {} : { submitWork: options.submitWork }),
    ...(options.profiler && { profiler: options.profiler(device) }),
  })
}

/** Those that kernels cut for hardware make use of. */
function wantedFeatures(
  { features }: GPUAdapter,
  { subgroups = true, half = true, cuts }: OpenGpuOptions,
): GPUFeatureName[] {
  const ofSubgroups = ['subgroups', ...(cutsOf({ ...(cuts && { cuts }) }).matrices ? [MATRICES_FEATURE] : [])]
  const wanted = [...(subgroups ? ofSubgroups : []), ...(half ? ['shader-f16'] : [])] as GPUFeatureName[]
  return wanted.filter((feature) => features.has(feature))
}

/** With the matrices that subgroups multiply, where there are some and they were tried. */
async function withMatrices(device: GPUDevice, { info }: GPUAdapter, traits: GpuTraits): Promise<GpuTraits> {
  const { subgroupMaxSize = Number.POSITIVE_INFINITY } = info as { readonly subgroupMaxSize?: number }
  const configs = matrixConfigsOf({ info, features: device.features })
  if (!configs || traits.tight || traits.lanes === 1) return traits
  const matrices = chooseMatrices(configs, subgroupMaxSize, traits.half)
  if (!matrices) return traits
  const tried = { ...traits, matrices }
  return (await provesMatrices(device, tried)) ? tried : traits
}

/** Whether an adapter computes on the processor: a CPU device of our own is many times faster. */
export function isSoftware(adapter: SeenAdapter): boolean {
  const info = adapter.info as GPUAdapterInfo & { readonly isFallbackAdapter?: boolean }
  return info.isFallbackAdapter === true || /swiftshader|llvmpipe|lavapipe|basic render/i.test(adapterName(adapter))
}

function holdToHardware(adapter: SeenAdapter, { hardwareOnly }: OpenGpuOptions): void {
  if (hardwareOnly && isSoftware(adapter))
    throw unavailable(`the only adapter, ${adapterName(adapter)}, is in software`)
}

async function findGpu(options: OpenGpuOptions): Promise<GPU | undefined> {
  const own = (globalThis as { navigator?: { gpu?: GPU } }).navigator?.gpu
  if (own) return own
  if (typeof process === 'undefined' || !process.versions?.node) return undefined
  const look = await lookForAdapter()
  if (look && !look.adapter) throw unavailable(look.why)
  if (look?.adapter) holdToHardware(look.adapter, options)
  return (await openDawn())?.gpu
}

function wantedLimits(limits: GPUSupportedLimits, { workgroupBytes }: OpenGpuOptions): Record<string, number> {
  return {
    maxBufferSize: limits.maxBufferSize,
    maxStorageBufferBindingSize: limits.maxStorageBufferBindingSize,
    maxComputeWorkgroupStorageSize: workgroupBytes ?? limits.maxComputeWorkgroupStorageSize,
  }
}

function adapterName(adapter: SeenAdapter): string {
  const { vendor, architecture, device, description } = adapter.info
  return description || [vendor, architecture, device].filter(Boolean).join(' ') || 'unnamed adapter'
}

const NOT_SECURE = 'browsers have it in secure pages alone, which come by https or from http://localhost'

function unavailable(why: string): V1Error {
  return new V1Error(503, `WebGPU cannot be used: ${why}.`, { code: 'device_unavailable' })
}
