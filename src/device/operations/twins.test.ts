import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sharedGpu } from '../../../test/support/shared-gpu.js'
import type { Device } from '../contract.js'
import { FUNCTION_NAMES } from '../cpu/abi.js'
import { openCpuDevice } from '../cpu/index.js'
import { Commands } from '../gpu/commands.js'
import { openWebGpuDevice } from '../gpu/index.js'
import { CASES, type CaseName } from './cases.test-helper.js'
import type { ArgumentKinds, Functions, Operation } from './define.js'
import { Desk } from './desk.test-helper.js'
import { OPERATIONS } from './index.js'

type AnyOperation = Operation<ArgumentKinds, unknown[], Functions>
const NAMES = Object.keys(CASES) as CaseName[]
/** How the names of its GPU kernels begin, and its functions of the CPU. */
function namedBy(name: CaseName): { readonly gpu: readonly string[]; readonly cpu: readonly string[] } {
  const { kernels = [name], fields, others }: Pick<AnyOperation, 'kernels' | 'fields' | 'others'> = OPERATIONS[name]
  return { gpu: kernels, cpu: [...(fields ? [name] : []), ...Object.keys(others ?? {})] }
}

it.each(NAMES)(
  '%s writes out what its function gets in each step: spread, it takes Node 20 four times as long',
  (name) => {
    const { cpu } = OPERATIONS[name] as AnyOperation
    expect(String(cpu)).not.toMatch(/\.\.\.\s*\{/)
  },
)

describe('an operation', () => {
  const recorded = new Set<string>()
  const profiler = {
    on: false,
    recorded: (name: string) => void recorded.add(name),
    run: <T>(_: unknown, f: () => T) => f(),
  }
  // By hand: the kit for GPU machines carries no spies.
  const { dispatch } = Commands.prototype
  let dispatched: string[] = []
  let devices: { readonly cpu: Device; readonly hardware: Device; readonly serial: Device }
  beforeAll(async () => {
    Commands.prototype.dispatch = function (one) {
      dispatched.push(one.kernel.name)
      dispatch.call(this, one)
    }
    const gpu = await sharedGpu()
    devices = {
      cpu: await openCpuDevice({ exact: true, threads: 1, profiler }),
      hardware: await openWebGpuDevice({ gpu, serial: false, half: false }),
      serial: await openWebGpuDevice({ gpu, serial: true }),
    }
  })
  afterAll(() => {
    for (const device of Object.values(devices)) device.destroy()
    Commands.prototype.dispatch = dispatch
  })

  it.each(NAMES)('%s has twins, which the table names, and which agree', async (name) => {
    recorded.clear()
    const expected = await CASES[name].run(new Desk(devices.cpu))
    expect([...recorded].filter((one) => namedBy(name).cpu.includes(one)).length > 0).toBe(name !== 'sample')
    const size = Math.max(...expected.map(Math.abs))
    expect(size).toBeGreaterThan(0)
    for (const device of [devices.hardware, devices.serial]) {
      dispatched = []
      const got = await CASES[name].run(new Desk(device))
      expect(dispatched.filter((one) => namedBy(name).gpu.some((start) => one.startsWith(start)))).not.toEqual([])
      expect(got.length).toBe(expected.length)
      // Both sum up in f32, in an order of their own.
      for (const [i, value] of got.entries()) expect(Math.abs(value - expected[i]!)).toBeLessThanOrEqual(1e-5 * size)
    }
  })

  it.each(NAMES)('%s refuses operands that do not fit, on each device in the same words', (name) => {
    const messages = Object.values(devices).map((device) => {
      try {
        CASES[name].misfit(new Desk(device))
        return 'nothing'
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError)
        return (error as Error).message
      }
    })
    expect(messages).toEqual([messages[0], messages[0], messages[0]])
    expect(messages[0]).toMatch(/where at least \d+ are needed/)
  })

  it('of the CPU or kernel of a GPU belongs to one of the table', () => {
    // What products begin with; and packing is of loading, where a GPU is written to by the host: see `packer.test.ts`.
    const named = new Set([...NAMES.flatMap((name) => namedBy(name).cpu), 'norm', 'prepare', 'pack'])
    expect(FUNCTION_NAMES.filter((name) => !named.has(name))).toEqual([])
    expect([...named].filter((name) => !(FUNCTION_NAMES as readonly string[]).includes(name))).toEqual([])
  })
})
