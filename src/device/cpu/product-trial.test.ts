import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { BF16, CONTROL, F16, F32, HEADER_WORDS, Q4, Q4_EXACT } from './abi.js'
import { blockKind, EXACT_BLOCKS, PAIRS, WHOLE, WIDE_BLOCKS } from './block-kinds.js'
import { DeviceMemory } from './memory.js'
import { ProductTrial } from './product-trial.js'

type Way = 'bytes' | 'pairs' | 'wide' | 'whole'

/** What the clock of the made-up machine says, in milliseconds. */
let now = 0
beforeEach(() => void vi.spyOn(performance, 'now').mockImplementation(() => now))
afterEach(() => void vi.restoreAllMocks())

/** Kernels of a made-up machine: how long each takes hangs on how bytes are multiplied and the rows of activations. */
function machine(work: (way: Way, tokens: number) => number) {
  const memory = new DeviceMemory(CONTROL, false)
  let runs = 0
  const kernels = {
    run(program: number) {
      runs++
      // As `matmul` has them: its kind comes first, its rows of activations ninth.
      const args = program / 4 + HEADER_WORDS
      const kind = memory.i32[args]!
      const way = kind & WHOLE ? 'whole' : kind & PAIRS ? 'pairs' : kind & WIDE_BLOCKS ? 'wide' : 'bytes'
      now += work(way, memory.i32[args + 8]!)
    },
  }
  return { memory, kernels, wholeBytes: false, runs: () => runs }
}

const [Q8, Q6] = [blockKind('q8_0'), blockKind('q6_k')]
const ADDED = { bytes: 0, pairs: PAIRS, wide: WIDE_BLOCKS, whole: WHOLE }
const NAMES = {
  bytes: 'products of bytes',
  pairs: 'products of bytes, by pairs',
  wide: 'products of 16 bits',
  whole: 'products of whole bytes',
}
/** Milliseconds. */
const [LONG, SHORT] = [0.06, 0.003]

describe('the trial of products', () => {
  it.each([
    ['16 bits', (way: Way) => way === 'wide', ['bytes', 'bytes'], ['wide', 'wide']],
    ['bytes', (way: Way) => way === 'bytes', ['bytes', 'bytes'], ['bytes', 'bytes']],
    // Halves of several rows are multiplied by fours, if as bytes at all.
    ['pairs', (way: Way) => way === 'pairs', ['pairs', 'pairs'], ['pairs', 'bytes']],
    ['all of them', () => true, ['bytes', 'bytes'], ['bytes', 'bytes']],
    [
      'pairs of a row, else 16 bits',
      (way: Way, tokens: number) => way === (tokens > 1 ? 'wide' : 'pairs'),
      ['pairs', 'bytes'],
      ['pairs', 'wide'],
    ],
  ] as const)('takes what is quick: %s', (_, isQuick, ofSix, ofEight) => {
    const host = machine((way, tokens) => (isQuick(way, tokens) ? SHORT : LONG))
    const trial = new ProductTrial({ ...host, variant: 'relaxed' })
    for (const kind of [Q8, Q6, Q4]) trial.meet(kind)
    for (const [kind, [few, many]] of [
      [Q8, ofEight],
      [Q6, ofSix],
      [Q4, ofSix],
    ] as const) {
      expect(trial.meet(kind)).toEqual({ few: kind + ADDED[few], many: kind + ADDED[many] })
    }
    expect(trial.choices).toEqual({
      'q8_0, a row': NAMES[ofEight[0]],
      'q8_0, several rows': NAMES[ofEight[1]],
      'q6_k, a row': NAMES[ofSix[0]],
      'q6_k, several rows': NAMES[ofSix[1]],
      'q4, a row': NAMES[ofSix[0]],
      'q4, several rows': NAMES[ofSix[1]],
    })
    // All that it took is given back, and it is made once.
    expect(host.memory.bytes).toBe(0)
    const runs = host.runs()
    for (const kind of [Q8, Q6, Q4, blockKind('q4_k')]) trial.meet(kind)
    expect(host.runs()).toBe(runs)
  })

  it('waits until the engine has compiled the kernels well, which takes other ways to be quick', () => {
    // As V8 does it: bytes are quicker until both are compiled once more, after 20 ms.
    const host = machine((way) =>
      now < 20 ? (way === 'bytes' ? SHORT * 4 : LONG) : way === 'pairs' ? SHORT : SHORT * 2,
    )
    const trial = new ProductTrial({ ...host, variant: 'relaxed' })
    now = 0
    expect(trial.meet(Q4)).toEqual({ few: Q4 + PAIRS, many: Q4 + PAIRS })
  })

  it('is not made where there is nothing to choose', () => {
    const host = machine(() => 1)
    const plain = new ProductTrial({ ...host, variant: 'simd' })
    expect(plain.meet(Q8)).toEqual({ few: Q8, many: Q8 })
    const relaxed = new ProductTrial({ ...host, variant: 'relaxed' })
    for (const kind of [F32, F16, BF16, Q4_EXACT, Q8 + EXACT_BLOCKS]) {
      expect(relaxed.meet(kind)).toEqual({ few: kind, many: kind })
    }
    expect([plain.choices, relaxed.choices]).toEqual([{}, {}])
    for (const [byteProducts, eight, six] of [
      ['bytes', ['bytes', 'bytes'], 'bytes'],
      ['pairs', ['pairs', 'bytes'], 'pairs'],
      ['wide', ['wide', 'wide'], 'bytes'],
      // Not by this machine.
      ['whole', ['bytes', 'bytes'], 'bytes'],
    ] as const) {
      const trial = new ProductTrial({ ...host, variant: 'relaxed', byteProducts })
      expect(trial.meet(Q8)).toEqual({ few: Q8 + ADDED[eight[0]], many: Q8 + ADDED[eight[1]] })
      expect(trial.meet(Q6)).toEqual({ few: Q6 + ADDED[six], many: Q6 + ADDED[six] })
    }
    expect(host.runs()).toBe(0)
  })

  it('is not made of codes of 8 bits where the machine multiplies them whole', () => {
    const host = { ...machine(() => 1), variant: 'relaxed', wholeBytes: true } as const
    for (const given of [undefined, 'whole'] as const) {
      const trial = new ProductTrial({ ...host, ...(given && { byteProducts: given }) })
      expect(trial.meet(Q8)).toEqual({ few: Q8 + WHOLE, many: Q8 + WHOLE })
      expect(trial.choices).toEqual({ 'q8_0, a row': NAMES.whole, 'q8_0, several rows': NAMES.whole })
    }
    expect(host.runs()).toBe(0)
    // Asked for in another way, they are multiplied so; and codes of fewer bits are bytes as ever.
    const halves = new ProductTrial({ ...host, byteProducts: 'bytes' })
    expect(halves.meet(Q8)).toEqual({ few: Q8, many: Q8 })
    expect(new ProductTrial({ ...host, byteProducts: 'whole' }).meet(Q6)).toEqual({ few: Q6, many: Q6 })
  })
})
