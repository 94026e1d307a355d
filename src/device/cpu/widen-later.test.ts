import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Device } from '../contract.js'
import { matmul } from '../operations/matmul/index.js'
import { CONTROL } from './abi.js'
import { assembleDevice, type CpuDevice, deviceMemory } from './device.js'
import { floats } from './kernels.test-helper.js'
import { fill } from './layer.test-helper.js'
import { gatherTeam } from './team.js'
import { compileKernels, instantiate, kernelBytes } from './wasm.js'
import { widenLater } from './widen-later.js'

const INFO = { kind: 'cpu', name: 'as opened', reason: 'A test.', kernels: '' } as const
/** Every host has it. */
const VARIANT = 'simd'
const MODULE = await compileKernels(VARIANT, true)
/** Kernels that come to something else: of each two f32 the greater in place of their product. */
const OTHER = new WebAssembly.Module(
  kernelBytes(VARIANT, true).map((byte, i, all) =>
    all[i - 1] === 0xfd && byte === 0xe6 && all[i + 1] === 1 ? 0xe9 : byte,
  ),
)

interface Opened {
  readonly module?: WebAssembly.Module
  readonly beside?: (device: CpuDevice) => () => void
}

async function opened(threads: number, { module = MODULE, beside }: Opened = {}): Promise<CpuDevice> {
  const memory = deviceMemory(true)
  const kernels = await instantiate(module, memory.memory)
  const team = await gatherTeam(kernels, module, memory.memory, CONTROL, threads)
  return assembleDevice(INFO, { memory, kernels, team, variant: VARIANT, exact: false, ...(beside && { beside }) })
}

/** A product of so many rows in f32. */
async function product(device: Device, rows = 6): Promise<Float32Array> {
  const size = 128
  const matrix = device.matrix({
    format: 'f32',
    rows: size,
    columns: size,
    data: new Uint8Array(floats(size * size, 1).buffer),
  })
  const [x, y] = [device.activations(rows, size), device.activations(rows, size)]
  const { into, span } = fill(device, floats(rows * size, 2), rows)
  into(x)
  const pass = device.begin({ spans: [span] })
  pass.run(matmul, matrix, x, y, {})
  const read = pass.read(y, rows)
  await pass.submit()
  return read
}

describe('a device that adopts kernels', () => {
  it.each([1, 3])('computes with them alone, on as many threads: %i', async (threads) => {
    const wanted = await product(await opened(1, { module: OTHER }))
    const device = await opened(threads)
    const before = await product(device)
    expect(wanted).not.toEqual(before)
    expect(await device.adopt(OTHER, 'as adopted')).toBe(true)
    expect(device.info).toEqual({ ...INFO, name: 'as adopted' })
    expect(device.work!()).toEqual(Array(threads).fill(0))
    expect(await product(device)).toEqual(wanted)
    // Those that are counted are the new threads, and they all work.
    if (threads > 1)
      await expect
        .poll(async () => {
          await product(device, 64)
          return device.work!().every((items) => items > 0)
        })
        .toBe(true)
    device.destroy()
  })

  it('does so once', async () => {
    const device = await opened(2)
    const [first, second] = await Promise.all([device.adopt(MODULE, 'first'), device.adopt(MODULE, 'second')])
    expect([first, second, await device.adopt(MODULE, 'third')]).toEqual([true, false, false])
    expect(device.info.name).toBe('first')
    device.destroy()
  })

  it('has none where it is destroyed meanwhile', async () => {
    const device = await opened(2)
    const adopting = device.adopt(MODULE, 'as adopted')
    device.destroy()
    expect(await adopting).toBe(false)
    expect(device.info).toEqual(INFO)
  })
})

describe('what is done later', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  /** A device that somebody computes with at each `compute`, and what is tried of it later. */
  function watched() {
    // Of a program that runs for a while.
    vi.advanceTimersByTime(100_000)
    const adopt = vi.fn(async () => true)
    let asked = performance.now()
    const device = {
      get quiet() {
        return performance.now() - asked
      },
      adopt,
    } as unknown as CpuDevice
    const tried = vi.fn(async () => ({ module: MODULE, gain: 2 }))
    const stop = widenLater(device, tried, 'wide')
    const compute = () => {
      asked = performance.now()
    }
    return { adopt, tried, stop, compute }
  }

  it('waits for a second in which nothing is computed', async () => {
    const { adopt, tried, compute } = watched()
    for (let i = 0; i < 10; i++) {
      await vi.advanceTimersByTimeAsync(900)
      compute()
    }
    expect(tried).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1000)
    expect(tried).toHaveBeenCalledTimes(1)
    expect(adopt.mock.calls).toEqual([[MODULE, 'wide']])
    await vi.advanceTimersByTimeAsync(60_000)
    expect(tried).toHaveBeenCalledTimes(1)
  })

  it('waits half a minute at most, where it is never quiet', async () => {
    const { tried, compute } = watched()
    for (let i = 0; i < 59; i++) {
      await vi.advanceTimersByTimeAsync(500)
      compute()
    }
    expect(tried).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(600)
    expect(tried).toHaveBeenCalledTimes(1)
  })

  it('is given up', async () => {
    const { tried, stop } = watched()
    await vi.advanceTimersByTimeAsync(900)
    stop()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(tried).not.toHaveBeenCalled()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('leaves the device as it was where kernels are no quicker, or nothing can be compiled', async () => {
    const { adopt, tried } = watched()
    tried.mockResolvedValueOnce({ why: 'are no quicker here' } as never)
    await vi.advanceTimersByTimeAsync(5000)
    const other = watched()
    other.tried.mockRejectedValueOnce(new RangeError('no memory'))
    await vi.advanceTimersByTimeAsync(5000)
    expect([tried.mock.calls.length, other.tried.mock.calls.length]).toEqual([1, 1])
    expect([adopt.mock.calls.length, other.adopt.mock.calls.length]).toEqual([0, 0])
  })

  it('ends with its device', async () => {
    const stop = vi.fn()
    const device = await opened(1, { beside: () => stop })
    expect(stop).not.toHaveBeenCalled()
    device.destroy()
    device.destroy()
    expect(stop).toHaveBeenCalledTimes(1)
  })

  it('counts as quiet only while nothing is asked of the device', async () => {
    const device = await opened(1)
    vi.advanceTimersByTime(700)
    expect(device.quiet).toBe(700)
    device.vector(Float32Array.of(1))
    expect(device.quiet).toBe(0)
    vi.advanceTimersByTime(300)
    const pass = device.begin({ spans: [] })
    expect(device.quiet).toBe(0)
    vi.advanceTimersByTime(2000)
    await pass.submit()
    expect(device.quiet).toBe(0)
    device.destroy()
  })
})
