import { describe, expect, it } from 'vitest'
import { sharedGpu } from '../../../test/support/shared-gpu.js'
import { angleTable } from '../../models/angles.js'
import type { Device } from '../contract.js'
import { cached } from '../operations/cached.test-helper.js'
import { openWebGpuDevice } from './index.js'
import { Tapes } from './tapes.js'

describe('what operations were recorded as', () => {
  it('is found again by all that decides it, and by nothing less', () => {
    const tapes = new Tapes()
    const [owner, other, x] = [{}, {}, {}]
    const tape = { facts: [x, 1, undefined], dispatches: [] }
    tapes.keep(owner, tape)
    expect(tapes.find(owner, [x, 1, undefined])).toBe(tape)
    for (const facts of [
      [x, 2, undefined],
      [{}, 1, undefined],
      [x, 1],
      [x, 1, undefined, 3],
    ]) {
      expect(tapes.find(owner, facts)).toBe(undefined)
    }
    expect(tapes.find(other, [x, 1, undefined])).toBe(undefined)
  })

  it('stays as long as it is used, however many come after it', () => {
    const tapes = new Tapes()
    const owner = {}
    const kept = (i: number) => tapes.find(owner, [i]) !== undefined
    for (let i = 0; i < 100; i++) {
      tapes.keep(owner, { facts: [i], dispatches: [] })
      expect(kept(0)).toBe(true)
    }
    expect([kept(99), kept(1)]).toEqual([true, false])
  })

  it('is no more once one of its buffers is gone', async () => {
    const device: Device = await openWebGpuDevice({ gpu: await sharedGpu(), serial: false, half: false })
    const length = 700
    const angles = angleTable(length, { size: 16, theta: 10000 })
    const text = cached(device, { heads: 2, keyHeads: 1, headSize: 16, type: 'f16', length, angles })
    const rows = Array.from({ length }, (_, i) => Float32Array.from({ length: 64 }, (_, k) => Math.sin(i * 7 + k)))
    await text.run([rows])
    const at = async (position: number) => (await text.run([rows], position, position + 1))[0]![0]!.slice()
    const short = await at(130)
    // Its parts need more room, which takes the place of what the first wrote its own into.
    await at(length - 1)
    expect(await at(130)).toEqual(short)
    expect(short.some((value) => value !== 0)).toBe(true)
    text.close()
    device.destroy()
  })
})
