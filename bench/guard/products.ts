/** Which kernels multiply with a matrix, for each form of weights and as many rows as make a difference. */

import type { Device, MatrixBand } from '../../src/device/contract.js'
import { rowBytes } from '../../src/device/contract.js'
import { Q4 } from '../../src/device/cpu/abi.js'
import { openCpuDevice } from '../../src/device/cpu/index.js'
import { activationsOf, type CpuMatrix } from '../../src/device/cpu/matrix.js'
import { GpuDevice } from '../../src/device/gpu/gpu-device.js'
import { matmul } from '../../src/device/operations/matmul/index.js'
import { BLOCK_TYPES } from '../../src/platform/block-types.js'
import { PROMPT_WAYS, WAYS } from '../step/ways.js'
import type { Counts } from './compare.js'
import { GPUS } from './steps.js'
import { StillGpu } from './still-gpu.js'

const SIDE = 512
const ROWS = [1, 4, 16, 17, 256]

const FORMS: Readonly<Record<string, () => MatrixBand>> = {
  'q4, scales in f16': () => four('f16'),
  'q4, scales in f32': () => four('f32'),
  ...Object.fromEntries((['f32', 'f16', 'bf16', ...blockTypes()] as const).map((form) => [form, () => plain(form)])),
}

function blockTypes() {
  return Object.keys(BLOCK_TYPES) as (keyof typeof BLOCK_TYPES)[]
}

const zeros = (bytes: number) => new Uint8Array(bytes)

function four(scaleType: 'f16' | 'f32'): MatrixBand {
  const scales = zeros((SIDE * SIDE * (scaleType === 'f16' ? 2 : 4)) / 32)
  return { format: 'q4', rows: SIDE, columns: SIDE, codes: zeros((SIDE * SIDE) / 2), scaleType, scales } as MatrixBand
}

function plain(format: Exclude<MatrixBand['format'], 'q4'>): MatrixBand {
  return { format, rows: SIDE, columns: SIDE, data: zeros(SIDE * rowBytes(format, SIDE)) } as MatrixBand
}

export async function countProducts(): Promise<Counts> {
  const found: Record<string, Counts> = {}
  const others = {
    'with activations in 8 bits': WAYS['activations in 8 bits']!,
    'with matrices of subgroups': PROMPT_WAYS['matrices of subgroups']!,
  }
  for (const [name, traits] of Object.entries({ ...GPUS, ...others })) {
    const gpu = new StillGpu()
    const device = new GpuDevice(gpu.device, { name: 'still', reason: 'It is counted.', traits })
    found[`GPU ${name}`] = ofDevice(device, () => gpu.take().kernels)
  }
  found.CPU = await ofProcessor()
  return found
}

/** How the CPU device keeps a form of weights, and in which form activations are multiplied with it. */
async function ofProcessor(): Promise<Counts> {
  const device = await openCpuDevice({ threads: 1 })
  const found = Object.entries(FORMS).map(([form, make]): [string, string] => {
    const { kind } = (device.matrix(make()) as CpuMatrix).whole
    return [form, `as kind ${kind}, by ${activationsOf(kind) === Q4 ? 'activations in 8 bits' : 'activations in f32'}`]
  })
  device.destroy()
  return Object.fromEntries(found)
}

/** A product behind a norm, as most of a model are. */
function ofDevice(device: Device, taken: () => string[]): Counts {
  const norm = { weight: device.vector(new Float32Array(SIDE)), epsilon: 1e-5 }
  const found = Object.entries(FORMS).map(([form, make]): [string, Counts] => {
    const matrix = device.matrix(make())
    const chosen = ROWS.map((rows): [string, string] => {
      const tokens = new Int32Array(rows)
      const pass = device.begin({ spans: [{ tokens, position: 0, pages: new Int32Array(Math.ceil(rows / 16)) }] })
      taken()
      pass.run(matmul, matrix, device.activations(rows, SIDE), device.activations(rows, SIDE), { norm })
      return [`${rows} rows`, taken().join(', ')]
    })
    return [form, Object.fromEntries(chosen)]
  })
  return Object.fromEntries(found)
}
