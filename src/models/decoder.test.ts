import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FULL } from '../../test/support/full.js'
import type { Part } from '../contract/engine.js'
import type { Device } from '../device/contract.js'
import { DEVICES } from '../device/operations/devices.test-helper.js'
import { Chance, type Format } from '../device/operations/numbers.test-helper.js'
import { DecodeLoop } from '../generate/decode-loop.js'
import { call, collect, smallText } from '../generate/testing/call.test-helper.js'
import { GREEDY } from './architectures/cases.test-helper.js'
import type { Core } from './core.js'
import { loadCore } from './load.js'
import { PRESETS, type Preset, QUANTISATIONS, randomModel } from './random-model.test-helper.js'
import { type Losses, ReferenceDecoder } from './reference.test-helper.js'

/** Tokens that are written, each after the one before. */
const STEPS = 4

/** Every architecture in the form that users run, and one of them in every form. */
const CASES: { name: string; preset: Preset; format: Format }[] = [
  ...PRESETS.map((preset) => ({ name: `${preset.name} q4f16_1`, preset, format: 'q4f16' as Format })),
  ...Object.entries(QUANTISATIONS)
    .slice(1)
    .map(([quantisation, format]) => ({ name: `Llama 3.2 ${quantisation}`, preset: PRESETS[1]!, format })),
]

describe.each(DEVICES)('decoders on $name', ({ name, open, roundsActivations, cases: which }) => {
  const few = which === 'few' || (!FULL && name.startsWith('webgpu'))
  // Both ways of the processor compute each form of numbers; an architecture makes no difference between them.
  const others = CASES.filter(({ preset }, i) => FULL || preset === PRESETS[1] || i % 2 === Number(roundsActivations))
  // A GPU in software compiles each anew: by default what users run most where it is cut for hardware, another
  // architecture where it is cut for software; families have numbers that are not quantised.
  const some = FULL ? /Llama 3.2 q(4f16|0f32)|Qwen3/ : which === 'few' ? /Qwen3/ : /Llama 3.2 q4f16/
  const cases = few ? CASES.filter(({ name }) => some.test(name)) : others
  let device: Device
  beforeAll(async () => {
    device = await open()
  })
  afterAll(() => device.destroy())

  it.each(cases)('$name: log probabilities and greedy tokens are those of plain loops', async ({ preset, format }) => {
    const { source, values } = randomModel(preset, format, 7)
    const judge = judgeOf(preset, format, roundsActivations, values)
    const core = await loadCore(device, source, { maxChunk: 24, contextLength: 96 })
    const chance = new Chance(3)
    const tokens = Array.from({ length: 45 }, () => chance.below(core.vocabSize))
    const sequence = core.open()
    const samples = [await prefill(core, sequence, tokens)]
    while (samples.length < STEPS) {
      const { token } = samples.at(-1)!
      tokens.push(token)
      samples.push((await core.step([{ sequence, tokens: [token], sample: { ...GREEDY, index: samples.length } }]))[0]!)
    }
    const judged = judge(tokens)
    expect(judged).toHaveLength(samples.length)
    for (const [i, { logprobs, bound }] of judged.entries()) {
      const next = samples[i]!
      for (const { token, logprob } of next.top!) {
        expect(Math.abs(logprob - logprobs[token]!)).toBeLessThan(bound)
      }
      const best = Math.max(...logprobs)
      // The device may only differ where the two best are as near as its error.
      expect(best - logprobs[next.token]!).toBeLessThan(2 * bound)
      if (best - second(logprobs) > 2 * bound) expect(next.token).toBe(logprobs.indexOf(best))
    }
    await core.close()
  })

  it.skipIf(!FULL && which === 'few')('the tokens of a prompt are as likely as plain loops say', async () => {
    const { source, values } = randomModel(PRESETS[1]!, 'q4f16', 7)
    const core = await loadCore(device, source, { maxChunk: 24, contextLength: 96 })
    const chance = new Chance(8)
    const prompt = Array.from({ length: 45 }, () => chance.below(core.vocabSize))
    const judged = judgeOf(PRESETS[1]!, 'q4f16', roundsActivations, values, prompt.length)(prompt)
    const truth = judged.map(({ logprobs }) => logprobs)
    const bound = Math.max(...judged.slice(0, -1).map(({ bound }) => bound))
    const reply = await scored(core, prompt)
    expect(reply).toHaveLength(prompt.length - 1)
    reply.forEach(({ logprob, top }, i) => {
      expect(Math.abs(logprob! - truth[i]![prompt[i + 1]!]!)).toBeLessThan(bound)
      const best = Math.max(...truth[i]!)
      expect(Math.abs(top[0]!.logprob - best)).toBeLessThan(bound)
      // A harness asks whether it is the likeliest by comparing the two.
      if (best - second(truth[i]!) > 2 * bound && truth[i]!.indexOf(best) === prompt[i + 1])
        expect(top[0]!.logprob).toBe(logprob)
    })
    await core.close()
  })
})

