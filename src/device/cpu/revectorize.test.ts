import { afterEach, describe, expect, it, vi } from 'vitest'
import { startNode } from '../../../test/support/node.js'
import { CASES } from '../operations/cases.test-helper.js'
import { Desk } from '../operations/desk.test-helper.js'
import { CONTROL } from './abi.js'
import { BYTE_PRODUCTS } from './byte-products.js'
import { assembleDevice, deviceMemory } from './device.js'
import { openCpuDevice, tryRevectorize } from './index.js'
import { variants } from './kernels.test-helper.js'
import { blocks, layer } from './layer.test-helper.js'
import { assertRevectorize, compileRevectorized, revectorizeRefusal } from './revectorize.js'
import type { RevectorizeOutcome } from './revectorize-entry.test-helper.js'
import { gatherTeam } from './team.js'
import { compileKernels, instantiate } from './wasm.js'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

/** What V8 has while nobody says anything else. */
const USUAL = {
  'experimental-wasm-revectorize': false,
  liftoff: true,
  'wasm-lazy-compilation': true,
  'wasm-deopt': true,
}
const MADE_WELL = {
  'experimental-wasm-revectorize': true,
  liftoff: false,
  'wasm-lazy-compilation': false,
  'wasm-deopt': false,
}
type Flags = Record<string, boolean>

/** A V8 that keeps flags, as `setFlagsFromString` takes them. */
function fakeV8(given: Flags = {}) {
  const flags: Flags = { ...USUAL, ...given }
  return {
    flags,
    setFlagsFromString(flag: string) {
      const [, no, name] = /^--(no-)?(.+)$/.exec(flag)!
      flags[name!] = no === undefined
    },
    cachedDataVersionTag: () => Object.values(flags).reduce((tag, on) => tag * 2 + (on ? 1 : 0), 0),
  }
}

/** A Node that V8 is in, as far as the device asks. */
function stubNode(v8: object = fakeV8(), { node = '24.0.0', version = '13.6.233.8-node.10', arch = 'x64' } = {}) {
  const own = process
  const getBuiltinModule = (name: string) => (name === 'node:v8' ? v8 : own.getBuiltinModule(name))
  const versions = { ...own.versions, node, v8: version }
  const properties = { versions, arch, getBuiltinModule }
  const described = Object.entries(properties).map(([name, value]) => [name, { value }])
  vi.stubGlobal('process', Object.create(own, Object.fromEntries(described)))
}

/** WebAssembly whose kernels are compiled of what `change` makes of their bytes. */
function stubModules(change: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>) {
  const { Module } = WebAssembly
  class Changed extends Module {
    constructor(bytes: Uint8Array<ArrayBuffer>) {
      // The probe of relaxed SIMD is no kernel.
      super(bytes.length < 1000 ? bytes : change(bytes))
    }
  }
  vi.stubGlobal('WebAssembly', Object.create(WebAssembly, { Module: { value: Changed } }))
}

describe('the flags of V8', () => {
  it.each<[string, Flags]>([
    ['as they usually are', {}],
    ['of a process that was started with the revectorizer', { 'experimental-wasm-revectorize': true }],
    ['of a process that was started without quick code', { liftoff: false, 'wasm-lazy-compilation': false }],
  ])('are set while the kernels are compiled, and then are as before: %s', (_, given) => {
    const v8 = fakeV8(given)
    stubNode(v8)
    const seen: Flags[] = []
    stubModules((bytes) => {
      seen.push({ ...v8.flags })
      return bytes
    })
    const module = compileRevectorized('simd', false)
    expect(seen).toEqual([MADE_WELL])
    expect(v8.flags).toEqual({ ...USUAL, ...given })
    // Of the same bytes V8 would give the code that it has.
    expect(WebAssembly.Module.customSections(module, '256')).toHaveLength(1)
  })

  it('are as before where nothing can be compiled', () => {
    const v8 = fakeV8()
    stubNode(v8)
    stubModules(() => {
      throw new RangeError('no memory')
    })
    expect(() => compileRevectorized('simd', false)).toThrow('no memory')
    expect(v8.flags).toEqual(USUAL)
  })
})

