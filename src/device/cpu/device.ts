/** The CPU device, made of its parts: kernels in their memory, and threads. */
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
import { CONTROL_BYTES, type Team } from './team.js'
import { CpuActivations, CpuCache, CpuReadingRoom, CpuStates, CpuVector } from './tensors.js'
import { type Kernels, type KernelVariant, multipliesWholeBytes } from './wasm.js'

/** A pass ends in a turn of the event loop so often: it computes before it returns, and everything else would wait. */
const TURN_MS = 8
let turned = 0

async function pause(): Promise<void> {
  if (performance.now() - turned < TURN_MS) return
  await breathe()
  turned = performance.now()
}

const TOGETHER = CONTROL + CONTROL_BYTES
const MAX_ROWS = 8192
const MAX_HEAD_SIZE = 512

/** With room for what threads agree on. */
export const deviceMemory = (shared: boolean): DeviceMemory => new DeviceMemory(TOGETHER + TOGETHER_BYTES, shared)

export interface DeviceParts {
  readonly memory: DeviceMemory
  readonly team: Team
  readonly variant: KernelVariant
  readonly exact: boolean
  readonly kernels: Kernels
  readonly profiler?: OperationProfiler
  readonly byteProducts?: ByteProducts
}

/** The device over kernels that run. */
export function assembleDevice(info: DeviceInfo, parts: DeviceParts): Device {
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
  const trial = new ProductTrial({ ...parts, wholeBytes: multipliesWholeBytes() })
  /** The memory, as long as the device lives. */
  const living = (): DeviceMemory => {
    if (loss) throw loss
    if (!alive) throw new V1Error(503, 'The device was destroyed.', { code: 'device_destroyed' })
    return memory
  }
  const empty = (bands: readonly MatrixShape[]) =>
    new CpuMatrix(living(), packer, bands, exact, (kind) => trial.meet(kind))
  const host: CpuPassHost = {
    memory,
    runner,
    program: new PassProgram(team.threads),
    threads: team.threads,
    variant: parts.variant,
    done: pause,
    ...(parts.profiler && { profiler: parts.profiler }),
  }
  return {
    info,
    limits,
    get memory() {
      return alive ? { bytes: memory.bytes, buffers: memory.buffers } : { bytes: 0, buffers: 0 }
    },
    lost,
    matrix: (data) => filled(data, empty),
    growingMatrix(bands) {
      const matrix = empty(bands)
      return {
        matrix,
        add(rows) {
          living()
          matrix.add(rows)
        },
      }
    },
    stage: (bytes) => (living().stays ? new CpuReadingRoom(memory, bytes) : undefined),
    reserve: (bytes) => living().reserve(bytes),
    matrixBytes: storedBytes,
    vector: (values) => new CpuVector(living(), values),
    activations: (rows, columns): Activations => new CpuActivations(living(), rows, columns),
    routing: (shape) => new CpuRouting(living(), shape),
    cache: (shape) => new CpuCache(living(), shape),
    states: (shape) => new CpuStates(living(), shape),
    sampler: (shape: SamplerShape): Sampler => new CpuSampler(living(), kernels, shape),
    begin(batch: Batch): Pass {
      living()
      open?.close()
      open = new CpuPass(host, batch)
      return open
    },
    idle() {
      living()
      return pause()
    },
    work: team.work,
    get kernelChoices() {
      return trial.choices
    },
    destroy() {
      if (!alive) return
      alive = false
      open?.close()
      team.close()
    },
  }
}