interface Judged {
  readonly logprobs: Float64Array
  readonly bound: number
}

const known = new Map<string, readonly Judged[]>()

/** What comes after the last tokens of a text, and by how much a device may be off: once for all devices that lose the same. */
function judgeOf(
  preset: Preset,
  format: Format,
  rounds: boolean,
  values: ReadonlyMap<string, Float64Array>,
  steps = STEPS,
) {
  return (tokens: readonly number[]): readonly Judged[] => {
    const key = JSON.stringify([preset.name, format, rounds, tokens, steps])
    const rows = (losses?: Losses) =>
      new ReferenceDecoder(preset, values, losses).logits(tokens, tokens.length - steps).map(logSoftmax)
    let found = known.get(key)
    if (!found) {
      const truth = rows()
      const lossy = [1, 2, 3, 4].map((seed) => rows(lossesOf(format, rounds, new Chance(seed))))
      found = truth.map((logprobs, i) => {
        return { logprobs, bound: 2 * Math.max(...lossy.map((other) => gap(logprobs, other[i]!))) }
      })
      known.set(key, found)
    }
    return found
  }
}

/** As the service tells them; the first has none before it. */
async function scored(core: Core, prompt: readonly number[]) {
  const loop = new DecodeLoop(core, smallText)
  const request = call({ messages: [], prompt, promptLogprobs: true, topLogprobs: 3, maxTokens: 0 })
  const { parts } = await collect(loop.generate(request))
  return (parts[0] as Part & { readonly type: 'prompt' }).logprobs!.slice(1)
}

/**
 * What a device may be off by: twice the most that random losses do to the reference, where it loses something. Sums in
 * f32 lose 2^-20, f16 2^-11 of a key or value, and 8 bits per block half a step, 1/254 of the block's greatest.
 */
function lossesOf(format: Format, roundsActivations: boolean, chance: Chance): Losses {
  const off = (size: number) => size * (2 * chance.next() - 1)
  const product = format.startsWith('q4') && roundsActivations ? 1 / 254 : 2 ** -20
  const cache = format === 'q4f16' || format === 'f16' ? 2 ** -11 : 2 ** -20
  return {
    product: (x) => {
      const most = Float64Array.from({ length: Math.ceil(x.length / 32) }, (_, i) => greatest(x, 32 * i))
      return x.map((value, i) => value + off(product) * most[i >> 5]!)
    },
    cache: (x) => x.map((value) => value * (1 + off(cache))),
  }
}

function greatest(x: Float64Array, from: number): number {
  return x.subarray(from, from + 32).reduce((most, value) => Math.max(most, Math.abs(value)), 0)
}

function gap(a: Float64Array, b: Float64Array): number {
  return a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0)
}

async function prefill(core: Core, sequence: ReturnType<Core['open']>, tokens: readonly number[]) {
  for (let at = 0; ; at += core.maxChunk) {
    const last = at + core.maxChunk >= tokens.length
    const chunk = tokens.slice(at, at + core.maxChunk)
    const [result] = await core.step([{ sequence, tokens: chunk, ...(last ? { sample: GREEDY } : {}) }])
    if (last) return result!
  }
}

function logSoftmax(logits: Float64Array): Float64Array {
  const most = Math.max(...logits)
  const total = most + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - most), 0))
  return logits.map((logit) => logit - total)
}

function second(values: Float64Array): number {
  return [...values].sort((a, b) => b - a)[1]!
}