describe('revectorize', () => {
  /** That one knows Node's names too. */
  const stubRuntime = (name: string) => {
    stubNode()
    vi.stubGlobal(name, {})
  }

  it.each<[string, () => void, string]>([
    [
      'an older Node',
      () => stubNode(fakeV8(), { node: '22.20.0', version: '12.4.254.21-node.33' }),
      'Node 22.20.0 with V8 12.4.254.21-node.33 on x64',
    ],
    [
      'a newer Node than was tried',
      () => stubNode(fakeV8(), { node: '27.0.0', version: '15.0.1-node.1' }),
      'Node 27.0.0 with V8 15.0.1-node.1 on x64',
    ],
    [
      'Electron',
      () => stubNode(fakeV8(), { version: '14.6.202.30-electron.0' }),
      'Node 24.0.0 with V8 14.6.202.30-electron.0 on x64',
    ],
    [
      'another processor',
      () => stubNode(fakeV8(), { arch: 'arm64' }),
      'Node 24.0.0 with V8 13.6.233.8-node.10 on arm64',
    ],
    ['Deno', () => stubRuntime('Deno'), 'Deno'],
    ['Bun', () => stubRuntime('Bun'), 'Bun'],
    ['a page', () => vi.stubGlobal('process', undefined), 'no Node'],
  ])('is refused by name, with what to do, before a flag is touched: %s', async (_, stub, here) => {
    stub()
    const flags = vi.spyOn(process?.getBuiltinModule?.('node:v8') ?? fakeV8(), 'setFlagsFromString')
    const message = `openCpuDevice: 'revectorize' needs Node 24 to 26 on x64 (this is ${here}). Use such a Node, or leave it out.`
    await expect(openCpuDevice({ threads: 1, revectorize: true })).rejects.toThrow(new TypeError(message))
    expect(await tryRevectorize()).toEqual({ why: `need Node 24 to 26 on x64 (this is ${here})` })
    expect(flags).not.toHaveBeenCalled()
    for (const no of [undefined, false, 'later']) assertRevectorize('it', no)
  })

  it('is never had later, where it cannot be had', async () => {
    stubNode(fakeV8(), { version: '15.0.1-node.1' })
    const timers = vi.spyOn(globalThis, 'setInterval')
    const device = await openCpuDevice({ threads: 1, revectorize: 'later' })
    expect(timers).not.toHaveBeenCalled()
    device.destroy()
    stubNode()
    const other = await openCpuDevice({ threads: 1, revectorize: 'later' })
    expect(timers).toHaveBeenCalledTimes(1)
    other.destroy()
  })

  it.each(['13.6.233.17-node.53', '14.1.146.11-node.25', '14.6.202.34-node.34'])('is to be had by V8 %s', (version) => {
    stubNode(fakeV8(), { version })
    expect(revectorizeRefusal()).toBeUndefined()
  })

  it("is true, false or 'later'", () => {
    stubNode()
    expect(() => assertRevectorize('it', 'yes')).toThrow(
      new TypeError(`it: 'revectorize' can be true, false or 'later'; this one is "yes".`),
    )
    for (const right of [undefined, false, true, 'later']) assertRevectorize('it', right)
  })

  /** A clock by which everything takes as long. */
  function stubClock() {
    let now = 0
    vi.spyOn(performance, 'now').mockImplementation(() => now++)
  }

  it('is given up, and that is said, where kernels are no quicker by it', async () => {
    stubNode()
    stubClock()
    const device = await openCpuDevice({ threads: 1, variant: 'simd', revectorize: true })
    expect(device.info.name).toBe('WebAssembly SIMD (not in 256 bits, which are no quicker here), one thread')
    const usual = await openCpuDevice({ threads: 1, variant: 'simd' })
    expect(await layer(device, 6)).toEqual(await layer(usual, 6))
    expect(await tryRevectorize()).toEqual({ why: 'are no quicker here' })
  })

  it('is given up, and that is said, where kernels come to something else by it', async () => {
    stubNode()
    stubClock()
    // Sums in place of products of f32.
    stubModules((bytes) => {
      const wrong = bytes.slice()
      for (let i = 0; i + 2 < wrong.length; i++) {
        if (wrong[i] === 0xfd && wrong[i + 1] === 0xe6 && wrong[i + 2] === 1) wrong[i + 1] = 0xe4
      }
      return wrong
    })
    const device = await openCpuDevice({ threads: 1, variant: 'simd', revectorize: true })
    expect(device.info.name).toBe('WebAssembly SIMD (not in 256 bits, which come to other results here), one thread')
    vi.unstubAllGlobals()
    const usual = await openCpuDevice({ threads: 1, variant: 'simd' })
    expect(await layer(device, 6)).toEqual(await layer(usual, 6))
  })
})

const refusal = revectorizeRefusal()
describe.skipIf(refusal)(`kernels in 256 bits${refusal ? ` (need ${refusal})` : ''}`, () => {
  const WAYS = { simd: [undefined], relaxed: BYTE_PRODUCTS } as const
  const BUILDS = variants.flatMap((variant) =>
    WAYS[variant].flatMap((byteProducts) => [1, 3].map((threads) => ({ variant, byteProducts, threads }))),
  )

  it.each(BUILDS)(
    'come to the same bits as others: $variant, $byteProducts, threads: $threads',
    async ({ threads, variant, byteProducts }) => {
      const shared = threads > 1
      const computed = async (module: WebAssembly.Module) => {
        const memory = deviceMemory(shared)
        const kernels = await instantiate(module, memory.memory)
        const team = await gatherTeam(kernels, module, memory.memory, CONTROL, threads)
        const device = assembleDevice(
          { kind: 'cpu', name: 'it', reason: 'A test.', kernels: '' },
          { memory, kernels, team, variant, exact: false, ...(byteProducts && { byteProducts }) },
        )
        const results = [[...(await layer(device, 6))], await blocks(device)]
        for (const each of Object.values(CASES)) results.push(await each.run(new Desk(device)))
        device.destroy()
        return results
      }
      const usual = await computed(await compileKernels(variant, shared))
      expect(await computed(compileRevectorized(variant, shared))).toEqual(usual)
    },
  )

  it('are opened in a process that has no other flags afterwards, and prints nothing of them', async () => {
    const running = startNode('src/device/cpu/revectorize-entry.test-helper.ts')
    expect((await running.exit).code, running.output()).toBe(0)
    // All that it printed.
    const { names, tags, values } = JSON.parse(running.output()) as RevectorizeOutcome
    expect(new Set(tags).size).toBe(1)
    // Which of the two hangs on the processor.
    const NAME = /^WebAssembly relaxed SIMD( in 256 bits| \(not in 256 bits, which are no quicker here\)), /
    expect(names[0]).toBe('WebAssembly relaxed SIMD, one thread')
    expect(names[1]!.replace(NAME, '')).toBe('one thread')
    expect(names[2]!.replace(NAME, '')).toBe('3 threads')
    expect(values).toEqual([values[0], values[0], values[0]])
  })
})
