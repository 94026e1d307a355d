import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FULL } from '../../../test/support/full.js'
import { overlaid } from '../../../test/support/overlaid.js'
import { softwareGpu } from '../../../test/support/swiftshader.js'
import { MATRICES_FEATURE, type MatrixConfig } from '../../platform/index.js'
import type { Device } from '../contract.js'
import { matmulMatricesKernel } from '../operations/matmul/tiled-matrices.js'
import { BLOCK_FORMATS, Chance, type Format, knownMatrix } from '../operations/numbers.test-helper.js'
import { check, itMultiplies } from '../operations/project.test-helper.js'
import { openWebGpuDevice } from './index.js'
import { ROOMY } from './kernels/cuts.js'
import { chooseMatrices, type SubgroupMatrices } from './kernels/subgroup-matrices.js'
import { sameOf } from './matrix-trial.js'

const adapter = await (await softwareGpu()).requestAdapter()

function config(size: string, from: string, to: string): MatrixConfig {
  const [M, N, K] = size.split('x').map(Number) as [number, number, number]
  return { M, N, K, componentType: from, resultComponentType: to }
}

/** What adapters list, and the invocations of their subgroups: as Dawn has it from NVIDIA's, Intel's, Apple's and Mesa's drivers. */
const LISTED: Readonly<Record<string, readonly [lanes: number, configs: readonly MatrixConfig[]]>> = {
  NVIDIA: [
    32,
    [
      ...[config('16x8x8', 'f16', 'f32'), config('16x16x16', 'f16', 'f16'), config('16x16x16', 'f16', 'f32')],
      config('16x16x32', 'i8', 'i32'),
    ],
  ],
  Intel: [32, [config('8x16x16', 'f16', 'f32'), config('8x16x32', 'i8', 'i32')]],
  Apple: [32, [config('8x8x8', 'f32', 'f32'), config('8x8x8', 'f16', 'f16')]],
  lavapipe: [8, [config('8x8x8', 'f16', 'f16'), config('8x8x8', 'f16', 'f32'), config('8x8x8', 'u8', 'u32')]],
}

const chosen = (name: string) => chooseMatrices(LISTED[name]![1], LISTED[name]![0], true)

describe('of the matrices that an adapter lists', () => {
  it('the largest are taken whose factors are f16 and whose sums are f32, else those that are f32 altogether', () => {
    expect(Object.keys(LISTED).map(chosen)).toEqual([
      { M: 16, N: 16, K: 16, component: 'f16', lanes: 32 },
      { M: 8, N: 16, K: 16, component: 'f16', lanes: 32 },
      { M: 8, N: 8, K: 8, component: 'f32', lanes: 32 },
      { M: 8, N: 8, K: 8, component: 'f16', lanes: 8 },
    ])
  })

  it('none is where shaders have no f16, no tile is made of them, or subgroups are too wide for a workgroup of four', () => {
    expect(chooseMatrices(LISTED.Intel![1], 32, false)).toBeUndefined()
    expect(chooseMatrices([config('12x8x8', 'f16', 'f32'), config('16x16x64', 'f16', 'f32')], 32, true)).toBeUndefined()
    expect(chooseMatrices(LISTED.NVIDIA![1], 64, true)).toMatchObject({ lanes: 64 })
    expect(chooseMatrices(LISTED.NVIDIA![1], 128, true)).toBeUndefined()
  })
})

describe('the trial', () => {
  const usual = Float32Array.of(100, -50, 0.001)
  const judge = (tried: () => Promise<Float32Array>) => sameOf(tried, async () => usual)

  it('takes what differs as f16 does', async () => {
    expect(await judge(async () => usual)).toBe(true)
    expect(await judge(async () => usual.map((value) => value + 0.1))).toBe(true)
  })

  it('refuses what is wrong, what is no number and what fails', async () => {
    expect(await judge(async () => Float32Array.of(100, -51, 0.001))).toBe(false)
    expect(await judge(async () => Float32Array.of(100, -50, Number.NaN))).toBe(false)
    expect(await judge(async () => new Float32Array(3))).toBe(false)
    expect(await judge(() => Promise.reject(new Error('A shader was refused.')))).toBe(false)
  })
})

/** What a device that says it has such matrices makes of the kernel: the source that it compiles instead. */
type Compiler = (source: string) => string

/** Of f32, since SwiftShader has no f16. */
async function claiming(compiler: Compiler): Promise<GPU> {
  const gpu = await softwareGpu()
  const claimed = (features: GPUSupportedFeatures) => new Set([...features, MATRICES_FEATURE]) as GPUSupportedFeatures
  return overlaid(gpu, {
    requestAdapter: async (options) => {
      const adapter = (await gpu.requestAdapter(options))!
      const { vendor, architecture, device, description } = adapter.info
      const known = { vendor, architecture, device, description, subgroupMaxSize: 8 }
      const info = { ...known, subgroupMatrixConfigs: LISTED.Apple![1] } as unknown as GPUAdapterInfo
      return overlaid(adapter, {
        ...{ info, features: claimed(adapter.features) },
        requestDevice: async ({ requiredFeatures = [], ...rest } = {}) => {
          const really = [...requiredFeatures].filter((feature) => adapter.features.has(feature))
          const device = await adapter.requestDevice({ ...rest, requiredFeatures: really })
          return overlaid(device, {
            features: claimed(device.features),
            createShaderModule: ({ code, ...others }) =>
              device.createShaderModule({ ...others, code: code.includes(' chromium_exp') ? compiler(code) : code }),
          })
        },
      })
    },
  })
}

