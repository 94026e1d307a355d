import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { softwareGpu } from '../../../test/support/swiftshader.js'
import { angleTable } from '../../models/angles.js'
import type { Device, Pass, Vector } from '../contract.js'
import { OPERATION_NAMES } from '../cpu/abi.js'
import { openCpuDevice } from '../cpu/index.js'
import { Commands } from '../gpu/commands.js'
import { openWebGpuDevice } from '../gpu/index.js'
import { carryCase } from './carry/case.test-helper.js'
import { collectCase } from './collect/case.test-helper.js'
import { convolveCase } from './convolve/case.test-helper.js'
import { deltaCase } from './delta/case.test-helper.js'
import { type Case, Desk, ROWS, SPANS } from './desk.test-helper.js'
import { embedCase } from './embed/case.test-helper.js'
import { gateCase } from './gate/case.test-helper.js'
import { DEFINED, OPERATIONS, type PassOperation } from './index.js'
import { joinCase } from './join/case.test-helper.js'
import { pickCase } from './pick/case.test-helper.js'
import { poolCase } from './pool/case.test-helper.js'
import { routeCase } from './route/case.test-helper.js'
import { routedCase } from './routed/case.test-helper.js'

/** Attention's operands: 4 heads of queries that share 2 of keys, of 16 values each. */
function attention(desk: Desk) {
  const [heads, keyHeads, headSize] = [4, 2, 16]
  const cache = desk.device.cache({ layers: 1, pages: 3, heads: keyHeads, headSize, type: 'f32' })
  const angles = desk.device.vector(angleTable(32, { size: headSize, theta: 10_000 }))
  const qkv = desk.filled((heads + 2 * keyHeads) * headSize)
  const place = (pass: Pass, by: Vector = angles) => {
    pass.clearPages(cache, [0, 1, 2])
    pass.place(qkv, cache, 0, { heads, angles: by })
  }
  return { heads, headSize, cache, qkv, place, short: desk.vector(headSize) }
}

type Name = PassOperation | keyof typeof DEFINED
const CASES: { readonly [N in Name]: Case } = {
  ...{ convolve: convolveCase, delta: deltaCase, embed: embedCase, gate: gateCase, join: joinCase, pick: pickCase },
  ...{ carry: carryCase, collect: collectCase, pool: poolCase, route: routeCase, routed: routedCase },
  project: {
    async run(desk) {
      const [matrix, x, out] = [desk.matrix(48, 32), desk.filled(32), desk.empty(24)]
      const norm = { weight: desk.vector(32), epsilon: 1e-5 }
      return desk.outcome((pass) => pass.project(matrix, x, out, { norm, gated: true }), out)
    },
    misfit: (desk) => desk.begin().project(desk.matrix(24, 32), desk.empty(32), desk.empty(16)),
  },
  place: {
    async run(desk) {
      const { heads, headSize, qkv, place } = attention(desk)
      // Queries are turned where they stand; keys, and values, are told by what attention makes of them.
      const rows = await desk.outcome(place, qkv)
      return rows.filter((_, i) => i % qkv.columns < heads * headSize)
    },
    misfit(desk) {
      const { place, short } = attention(desk)
      place(desk.begin(), short)
    },
  },
  attend: {
    run(desk) {
      const { heads, headSize, qkv, cache, place } = attention(desk)
      const out = desk.empty(heads * headSize)
      return desk.outcome((pass) => {
        place(pass)
        pass.attend(qkv, cache, 0, out, { heads, scale: 0.25, window: 9, cap: 5 })
      }, out)
    },
    misfit(desk) {
      const { heads, qkv, cache } = attention(desk)
      desk.begin().attend(qkv, cache, 0, desk.empty(32), { heads, scale: 1 })
    },
  },
  sample: {
    async run(desk) {
      const sampler = desk.device.sampler({ vocabulary: 160, tokens: 150, rows: ROWS, slots: ROWS })
      const logits = desk.filled(160)
      const pass = desk.begin({ spans: SPANS, sampler })
      const row = { topP: 0.9, seed: 7, index: 3 }
      pass.sample(
        sampler,
        logits,
        [0, 0.5, 1, 2].map((temperature, slot) => ({ ...row, slot, temperature })),
      )
      return (await pass.submit()).map(({ token }) => token)
    },
    misfit(desk) {
      const sampler = desk.device.sampler({ vocabulary: 160, tokens: 150, rows: ROWS, slots: ROWS })
      desk
        .begin({ spans: SPANS, sampler })
        .sample(sampler, desk.empty(80), [{ slot: 0, temperature: 0, topP: 1, seed: 0, index: 0 }])
    },
  },
}
const NAMES = Object.keys(CASES) as Name[]
/** How the names of its GPU kernels begin, and its operations of the CPU. */
const namedBy = (name: Name): { readonly gpu: readonly string[]; readonly cpu: readonly string[] } =>
  name in DEFINED ? { gpu: [name], cpu: [name] } : OPERATIONS[name as PassOperation]

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
    const gpu = await softwareGpu()
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
    const said = Object.values(devices).map((device) => {
      try {
        CASES[name].misfit(new Desk(device))
        return 'nothing'
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError)
        return (error as Error).message
      }
    })
    expect(said).toEqual([said[0], said[0], said[0]])
    expect(said[0]).toMatch(/where at least \d+ are needed/)
  })

  it('of the CPU or kernel of a GPU belongs to one of the table', () => {
    // Packing is of loading, where a GPU is written to by the host; `packer.test.ts` holds it.
    const named = new Set([...NAMES.flatMap((name) => namedBy(name).cpu), 'pack'])
    expect(OPERATION_NAMES.filter((name) => !named.has(name))).toEqual([])
    expect([...named].filter((name) => !(OPERATION_NAMES as readonly string[]).includes(name))).toEqual([])
  })
})
