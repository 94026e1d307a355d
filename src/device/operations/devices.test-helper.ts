/** Every device that the compute tests run on. */
import { FULL } from '../../../test/support/full.js'
import { sharedGpu } from '../../../test/support/shared-gpu.js'
import type { Device } from '../contract.js'
import { openCpuDevice } from '../cpu/index.js'
import { openWebGpuDevice } from '../gpu/index.js'

export interface DeviceCase {
  readonly name: string
  readonly open: () => Promise<Device>
  /** It rounds the activations that 4-bit matrices are multiplied with to 8 bits per block. */
  readonly roundsActivations: boolean
  /** How much of what another case covers too is repeated here: compiling shaders in software takes long. */
  readonly cases: 'all' | 'few'
  /** Among the cuts of OTHERS, which share cases. */
  readonly turn?: number
}

/** Both ways of cutting the work on a GPU run on the software one. */
export const DEVICES: readonly DeviceCase[] = [
  {
    name: 'webgpu, cut for hardware',
    open: async () => openWebGpuDevice({ gpu: await sharedGpu(), serial: false, half: false }),
    roundsActivations: false,
    cases: 'all',
  },
  {
    name: 'webgpu, cut for software',
    open: async () => openWebGpuDevice({ gpu: await sharedGpu(), serial: true }),
    roundsActivations: false,
    cases: 'few',
  },
  { name: 'cpu', open: () => openCpuDevice(), roundsActivations: true, cases: 'all' },
  { name: 'cpu, exact', open: () => openCpuDevice({ exact: true }), roundsActivations: false, cases: 'all' },
]

/**
 * Those on which a model that writes no text is compared as a whole. SwiftShader compiles what is cut for hardware twice as
 * long as what is cut for software: by default `operations` and the models that write have it.
 */
export const DECIDING_DEVICES = FULL ? DEVICES : DEVICES.filter(({ name }) => !name.includes('hardware'))

/** What no GPU is cut by at present, or none that tests run on. */
const OTHER_CUTS = {
  pieces: { positions: 16, lanes: 32, early: false },
  blocks: { queries: 32, keys: 16, lanes: 32, on: true },
  vectors: { words: false, lanes: 32, one: { held: 4, threads: 64 }, several: { held: 4, threads: 64 } },
  matmul: [{ rows: 32, tokens: 64, threads: 64, quads: 4, ahead: true }],
} as const

/** What a GPU without subgroups runs, or one with little memory, or none at present. */
const OTHERS: readonly DeviceCase[] = [
  {
    name: 'webgpu, cut for hardware without subgroups',
    open: async () => openWebGpuDevice({ gpu: await sharedGpu(), serial: false, subgroups: false, half: false }),
    roundsActivations: false,
    cases: 'few',
  },
  {
    name: 'webgpu, cut for the least of hardware',
    open: async () =>
      openWebGpuDevice({
        ...{ gpu: await sharedGpu(), serial: false, subgroups: false, half: false },
        workgroupBytes: 16384,
      }),
    roundsActivations: false,
    cases: 'few',
  },
  {
    name: 'webgpu, cut for hardware in other ways',
    open: async () => openWebGpuDevice({ gpu: await sharedGpu(), serial: false, half: false, cuts: OTHER_CUTS }),
    roundsActivations: false,
    cases: FULL ? 'all' : 'few',
  },
]

/** Those on which every kernel is compared. */
export const KERNEL_DEVICES: readonly DeviceCase[] = [...DEVICES, ...OTHERS.map((of, turn) => ({ ...of, turn }))]

/** What of cases that take long to compile is this device's: without `LOCAL_V1_FULL` the unusual cuts take turns. */
export function shared<T>({ turn }: Pick<DeviceCase, 'turn'>, cases: readonly T[]): readonly T[] {
  return FULL || turn === undefined ? cases : cases.filter((_, i) => i % OTHERS.length === turn)
}