/** The same product without subgroups; `factor` is 1 where it is right. */
const plainly =
  (factor: number): Compiler =>
  (source) => {
    const [, rows, width] = /min\(group\.x \* 64u \+ row, (\d+)u\).*?\* (\d+)u \+ k8/s.exec(source)!
    const head = source.slice(0, source.indexOf('var<workgroup>')).replace(/^(enable|diagnostic).*$/gm, '')
    return `${head}
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {
  let row = group.x * 64u + index;
  for (var t = group.y * 64u; t < min(group.y * 64u + 64u, rowCount()) && row <= ${rows}u; t++) {
    var sum = 0.0;
    for (var k8 = 0u; k8 < ${Number(width) / 2}u; k8++) {
      let weights = eight(row, k8);
      sum += dot(weights[0], x[t * ${width}u + k8 * 2u]) + dot(weights[1], x[t * ${width}u + k8 * 2u + 1u]);
    }
    out[t * ${Number(rows) + 1}u + row] = sum * ${factor};
  }
}`
  }

describe('a device that says it multiplies matrices', () => {
  it.each<[string, Compiler, proven: boolean]>([
    ['and does so is believed', plainly(1), true],
    ['and does so wrongly is not', plainly(1.01), false],
    ['and does nothing is not', () => '@compute @workgroup_size(1) fn main() {}', false],
    ['and has no such shaders is not', (source) => source, false],
  ])('%s', async (_, compiler, proven) => {
    const device = await openWebGpuDevice({ gpu: await claiming(compiler), serial: false, half: false })
    expect(/ matrices of f32 /.test(device.info.kernels)).toBe(proven)
    const known = knownMatrix(new Chance(8), 'q4f16', 70, 96)
    await check(device, known, new Chance(9).floats(20 * 96), 20, {}, 4e-6)
    device.destroy()
  })
})

describe.each(Object.keys(LISTED))('the kernel of %s', (name) => {
  const unit = chosen(name) as SubgroupMatrices
  const shape = { rows: 2 * 37, columns: 512, first: 0, of: 74, bias: true, add: false, gated: true, head: false }

  it('has room in a workgroup, whose invocations are whole subgroups', () => {
    const { source, bindings } = matmulMatricesKernel({ ...shape, format: 'q4_k' }, unit)
    const sizes = [...source.matchAll(/var<workgroup> \w+: array<f(16|32), (\d+)>/g)]
    const bytes = sizes.reduce((sum, [, bits, count]) => sum + (Number(bits) / 8) * Number(count), 0)
    expect(sizes).toHaveLength(3)
    expect(bytes).toBeLessThanOrEqual(ROOMY)
    const threads = Number(/@workgroup_size\((\d+)\)/.exec(source)![1])
    expect([threads % unit.lanes, threads <= 256]).toEqual([0, true])
    expect(source).not.toMatch(/undefined|NaN/)
    expect(bindings).toBe(unit.component === 'f16' ? 'rrrrrw' : 'rrrrw')
  })
})

/** A GPU in software takes ten seconds to compile such a kernel. */
const SOME = ['q4_k', 'q6_k', 'iq4_nl'] as const
const has = adapter?.features.has(MATRICES_FEATURE)
const WHERE = 'skipped where the adapter has no chromium-experimental-subgroup-matrix, as SwiftShader'

describe.skipIf(!has)(`matrices that subgroups multiply (${WHERE})`, () => {
  let device: Device
  beforeAll(async () => {
    device = await openWebGpuDevice({ gpu: await softwareGpu(), serial: false })
    expect(device.info.kernels).toMatch(/ matrices of f\d\d /)
  })
  afterAll(() => device?.destroy())

  /** Activations and weights lose at most 2^-12 each where they become f16; doubled, for an adapter that truncates. */
  const BOUND = 4 * 2 ** -11
  itMultiplies(() => device, BOUND, ['q4_k', 512], ['q6_k', 256])

  const product = (name: string, format: Format, columns: number, tokens: number, weights: number) =>
    it(name, async () => {
      const chance = new Chance(tokens)
      const known = knownMatrix(chance, format, 71, columns, weights)
      await check(device, known, chance.floats(tokens * columns), tokens, {}, BOUND)
    })
  product('weights that f16 has few bits of', 'q4f32', 96, 21, 1e-5)
  for (const format of FULL ? BLOCK_FORMATS : SOME) product(format, format, 256, 33, 0.2)

  it('of every listed kind are known to the compiler', async () => {
    const shader = await adapter!.requestDevice({
      requiredFeatures: ['subgroups', 'shader-f16', MATRICES_FEATURE] as GPUFeatureName[],
    })
    for (const name of Object.keys(LISTED)) {
      const shape = { rows: 74, columns: 512, first: 0, of: 74, bias: true, add: false, gated: true, head: false }
      const other = { M: 8, N: 16, K: 32, component: 'f16', lanes: 16 } as const
      for (const [format, unit] of [
        ['q4f16', chosen(name)!],
        ['mxfp4', chosen(name)!],
        ['q4_k', other],
      ] as const) {
        const { source: code } = matmulMatricesKernel({ ...shape, format }, unit)
        const { messages } = await shader.createShaderModule({ code }).getCompilationInfo()
        expect(messages.map(({ message }) => message)).toEqual([])
      }
    }
    shader.destroy()
  })
})
