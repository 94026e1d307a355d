/** The CPU device: every machine's fallback. WebAssembly SIMD, on as many threads as help. */
import { V1Error } from '../../contract/index.js'
import { breathe } from '../../platform/index.js'
import {
  type Activations,
  type Batch,
  type Device,
  type DeviceInfo,
  type DeviceLimits,
  filled,
  type MatrixShape,
  type Pass,
  type Sampler,
  type SamplerShape,
} from '../contract.js'
import { CONTROL } from './abi.js'
import { KERNELS_HASH } from './kernels.generated.js'
import { CpuMatrix, storedBytes } from './matrix.js'
import { DeviceMemory } from './memory.js'
import { Packer } from './packer.js'
import { CpuPass } from './pass.js'
import type { CpuPassHost, OperationProfiler } from './pass-host.js'
import { type ByteProducts, ProductTrial } from './product-trial.js'
import { PassProgram } from './program.js'
import { CpuRouting } from './routing.js'
import { Runner, TOGETHER_BYTES } from './runner.js'
import { CpuSampler } from './sampler.js'
import { CONTROL_BYTES, gatherTeam, MAX_THREADS, sharingRefusal, type Team, usefulThreads } from './team.js'
import { CpuActivations, CpuCache, CpuReadingRoom, CpuStates, CpuVector } from './tensors.js'
import { bestVariant, compileKernels, hasSimd, instantiate, type Kernels, type KernelVariant } from './wasm.js'

/** A pass ends in a turn of the event loop so often: it computes before it returns, and everything else would wait. */
const TURN_MS = 8
let turned = 0

async function pause(): Promise<void> {
  if (performance.now() - turned < TURN_MS) return
  await breathe()
  turned = performance.now()
}

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
   * @default what a trial of 10 to 50 ms finds quicker, for each type of weights, when the first of it is loaded
   */
  readonly byteProducts?: ByteProducts
  /** Why this device was taken, for its description. */
  readonly reason?: string
  /** Takes the times of operations. @default none */
  readonly profiler?: OperationProfiler
}

const TOGETHER = CONTROL + CONTROL_BYTES
const MAX_ROWS = 8192
const MAX_HEAD_SIZE = 512

/** @throws V1Error 503 where there is no WebAssembly SIMD, or the page forbids WebAssembly */
export async function openCpuDevice(options: CpuDeviceOptions = {}): Promise<Device> {
  if (!hasSimd()) {
    throw new V1Error(503, 'This host has no WebAssembly SIMD, which the CPU device needs.', { code: 'no_device' })
  }
  const wanted = Math.min(MAX_THREADS, Math.max(1, Math.floor(options.threads ?? usefulThreads())))
  const refusal = wanted > 1 ? sharingRefusal() : undefined
  const shared = wanted > 1 && refusal === undefined
  const { variant, module } = await compiled(options.variant, shared)
  const memory = new DeviceMemory(TOGETHER + TOGETHER_BYTES, shared)
  const kernels = await instantiate(module, memory.memory)
  const team = await gatherTeam(kernels, module, memory.memory, CONTROL, shared ? wanted : 1)
  const threads = refusal === undefined ? team.reason : `one thread, because ${refusal}`
  const exact = options.exact ?? false
  const info: DeviceInfo = {
    kind: 'cpu',
    name: `WebAssembly ${variant === 'relaxed' ? 'relaxed SIMD' : 'SIMD'}, ${threads}`,
    reason: options.reason ?? 'The CPU was asked for.',
    kernels: `cpu-${KERNELS_HASH}${exact ? '-exact' : ''}`,
  }
  const { profiler, byteProducts } = options
  const chosen = { ...(profiler && { profiler }), ...(byteProducts && { byteProducts }) }
  return assemble(info, { memory, team, variant, exact, kernels, ...chosen })
}

async function compiled(given: KernelVariant | undefined, shared: boolean) {
  try {
    const variant = given ?? bestVariant()
    return { variant, module: await compileKernels(variant, shared) }
  } catch (cause) {
    const message =
      "WebAssembly, which the CPU device needs, is forbidden here: a Content-Security-Policy must allow 'wasm-unsafe-eval'."
    // A page keeps its policy.
    throw new V1Error(503, message, { code: 'no_device', headers: { 'x-should-retry': 'false' }, cause })
  }
}

interface Parts {
  readonly memory: DeviceMemory
  readonly team: Team
  readonly variant: KernelVariant
  readonly exact: boolean
  readonly kernels: Kernels
  readonly profiler?: OperationProfiler
  readonly byteProducts?: ByteProducts
}

function assemble(info: DeviceInfo, parts: Parts): Device {
  const { memory, team, kernels, exact } = parts
  const limits: DeviceLimits = {
    tensorBytes: memory.limit,
    totalBytes: memory.limit,
    rows: MAX_ROWS,
    headSize: MAX_HEAD_SIZE,
  }
  let alive = true
  let open: CpuPass | undefined
  let loss: V1Error | undefined
  let lose: (error: Error) => void
  const lost = new Promise<Error>((resolve) => {
    lose = resolve
  })
  const onLost = (error: V1Error) => {
    loss = error
    lose(error)
  }
  const runner = new Runner({ kernels, memory, team, control: CONTROL, room: TOGETHER, onLost })
  const packer = new Packer(memory, runner, team.threads)
  const products = new ProductTrial(parts)
  const empty = (bands: readonly MatrixShape[]) => {
    const matrix = new CpuMatrix(memory, packer, bands, exact)
    for (const { kind } of matrix.bands) products.meet(kind)
    return matrix
  }
  const host: CpuPassHost = {
    memory,
    runner,
    program: new PassProgram(team.threads),
    threads: team.threads,
    variant: parts.variant,
    products,
    done: pause,
    ...(parts.profiler && { profiler: parts.profiler }),
  }
  const living = <T>(make: () => T): T => {
    if (loss) throw loss
    if (!alive) throw new V1Error(503, 'The device was destroyed.', { code: 'device_destroyed' })
    return make()
  }
  return {
    info,
    limits,
    get memory() {
      return alive ? { bytes: memory.bytes, buffers: memory.buffers } : { bytes: 0, buffers: 0 }
    },
    lost,
    matrix: (data) => living(() => filled(data, empty)),
    growingMatrix: (bands) =>
      living(() => {
        const matrix = empty(bands)
        return { matrix, add: (rows) => living(() => matrix.add(rows)) }
      }),
    stage: (bytes) => living(() => (memory.stays ? new CpuReadingRoom(memory, bytes) : undefined)),
    reserve: (bytes) => living(() => memory.reserve(bytes)),
    matrixBytes: storedBytes,
    vector: (values) => living(() => new CpuVector(memory, values)),
    activations: (rows, columns): Activations => living(() => new CpuActivations(memory, rows, columns)),
    routing: (shape) => living(() => new CpuRouting(memory, shape)),
    cache: (shape) => living(() => new CpuCache(memory, shape)),
    states: (shape) => living(() => new CpuStates(memory, shape)),
    sampler: (shape: SamplerShape): Sampler => living(() => new CpuSampler(memory, kernels, shape)),
    begin: (batch: Batch): Pass =>
      living(() => {
        open?.close()
        open = new CpuPass(host, batch)
        return open
      }),
    idle: () => living(pause),
    work: team.work,
    get kernelChoices() {
      return products.choices
    },
    destroy() {
      if (!alive) return
      alive = false
      open?.close()
      team.close()
    },
  }
}
