import { describe, expect, it } from 'vitest'
import { HEADER_WORDS } from './abi.js'
import { blockKind, WIDE_BLOCKS } from './block-kinds.js'
import { DeviceMemory } from './memory.js'
import { ProductTrial } from './product-trial.js'

/** Kernels of a made-up machine: how long each takes hangs on the kind of matrix and the rows of activations. */
function machine(work: (wide: boolean, tokens: number) => number) {
  const memory = new DeviceMemory(64, false)
  let runs = 0
  let sink = 0
  const kernels = {
    run(program: number) {
      runs++
      // As `matmul` has them: its kind comes first, its rows of activations ninth.
      const args = program / 4 + HEADER_WORDS
      const rounds = work((memory.i32[args]! & WIDE_BLOCKS) !== 0, memory.i32[args + 8]!)
      for (let i = 0; i < rounds; i++) sink = (sink + i * 7) | 0
    },
  }
  return { memory, kernels, runs: () => runs, sink: () => sink }
}

const Q8 = blockKind('q8_0')

describe('the trial of products', () => {
  it.each([
    ['16 bits are quicker', () => true, true, true],
    ['bytes are quicker', () => false, false, false],
    ['it hangs on the rows', (tokens: number) => tokens > 1, false, true],
  ] as const)('takes what is quicker: %s', (_, wideIsQuicker, few, many) => {
    const host = machine((wide, tokens) => (wide === wideIsQuicker(tokens) ? 3_000 : 60_000))
    const trial = new ProductTrial({ ...host, variant: 'relaxed' })
    expect(trial.kindFor(Q8, 8)).toBe(Q8)
    trial.meet(Q8)
    expect([trial.kindFor(Q8, 1), trial.kindFor(Q8, 4)]).toEqual([
      Q8 + (few ? WIDE_BLOCKS : 0),
      Q8 + (many ? WIDE_BLOCKS : 0),
    ])
    expect(trial.choices).toEqual({
      'q8_0, a row': few ? 'products of 16 bits' : 'products of bytes',
      'q8_0, several rows': many ? 'products of 16 bits' : 'products of bytes',
    })
    // All that it took is given back, and it is made once.
    expect(host.memory.bytes).toBe(0)
    const runs = host.runs()
    trial.meet(Q8)
    expect(host.runs()).toBe(runs)
  })

  it('is not made where there is nothing to choose', () => {
    const host = machine(() => 1)
    const plain = new ProductTrial({ ...host, variant: 'simd' })
    plain.meet(Q8)
    const relaxed = new ProductTrial({ ...host, variant: 'relaxed' })
    for (const type of ['q4_k', 'q6_k', 'q4_0'] as const) relaxed.meet(blockKind(type))
    const told = new ProductTrial({ ...host, variant: 'relaxed', byteProducts: 'wide' })
    told.meet(Q8)
    expect(host.runs()).toBe(0)
    expect([plain.choices, relaxed.choices]).toEqual([{}, {}])
    expect(told.kindFor(Q8, 1)).toBe(Q8 + WIDE_BLOCKS)
  })
})
