import { describe, expect, it } from 'vitest'
import { runs } from '../../../test/support/full.js'
import { SAMPLING, SAMPLING_NAMES } from '../../contract/sampling.js'
import { type SampleSettings, UNDRAWN } from '../../contract/token-model.js'
import { needsAll, sampleRow, uncut } from '../../device/sampling.js'
import { randomness } from '../../grammar/testing.test-helper.js'
import { sampleRowOf } from '../../models/sampling.js'
import { Drawer, firstReading, type LogitsWanted, secondReading } from './reading.js'

const TOKENS = 20_000

/** As models have them: few that are likely, a long tail. */
function logitsOf(random: () => number, width: number): Float32Array {
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  return Float32Array.from({ length: TOKENS }, () => width * normal())
}

const orders = new WeakMap<Float32Array, readonly number[]>()
/** Tokens from the likeliest on: sorted once. */
function orderOf(logits: Float32Array): readonly number[] {
  const found = orders.get(logits) ?? [...logits.keys()].sort((a, b) => logits[b]! - logits[a]!)
  orders.set(logits, found)
  return found
}

/** What llama.cpp tells of them. */
function wantedLogits(logits: Float32Array, wanted: LogitsWanted): Map<number, number> {
  if (wanted.kind === 'all') return new Map(logits.entries())
  if (wanted.kind === 'allowed') return new Map(wanted.tokens.map((id) => [id, logits[id]!]))
  return new Map(
    orderOf(logits)
      .slice(0, wanted.count)
      .map((id) => [id, logits[id]!]),
  )
}

const plain: SampleSettings = { temperature: 1, topP: 1, seed: 0, index: 0, presencePenalty: 0, frequencyPenalty: 0 }
const bits = (holds: (token: number) => boolean) => {
  const mask = new Uint32Array(TOKENS / 32)
  for (let token = 0; token < TOKENS; token++) if (holds(token)) mask[token >>> 5]! |= 1 << (token & 31)
  return mask
}
const pastTokens = bits((token) => token % 3 === 0)
const counts = new Map(Array.from({ length: 400 }, (_, i) => [i * 7, 1 + (i % 3)]))

const KINDS: readonly [string, Partial<SampleSettings>][] = [
  ['greedy', { temperature: 0 }],
  [
    'greedy, with a bias against many',
    { temperature: 0, logitBias: new Map([...Array(90).keys()].map((id) => [id * 11, -100])) },
  ],
  ['by chance', {}],
  ['hot', { temperature: 1.8 }],
  ['a nucleus', { topP: 0.7, temperature: 0.8 }],
  ['a wide nucleus', { topP: 0.99, temperature: 1.3 }],
  ['the likeliest 20', { topK: 20 }],
  ['the likeliest 500', { topK: 500, temperature: 1.5 }],
  ['a floor', { minP: 0.05 }],
  ['a mask of nearly all', { mask: bits((token) => token % 11 !== 0) }],
  ['a mask of some', { mask: bits((token) => token % 40 === 7), temperature: 0.7 }],
  ['a mask of a few', { mask: bits((token) => token % 999 === 5) }],
  ['a mask of a few hundred, greedy', { mask: bits((token) => token % 60 === 7), temperature: 0 }],
  ['repetition', { repeats: { tokens: pastTokens, by: 1.3 }, topP: 0.8 }],
  ['repetition that is wanted', { repeats: { tokens: pastTokens, by: 0.7 } }],
  ['repetition, greedy', { repeats: { tokens: pastTokens, by: 1.6 }, temperature: 0 }],
  ['penalties', { presencePenalty: 1.5, frequencyPenalty: 1, counts, topP: 0.9, topK: 200 }],
  ['a bias for one', { logitBias: new Map([[17, 9]]) }],
  ['a bias against many', { logitBias: new Map([...Array(90).keys()].map((id) => [id * 11, -100])), topP: 0.95 }],
  ['the typical', { typicalP: 0.4 }],
  ['at times without the likeliest', { xtcProbability: 0.5, xtcThreshold: 0.02, minP: 0.01 }],
  ['log probabilities', { topLogprobs: 3 }],
]

describe('what is read of the logits', () => {
  it.each(KINDS)('decides the token as all of them do: %s', (_, kind) => {
    const random = randomness(11)
    const drawer = new Drawer(TOKENS)
    const scratch = new Float32Array(TOKENS)
    for (const width of [0.3, 1.5, 4]) {
      const logits = logitsOf(random, width)
      for (let index = 0; index < runs(12); index++) {
        const settings = { ...plain, ...kind, seed: 5, index }
        const first = firstReading(settings, TOKENS)
        const drawn =
          drawer.draw(settings, first, wantedLogits(logits, first)) ??
          drawer.draw(settings, secondReading(settings, TOKENS), wantedLogits(logits, secondReading(settings, TOKENS)))
        expect(drawn, `${width}, ${index}`).toEqual(sampleRow(logits, TOKENS, sampleRowOf(settings, 0), scratch))
      }
    }
  })

  it('frees a draw of every setting that excludes tokens, or has all of them read', () => {
    const logits = logitsOf(randomness(5), 1).subarray(0, 64)
    const scratch = new Float32Array(64)
    for (const name of SAMPLING_NAMES) {
      const { acts, least, most } = SAMPLING[name]
      if (acts !== 'draw' || name === 'temperature') continue
      for (const value of [least, 0.5, 1].filter((value) => value >= least && value <= most)) {
        for (let index = 0; index < 40; index++) {
          const open = sampleRowOf({ ...plain, index }, 0)
          const row = { ...open, [name]: value }
          if (needsAll(row)) continue
          expect(sampleRow(logits, 64, uncut(row), scratch), `${name}: ${value}`).toEqual(
            sampleRow(logits, 64, open, scratch),
          )
        }
      }
    }
  })

  it('suffices at once where some tokens are likely', () => {
    const logits = logitsOf(randomness(3), 4)
    const drawer = new Drawer(TOKENS)
    for (const [, kind] of KINDS.slice(0, 10)) {
      for (let index = 0; index < 5; index++) {
        const settings = { ...plain, ...kind, index }
        const first = firstReading(settings, TOKENS)
        expect(first.kind).not.toBe('all')
        expect(drawer.draw(settings, first, wantedLogits(logits, first))).toBeDefined()
      }
    }
  })

  it('draws nothing from what is no number', () => {
    const drawer = new Drawer(TOKENS)
    const logits = new Float32Array(TOKENS).fill(Number.NaN)
    for (const [, kind] of KINDS.slice(0, 10)) {
      const settings = { ...plain, ...kind }
      const first = firstReading(settings, TOKENS)
      expect(drawer.draw(settings, first, wantedLogits(logits, first))).toEqual({ token: UNDRAWN })
      expect(drawer.draw(settings, first, undefined)).toEqual({ token: UNDRAWN })
    }
  })
})
