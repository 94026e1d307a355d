/** The CPU device: every machine's fallback. WebAssembly SIMD, on as many threads as help. */
import { V1Error } from '../../contract/index.js'
import { builtin } from '../../platform/index.js'
import type { Device, DeviceInfo } from '../contract.js'
import { CONTROL } from './abi.js'
import type { ByteProducts } from './byte-products.js'
import { assembleDevice, type CpuDevice, deviceMemory } from './device.js'
import { KERNELS_HASH } from './kernels.generated.js'
import type { OperationProfiler } from './pass-host.js'
import { assertRevectorize, type Revectorize, revectorizeRefusal } from './revectorize.js'
import { type Build, knownRevectorized, type RevectorizeTrial, revectorized } from './revectorize-trial.js'
import { gatherTeam, MAX_THREADS, sharingRefusal, usefulThreads } from './team.js'
import { bestVariant, compileKernels, hasSimd, instantiate, type KernelVariant } from './wasm.js'
import { widenLater } from './widen-later.js'

export interface CpuDeviceOptions {
  /**
   * How many threads compute, this one included: at most, because a pass too small to gain from several is computed by
   * one. Answers do not depend on it. More than one needs shared memory: a page must be cross-origin isolated.
   * @default all cores of up to four; half of more, of which every other is usually a second thread of a core; at most 8
   */
  readonly threads?: number
  /**
   * Multiply 4-bit weights with activations in f32 instead of rounding these to 8 bits per block of 32. Three times
   * slower.
   * @default false
   */
  readonly exact?: boolean
  /**
   * Which build of the kernels to run.
   * @default the fastest that the host runs; both compute the same
   */
  readonly variant?: KernelVariant
  /**
   * How bytes are multiplied where there is relaxed SIMD. All ways come to the same values.
   * @default what the machine has instructions for, as far as its values tell
   */
  readonly byteProducts?: ByteProducts
  /**
   * Have V8 compile the kernels in 256 bits, by a flag of its own that is an experiment: Node 24 to 26 on x64. What comes to
   * other results here, or is no quicker, is not used; `info.name` says so. `later`: where it can be had, once the device is
   * open and nothing was computed for a second.
   * @default false
   */
  readonly revectorize?: Revectorize
  /** Why this device was taken, for its description. */
  readonly reason?: string
  /** Takes the times of operations. @default none */
  readonly profiler?: OperationProfiler
}

/**
 * @throws V1Error 503 where there is no WebAssembly SIMD, or the page forbids WebAssembly
 * @throws TypeError where `revectorize` cannot be had
 */
export async function openCpuDevice(options: CpuDeviceOptions = {}): Promise<Device> {
  assertRevectorize('openCpuDevice', options.revectorize)
  if (!hasSimd()) {
    throw new V1Error(503, 'This host has no WebAssembly SIMD, which the CPU device needs.', { code: 'no_device' })
  }
  const wanted = Math.min(MAX_THREADS, Math.max(1, Math.floor(options.threads ?? usefulThreads())))
  const unshared = sharingRefusal()
  const refusal = wanted > 1 ? unshared : undefined
  // Views of shared memory stay as it grows: files, where they are read into a given array, are read into it by one thread too.
  const shared = unshared === undefined && (wanted > 1 || builtin('node:fs/promises') !== undefined)
  const build = await compiled(options.variant, shared)
  const exact = options.exact ?? false
  const { revectorize } = options
  const how = { shared, exact }
  const known = revectorize === 'later' ? knownRevectorized(build, how) : undefined
  const tried = revectorize === true ? await revectorized(build, how) : known
  const { variant } = build
  const module = tried?.module ?? build.module
  const memory = deviceMemory(shared)
  const kernels = await instantiate(module, memory.memory)
  const team = await gatherTeam(kernels, module, memory.memory, CONTROL, shared ? wanted : 1)
  const threads = refusal === undefined ? team.reason : `one thread, because ${refusal}`
  const deviceName = (bits: string) =>
    `WebAssembly ${variant === 'relaxed' ? 'relaxed SIMD' : 'SIMD'}${bits}, ${threads}`
  const WIDE = ' in 256 bits'
  const bits = tried === undefined ? '' : tried.module ? WIDE : ` (not in 256 bits, which ${tried.why})`
  const info: DeviceInfo = {
    kind: 'cpu',
    name: deviceName(bits),
    reason: options.reason ?? 'The CPU was asked for.',
    kernels: `cpu-${KERNELS_HASH}${exact ? '-exact' : ''}`,
  }
  const { profiler, byteProducts } = options
  const later = revectorize === 'later' && !tried && revectorizeRefusal() === undefined
  const chosen = {
    ...(profiler && { profiler }),
    ...(byteProducts && { byteProducts }),
    ...(later && {
      beside: (device: CpuDevice) => widenLater(device, () => revectorized(build, how), deviceName(WIDE)),
    }),
  }
  return assembleDevice(info, { memory, team, variant, exact, kernels, ...chosen })
}

/**
 * What `revectorize` brings here: how many times as quick products of several rows are, or why it brings nothing. Takes
 * some tenths of a second, in which this thread does nothing else.
 */
export async function tryRevectorize(): Promise<Pick<RevectorizeTrial, 'gain' | 'why'>> {
  const needed = revectorizeRefusal() ?? (hasSimd() ? undefined : 'WebAssembly SIMD')
  if (needed !== undefined) return { why: `need ${needed}` }
  const build = await compiled(undefined, false)
  return revectorized(build, { shared: false, exact: false })
}

async function compiled(given: KernelVariant | undefined, shared: boolean): Promise<Build> {
  try {
    const variant = given ?? bestVariant()
    return { variant, module: await compileKernels(variant, shared) }
  } catch (cause) {
    const message =
      "WebAssembly, which the CPU device needs, is forbidden here. In a page, the Content-Security-Policy must allow 'wasm-unsafe-eval'. " +
      'Edge runtimes, such as Cloudflare Workers, run no models: there use local-v1/upstream.'
    // A page keeps its policy.
    throw new V1Error(503, message, { code: 'no_device', headers: { 'x-should-retry': 'false' }, cause })
  }
}
