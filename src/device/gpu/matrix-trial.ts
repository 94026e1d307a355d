/**
 * Whether subgroups multiply matrices rightly, found by a product that is made so and by the ordinary kernel before any
 * model's is: the feature is an experiment of WebGPU's, and drivers have had faults in it.
 */
import { ofNative } from '../../platform/index.js'
import { matmul } from '../operations/matmul/index.js'
import { GpuDevice } from './gpu-device.js'
import type { GpuTraits } from './kernels/kernel.js'

// No tile's multiples, and deep enough for sums that were kept in f16 to go beyond its range.
const [ROWS, COLUMNS, TOKENS] = [88, 2048, 70]
/** Of the greatest value: both round activations to f16 or not at all, and one rounds weights to it too. */
const TOLERANCE = 2 ** -9

/** `traits.matrices` are those that are tried. */
export async function provesMatrices(device: GPUDevice, traits: GpuTraits): Promise<boolean> {
  const { matrices: _, ...ordinary } = traits
  return sameOf(
    () => product(device, traits),
    () => product(device, ordinary),
  )
}

/** Whether both come to the same; what fails does not. */
export async function sameOf(tried: () => Promise<Float32Array>, usual: () => Promise<Float32Array>): Promise<boolean> {
  try {
    const expected = await usual()
    const got = await tried()
    const most = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
    return got.every((value, i) => Math.abs(value - expected[i]!) <= most * TOLERANCE)
  } catch {
    return false
  }
}

async function product(raw: GPUDevice, traits: GpuTraits): Promise<Float32Array> {
  const device = new GpuDevice(raw, { name: 'tried', reason: 'It is tried.', traits })
  let state = 1
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state >>> 8
  }
  const codes = Uint8Array.from({ length: (ROWS * COLUMNS) / 2 }, next)
  // From 2^-7 on.
  const scales = new Uint8Array(
    Uint16Array.from({ length: (ROWS * COLUMNS) / 32 }, () => 0x2000 + (next() & 0x3ff)).buffer,
  )
  const matrix = device.matrix({ format: 'q4', scaleType: 'f16', rows: ROWS, columns: COLUMNS, codes, scales })
  const [x, out] = [device.activations(TOKENS, COLUMNS), device.activations(TOKENS, ROWS)]
  const spans = [{ tokens: new Int32Array(TOKENS), position: 0, pages: new Int32Array(Math.ceil(TOKENS / 16)) }]
  const pass = device.begin({ spans })
  pass.write(
    x,
    Float32Array.from({ length: TOKENS * COLUMNS }, () => 0.5 + next() / 2 ** 24),
  )
  raw.pushErrorScope('validation')
  pass.run(matmul, matrix, x, out)
  const reading = pass.read(out, TOKENS)
  const submitted = pass.submit()
  // An answer of a shader that was refused is none.
  const wrong = await ofNative(raw.popErrorScope())
  await submitted
  const values = await reading
  for (const one of [matrix, x, out]) one.destroy()
  if (wrong) throw new Error(wrong.message)
  await device.idle()
  return values
}
