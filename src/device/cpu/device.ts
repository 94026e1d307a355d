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
import { type ByteMachine, type ByteProducts, multipliedOn } from './byte-products.js'
import { CpuMatrix, storedBytes } from './matrix.js'
import { DeviceMemory } from './memory.js'
import { Packer } from './packer.js'
import { CpuPass } from './pass.js'
import type { CpuPassHost, OperationProfiler } from './pass-host.js'
import { PassProgram } from './program.js'
import { CpuRouting } from './routing.js'
import { type Crew, Runner, TOGETHER_BYTES } from './runner.js'
import { CpuSampler } from './sampler.js'
import { CONTROL_BYTES, gatherTeam, type Team } from './team.js'
import { CpuActivations, CpuCache, CpuReadingRoom, CpuStates, CpuVector } from './tensors.js'
import { instantiate, type Kernels, type KernelVariant, multipliesWholeBytes } from './wasm.js'

/** A pass ends in a turn of the event loop so often: it computes before it returns, and everything else would wait. */
const TURN_MS = 8
let turned = 0

async function pause(): Promise<void> {
  if (performance.now() - turned < TURN_MS) return
  await breathe()
  turned = performance.now()
}

/** What a team agrees on: its control block, then room for its program. Threads of another one may still look at theirs. */
const CREW_BYTES = CONTROL_BYTES + TOGETHER_BYTES
const crewAt = (control: number) => ({ control, room: control + CONTROL_BYTES })
const FIRST = crewAt(CONTROL)
const SECOND = crewAt(CONTROL + CREW_BYTES)
const MAX_ROWS = 8192
const MAX_HEAD_SIZE = 512

/** With room for what threads agree on. */
export const deviceMemory = (shared: boolean): DeviceMemory => new DeviceMemory(CONTROL + 2 * CREW_BYTES, shared)

export interface CpuDevice extends Device {
  /** Milliseconds since something was asked of it, or a pass was over. */
  readonly quiet: number
  /** Goes on with other kernels, once, which come to the same; `name`: its own from then on. False: it is as it was. */
  adopt(module: WebAssembly.Module, name: string): Promise<boolean>
}

export interface DeviceParts {
  readonly memory: DeviceMemory
  readonly team: Team
  readonly variant: KernelVariant
  readonly exact: boolean
  readonly kernels: Kernels
  readonly profiler?: OperationProfiler
  readonly byteProducts?: ByteProducts
  /** Begun with the device, ended with it by what it returns. */
  readonly beside?: (device: CpuDevice) => () => void
}

/** The device over kernels that run. */
export function assembleDevice(first: DeviceInfo, parts: DeviceParts): CpuDevice {
  const { memory, team, kernels, exact } = parts
  const limits: DeviceLimits = {
    tensorBytes: memory.limit,
    totalBytes: memory.limit,
    rows: MAX_ROWS,
    headSize: MAX_HEAD_SIZE,
  }
  let info = first
  let crew: Crew = { kernels, team, ...FIRST }
  let adopted = false
  let alive = true
  /** When something was last asked of it, or a pass was over. */
  let busy = performance.now()
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
  const runner = new Runner({ ...crew, memory, onLost })
  const packer = new Packer(memory, runner, team.threads)
  const machine: ByteMachine = { ...parts, wholeBytes: multipliesWholeBytes() }
  /** The memory, as long as the device lives. */
  const living = (): DeviceMemory => {
    if (loss) throw loss
    if (!alive) throw new V1Error(503, 'The device was destroyed.', { code: 'device_destroyed' })
    busy = performance.now()
    return memory
  }
  const empty = (bands: readonly MatrixShape[]) =>
    new CpuMatrix(living(), packer, bands, exact, (kind) => multipliedOn(machine, kind))
  const host: CpuPassHost = {
    memory,
    runner,
    program: new PassProgram(team.threads),
    threads: team.threads,
    variant: parts.variant,
    done() {
      busy = performance.now()
      return pause()
    },
    ...(parts.profiler && { profiler: parts.profiler }),
  }
  const device: CpuDevice = {
    get info() {
      return info
    },
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
    work: () => crew.team.work(),
    get quiet() {
      return performance.now() - busy
    },
    async adopt(module, name) {
      if (adopted) return false
      adopted = true
      const others = await instantiate(module, memory.memory)
      const gathered = await gatherTeam(others, module, memory.memory, SECOND.control, team.threads)
      if (!alive || loss || gathered.threads !== team.threads) {
        gathered.close()
        return false
      }
      crew = { kernels: others, team: gathered, ...SECOND }
      runner.take(crew)
      team.close()
      info = { ...first, name }
      return true
    },
    destroy() {
      if (!alive) return
      alive = false
      stop?.()
      open?.close()
      crew.team.close()
    },
  }
  const stop = parts.beside?.(device)
  return device
}
