import { describe, expect, it } from 'vitest'
import { ACCEPT, type Counts, differences } from './compare.js'
import { TOPICS } from './count.js'
import { expected } from './expected.js'
import { StillGpu } from './still-gpu.js'

describe('what must not change unseen', () => {
  it.each(Object.keys(TOPICS))('%s', async (topic) => {
    const was = (await expected())[topic] as Counts | undefined
    const changed = differences(was ?? {}, await TOPICS[topic]!())
    if (changed.length > 0) expect.fail(`${changed.slice(0, 40).join('\n')}\n${ACCEPT}`)
  })

  it('is counted, all of it and nothing else', async () => {
    expect(Object.keys(await expected())).toEqual(Object.keys(TOPICS))
  })
})

describe('a difference', () => {
  it('is told by the path of its count: other, new or gone', () => {
    const was = { a: { b: 1, c: 'x', d: { e: true } }, f: 2 }
    expect(differences(was, was)).toEqual([])
    expect(differences(was, { a: { b: 2, c: 'x' }, f: { g: 3 } })).toEqual([
      'a / b: was 1, is 2',
      'a / d / e: was true, and is no longer counted',
      'f / g: 3, which is new',
    ])
  })
})

describe('a GPU that is still', () => {
  /** Dispatches over buffers by name: what each reads and what it writes. */
  function dispatch(gpu: StillGpu, steps: readonly (readonly [reads: string, writes: string])[]) {
    const { device } = gpu
    const buffers = new Map<string, GPUBuffer>()
    const named = (name: string) => {
      const buffer = buffers.get(name) ?? device.createBuffer({ size: 16, usage: 0x80 })
      buffers.set(name, buffer)
      return { resource: { buffer } }
    }
    const pass = device.createCommandEncoder().beginComputePass()
    for (const [reads, writes] of steps) {
      const layout = device.createBindGroupLayout({
        entries: [
          ...[...reads].map(() => ({ type: 'read-only-storage' as const })),
          ...[...writes].map(() => ({ type: 'storage' as const })),
        ].map((buffer, binding) => ({ binding, visibility: 4, buffer })),
      })
      const entries = [...reads, ...writes].map((name, binding) => ({ binding, ...named(name) }))
      pass.setPipeline(device.createComputePipeline({ layout: 'auto', label: reads, compute: {} as never }))
      pass.setBindGroup(0, device.createBindGroup({ layout, entries }))
      pass.dispatchWorkgroups(2, 3)
    }
    device.queue.submit([])
    return gpu.take().counts
  }

  it.each([
    [
      'what only reads the same',
      [
        ['a', 'b'],
        ['a', 'c'],
      ],
      0,
    ],
    [
      'a read of what was written',
      [
        ['a', 'b'],
        ['b', 'c'],
      ],
      1,
    ],
    [
      'a write of what was read',
      [
        ['a', 'b'],
        ['c', 'a'],
      ],
      1,
    ],
    [
      'a write of what was written',
      [
        ['a', 'b'],
        ['c', 'b'],
      ],
      1,
    ],
    [
      'two that one wait is enough for',
      [
        ['a', 'b'],
        ['a', 'c'],
        ['b', 'd'],
        ['c', 'e'],
      ],
      1,
    ],
    [
      'a chain',
      [
        ['a', 'b'],
        ['b', 'c'],
        ['c', 'd'],
      ],
      2,
    ],
  ] as const)('counts how often something must wait: %s', (_, steps, barriers) => {
    const counts = dispatch(new StillGpu(), steps)
    expect(counts).toMatchObject({ barriers, dispatches: steps.length, workgroups: 6 * steps.length, submits: 1 })
  })

  it('has one submit wait for the other without a barrier', () => {
    const gpu = new StillGpu()
    dispatch(gpu, [['a', 'b']])
    expect(dispatch(gpu, [['b', 'c']]).barriers).toBe(0)
  })
})
