/**
 * Angles that are scaled, of every family in every kind and spelling: as transformers computes them (modeling_rope_utils),
 * in float64, or refused by name.
 */
import { describe, expect, it } from 'vitest'
import { CASES } from '../../../test/oracles/families/index.js'
import { angleTable } from '../angles.js'
import type { AttentionLayer } from '../model-plan.js'
import { readModel } from './index.js'

const THETA = 5000
const MOST = 2048
const ORIGINAL = 512

/** Of `size` values that turn, in a text of `length`: turns per position of each pair, and what cos and sin are multiplied by. */
type Turns = (size: number, length: number) => { readonly angles: readonly number[]; readonly by: number }

const plain = (size: number, base = THETA) => Array.from({ length: size / 2 }, (_, i) => 1 / base ** ((2 * i) / size))

function yarn({
  factor,
  fast,
  slow,
  whole,
  by,
}: Readonly<Record<'factor' | 'fast' | 'slow' | 'by', number>> & { whole: boolean }): Turns {
  return (size) => {
    const dimension = (turns: number) => (size * Math.log(ORIGINAL / (turns * 2 * Math.PI))) / (2 * Math.log(THETA))
    const ends = [dimension(fast), dimension(slow)] as const
    const low = Math.max(whole ? Math.floor(ends[0]) : ends[0], 0)
    const high = Math.min(whole ? Math.ceil(ends[1]) : ends[1], size - 1)
    const angles = plain(size).map((angle, i) => {
      const ramp = Math.min(Math.max((i - low) / (low === high ? 0.001 : high - low), 0), 1)
      return (angle / factor) * ramp + angle * (1 - ramp)
    })
    return { angles, by }
  }
}

const short = (size: number) => Array.from({ length: size / 2 }, (_, i) => 1 + i / 50)
const long = (size: number) => Array.from({ length: size / 2 }, (_, i) => 2 + i / 5)
const mscale = (factor: number, by: number) => 0.1 * by * Math.log(factor) + 1

interface Kind {
  readonly name: string
  fields(size: number): Readonly<Record<string, unknown>>
  readonly turns: Turns
}

const KINDS: readonly Kind[] = [
  { name: 'default', fields: () => ({}), turns: (size) => ({ angles: plain(size), by: 1 }) },
  {
    name: 'linear',
    fields: () => ({ factor: 3 }),
    turns: (size) => ({ angles: plain(size).map((angle) => angle / 3), by: 1 }),
  },
  {
    name: 'dynamic',
    fields: () => ({ factor: 4 }),
    turns(size, length) {
      const seen = Math.max(length, MOST)
      return { angles: plain(size, THETA * ((4 * seen) / MOST - 3) ** (size / (size - 2))), by: 1 }
    },
  },
  {
    name: 'llama3',
    fields: () => ({
      ...{ factor: 8, low_freq_factor: 1, high_freq_factor: 4 },
      original_max_position_embeddings: ORIGINAL,
    }),
    turns: (size) => ({
      by: 1,
      angles: plain(size).map((angle) => {
        const wavelength = (2 * Math.PI) / angle
        if (wavelength < ORIGINAL / 4) return angle
        if (wavelength > ORIGINAL) return angle / 8
        const smooth = (ORIGINAL / wavelength - 1) / (4 - 1)
        return ((1 - smooth) * angle) / 8 + smooth * angle
      }),
    }),
  },
  {
    name: 'yarn',
    fields: () => ({ factor: 4, original_max_position_embeddings: ORIGINAL }),
    turns: yarn({ factor: 4, fast: 32, slow: 1, whole: true, by: mscale(4, 1) }),
  },
  {
    name: 'yarn',
    fields: () => ({
      ...{ factor: 8, original_max_position_embeddings: ORIGINAL, beta_fast: 24, beta_slow: 2, truncate: false },
      ...{ mscale: 0.7, mscale_all_dim: 1.2 },
    }),
    turns: yarn({ factor: 8, fast: 24, slow: 2, whole: false, by: mscale(8, 0.7) / mscale(8, 1.2) }),
  },
  {
    name: 'yarn',
    fields: () => ({ factor: 2, original_max_position_embeddings: ORIGINAL, attention_factor: 0.9 }),
    turns: yarn({ factor: 2, fast: 32, slow: 1, whole: true, by: 0.9 }),
  },
  {
    name: 'longrope',
    fields: (size) => ({
      ...{ short_factor: short(size), long_factor: long(size) },
      original_max_position_embeddings: ORIGINAL,
    }),
    turns(size, length) {
      const factors = length > ORIGINAL ? long(size) : short(size)
      const by = Math.sqrt(1 + Math.log(MOST / ORIGINAL) / Math.log(ORIGINAL))
      return { angles: plain(size).map((angle, i) => angle / factors[i]!), by }
    },
  },
]

const SPELLINGS: Readonly<Record<string, (kind: string, fields: object) => object>> = {
  'rope_scaling.type': (type, fields) => ({ rope_theta: THETA, rope_scaling: { type, ...fields } }),
  'rope_scaling.rope_type': (type, fields) => ({ rope_theta: THETA, rope_scaling: { rope_type: type, ...fields } }),
  rope_parameters: (type, fields) => ({ rope_parameters: { rope_type: type, rope_theta: THETA, ...fields } }),
}

const bare = (config: object) => ({
  ...config,
  ...{ rope_parameters: undefined, rope_scaling: undefined, rope_theta: undefined },
  max_position_embeddings: MOST,
  original_max_position_embeddings: undefined,
})

const attending = (config: object) => {
  const { model } = readModel(config as never, 'org/model', 'huggingface')
  const layers = model.layers.filter((layer): layer is AttentionLayer => layer.kind === 'attention')
  return { contextLength: model.contextLength, layers }
}

function expectTurned({ angles }: AttentionLayer, turns: Turns, length: number) {
  const { size } = angles
  const { angles: each, by } = turns(size, length)
  const table = angleTable(length, angles)
  // One expectation for all of them: each takes longer than the cosine that it is about.
  let furthest = 0
  for (const position of [0, 1, 7, length >> 1, length - 1]) {
    for (const [i, angle] of each.entries()) {
      const at = 2 * (position * (size / 2) + i)
      const off = [table[at]! - by * Math.cos(position * angle), table[at + 1]! - by * Math.sin(position * angle)]
      // What is no number is not lost among the greatest.
      furthest = Math.max(furthest, ...off.map(Math.abs))
    }
  }
  expect(furthest).toBeLessThan(1e-6)
}

/** Gemma 3 scales its full layers alone; Gemma 4 has a kind of its own and knows no other. */
const isScaled = (name: string, layer: AttentionLayer) => name !== 'gemma3' || layer.window === undefined
const ROWS = KINDS.flatMap((kind) =>
  Object.entries(SPELLINGS).map(([spelling, spelled]) => ({ kind, spelling, spelled })),
)

describe.each(CASES.filter(({ name }) => !name.startsWith('gemma4')))('$name', ({ name, config }) => {
  // How much of a head turns: known once it is read.
  const usual = attending({ ...bare(config), rope_theta: THETA })
  const size = Math.max(...usual.layers.map(({ angles }) => angles.size))
  const twoKinds = name === 'gemma3'

  it.each(ROWS)('$kind.name by $spelling', ({ kind, spelling, spelled }) => {
    const given = spelled(kind.name, kind.fields(size))
    const nested = twoKinds && spelling === 'rope_parameters'
    const other = { rope_type: 'default', rope_theta: 10_000 }
    const parts = { rope_parameters: { full_attention: Object.values(given)[0], sliding_attention: other } }
    const { contextLength, layers } = attending({ ...bare(config), ...(nested ? parts : given) })
    expect(contextLength).toBe(MOST)
    const turned = layers.filter((layer) => layer.angles.size > 0 && isScaled(name, layer))
    expect(turned.length).toBeGreaterThan(0)
    for (const length of [ORIGINAL >> 2, MOST]) expectTurned(turned[0]!, kind.turns, length)
    for (const layer of turned) expect(layer.angles).toEqual(turned[0]!.angles)
    for (const layer of layers.filter((layer) => !isScaled(name, layer))) {
      expect(layer.angles).toEqual({ size: layer.headSize, theta: 10_000 })
    }
  })

  it.each(Object.entries(SPELLINGS))('no other kind by %s', (spelling, spelled) => {
    const given = spelled('ntk_by_parts', { factor: 2 })
    const nested = twoKinds && spelling === 'rope_parameters'
    const parts = { rope_parameters: { full_attention: Object.values(given)[0] } }
    expect(() => attending({ ...bare(config), ...(nested ? parts : given) })).toThrow('"ntk_by_parts"')
  })
})

describe('gemma4', () => {
  const { config } = CASES.find(({ name }) => name === 'gemma4')!
  const scaling = ROWS.filter(({ kind }) => kind.name !== 'default')

  it.each(scaling)('refuses $kind.name by $spelling', ({ kind, spelled }) => {
    expect(() => attending({ ...bare(config), ...spelled(kind.name, kind.fields(32)) })).toThrow(/rope/)
  })

  it.each(scaling.filter(({ spelling }) => spelling === 'rope_parameters'))(
    'refuses $kind.name in either kind of layers',
    ({ kind }) => {
      const part = { rope_type: kind.name, rope_theta: THETA, ...kind.fields(32) }
      for (const each of ['full_attention', 'sliding_attention']) {
        expect(() => attending({ ...bare(config), rope_parameters: { [each]: part } })).toThrow(
          `rope_type = "${kind.name}"`,
        )
      }
    },
  )
})
