import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FULL } from '../../test/support/full.js'
import { type Sampled, type SampleSettings, type Sequence, UNDRAWN } from '../contract/token-model.js'
import { type CacheShape, type Device, type KeyValueCache, type MatrixData, PAGE } from '../device/contract.js'
import { DEVICES } from '../device/operations/devices.test-helper.js'
import { Chance } from '../device/operations/numbers.test-helper.js'
import type { Lane } from '../generate/answer/lane.js'
import { DraftModel } from '../generate/drafts/draft-model.js'
import { FreePath } from '../generate/drafts/path.js'
import type { Core } from './core.js'
import { loadCore } from './load.js'
import { PRESETS, randomModel } from './random-model.test-helper.js'

const DRAWN: SampleSettings = {
  temperature: 0.9,
  topP: 0.95,
  seed: 11,
  index: 0,
  presencePenalty: 0,
  frequencyPenalty: 0,
  topLogprobs: 3,
}
const SIZES = { maxChunk: 40, contextLength: 128, cacheTokens: 512, tokens: 85 }

const USED = DEVICES.filter(({ name }) => name !== 'cpu, exact')
const IN_BLOCKS = { ...PRESETS[1]!, model: { ...PRESETS[1]!.model, head_dim: 32 } }
const CASES = [
  // In software one kind of cache for each way of cutting.
  ...USED.filter(({ name }) => FULL || !name.includes('software')).map((device) => {
    return { ...device, preset: PRESETS[1]!, OPTIONS: SIZES }
  }),
  // Kernels cut for hardware take half a minute to compile for each kind of cache: `operations` has them all.
  ...USED.filter(({ name }) => !name.includes('hardware')).flatMap(({ name, open }) =>
    (FULL || name === 'cpu' ? (['q8_0', 'q4_0'] as const) : (['q8_0'] as const)).map((cacheType) => ({
      name: `${name}, with a cache in ${cacheType}`,
      open,
      preset: IN_BLOCKS,
      OPTIONS: { ...SIZES, cacheType },
    })),
  ),
]

describe.each(CASES)('sequences on $name', ({ name, open, preset, OPTIONS }) => {
  const { source } = randomModel(preset, 'q4f16', 5)
  let device: Device
  let core: Core
  beforeAll(async () => {
    device = await open()
    core = await loadCore(device, source, OPTIONS)
  })
  afterAll(async () => {
    await core.close()
    device.destroy()
  })

  const text = (seed: number, length: number) => {
    const chance = new Chance(seed)
    return Array.from({ length }, () => chance.below(85))
  }
  const sampleAfter = async (sequence: Sequence, tokens: readonly number[], sample = DRAWN): Promise<Sampled> =>
    (await core.step([{ sequence, tokens, sample }]))[0]!
  /** A new sequence with these tokens, and what is drawn after them. */
  const fresh = async (tokens: readonly number[], sample = DRAWN) => {
    const sequence = core.open()
    return { sequence, drawn: await sampleAfter(sequence, tokens, sample) }
  }

  it('grows with its use, in the middle of a text too, and says the same', async () => {
    const caches: KeyValueCache[] = []
    // A few pages to begin with.
    const cache = (shape: CacheShape) => {
      caches.push(device.cache({ ...shape, first: 2 }))
      return caches.at(-1)!
    }
    const small = new Proxy(device, {
      get(target, name) {
        const value: unknown = name === 'cache' ? cache : Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const growing = await loadCore(small, source, OPTIONS)
    const whole = caches.reduce((sum, { bytes, openBytes = 0 }) => sum + bytes + openBytes, 0)
    const prompt = text(41, 20)
    const [own, other] = [growing.open(), core.open()]
    let [fed, index] = [prompt as readonly number[], 0]
    const used: number[] = []
    for (; index < 40; index++) {
      const sample = { ...DRAWN, index }
      const [sampled] = await growing.step([{ sequence: own, tokens: fed, sample }])
      expect(sampled).toEqual(await sampleAfter(other, fed, sample))
      fed = [sampled!.token]
      used.push(growing.cacheUse.used)
    }
    expect(used[0]!).toBeLessThan(whole / 4)
    expect(used.at(-1)!).toBeGreaterThan(used[0]!)
    // Where it cannot, the step is refused, nothing has changed, and what there is is used.
    const grows = caches.filter(({ grow }) => grow)
    for (const cache of grows) cache.grow = async () => false
    const before = growing.freeTokens
    const another = growing.open()
    const most = Array.from({ length: 100 }, () => 1)
    if (grows.length > 0) {
      await expect(growing.step([{ sequence: another, tokens: most }])).rejects.toMatchObject({ code: 'cache_full' })
      expect([another.length, own.length]).toEqual([0, 59])
      expect(growing.freeTokens).toBeLessThan(before)
      expect(growing.freeTokens + 4 * PAGE).toBeLessThanOrEqual(growing.cacheTokens)
    }
    const sample = { ...DRAWN, index }
    expect((await growing.step([{ sequence: own, tokens: fed, sample }]))[0]).toEqual(
      await sampleAfter(other, fed, sample),
    )
    other.close()
    await growing.close()
  })

  it('guesses for another what it would say itself', async () => {
    const small = new DraftModel(core)
    const [one, other] = [text(31, 20), text(32, 20)]
    const requests = [one, other].map((tokens) => {
      const path = new FreePath(() => false, 40, { rows: 8, draws: 4 })
      const settings = () => ({ ...DRAWN, index: path.tokens.length })
      const push = (token: number) => path.push(token, 'model')
      const lane = { tokens } as unknown as Lane
      const sequence = { length: 0 } as Sequence
      return { lane, sequence, outlook: { tokens: path.tokens, free: true, settings, push, drafted: undefined } }
    })
    await small.guess(requests, 4)
    for (const { lane, outlook } of requests) {
      const { sequence, drawn } = await fresh(lane.tokens)
      const expected = [drawn.token]
      while (expected.length < 4) {
        const { token } = await sampleAfter(sequence, expected.slice(-1), { ...DRAWN, index: expected.length })
        expected.push(token)
      }
      expect(outlook.tokens).toEqual(expected)
      sequence.close()
    }
    small.clear()
    expect(core.freeTokens).toBe(core.cacheTokens)
  })

  it('gives a sequence the same answer beside others as alone', async () => {
    const prompts = [text(1, 25), text(2, 3), text(3, 38), text(4, 1)]
    const alone: Sampled[][] = []
    for (const prompt of prompts) {
      const { sequence, drawn } = await fresh(prompt)
      const more = await sampleAfter(sequence, [drawn.token], { ...DRAWN, index: 1 })
      alone.push([drawn, more])
      sequence.close()
    }
    const sequences = prompts.map(() => core.open())
    const first = await core.step(prompts.map((tokens, i) => ({ sequence: sequences[i]!, tokens, sample: DRAWN })))
    // The last prompt's second token comes beside a new prompt's chunk.
    const company = core.open()
    const second = await core.step([
      { sequence: company, tokens: text(9, 30) },
      ...sequences.map((sequence, i) => ({
        sequence,
        tokens: [first[i]!.token],
        sample: { ...DRAWN, index: 1 },
      })),
    ])
    expect(second[0]).toBeUndefined()
    expect(prompts.map((_, i) => [first[i], second[i + 1]])).toEqual(alone)
    for (const sequence of [...sequences, company]) sequence.close()
  })

  it('draws in one step what it draws one by one, and so knows which guesses were right', async () => {
    const prompt = text(6, 21)
    const { sequence, drawn } = await fresh(prompt)
    const alone = [drawn]
    while (alone.length < 4) {
      alone.push(await sampleAfter(sequence, [alone.at(-1)!.token], { ...DRAWN, index: alone.length }))
    }
    sequence.close()
    // Beside another; the last guess is wrong, so that nothing behind it counts.
    const [one, two] = [await fresh(prompt), await fresh(text(8, 5))]
    const guesses = alone.slice(0, 3).map(({ token }) => token)
    const tokens = [...guesses.slice(0, 2), (guesses[2]! + 1) % 85]
    const settings = (index: number) => ({ ...DRAWN, index })
    const [drafted, beside] = await core.step([
      { sequence: one.sequence, tokens, drafts: [settings(1), settings(2)], sample: settings(3) },
      { sequence: two.sequence, tokens: [two.drawn.token], sample: settings(1) },
    ])
    expect(drafted!.drafts).toEqual(alone.slice(1, 3))
    expect(drafted!.drafts![1]!.token).not.toBe(tokens[2])
    expect(beside!.drafts).toBeUndefined()
    // Two guesses were right; from there on it goes as it went.
    one.sequence.truncate(prompt.length + 2)
    expect(await sampleAfter(one.sequence, [guesses[2]!], settings(3))).toEqual(alone[3])
    const most = Array.from({ length: core.maxScored }, (_, i) => settings(i))
    await expect(
      core.step([{ sequence: one.sequence, tokens: [1, ...most.keys()], drafts: most, sample: DRAWN }]),
    ).rejects.toThrow(/at most 48 positions/)
    await expect(core.step([{ sequence: one.sequence, tokens: [1], drafts: [DRAWN], sample: DRAWN }])).rejects.toThrow(
      /drafts go with more tokens/,
    )
    one.sequence.close()
    two.sequence.close()
  })

  it('tells what comes after each token of a chunk as after one by one, and the same beside others', async () => {
    const settings = { ...DRAWN, temperature: 0, topLogprobs: undefined, among: [3, 50, 84] }
    const scored = async (texts: readonly (readonly number[])[], beside: readonly (readonly number[])[] = []) => {
      const sequences = [...texts, ...beside].map(() => core.open())
      const drawn = await core.step([
        ...texts.map((tokens, i) => {
          return { sequence: sequences[i]!, tokens, drafts: tokens.slice(1).map(() => settings), sample: settings }
        }),
        ...beside.map((tokens, i) => ({ sequence: sequences[texts.length + i]!, tokens, sample: DRAWN })),
      ])
      for (const sequence of sequences) sequence.close()
      const logprobs = drawn.slice(0, texts.length).map((last) => [...last!.drafts!, last!].map(({ among }) => among!))
      return { logprobs, drawn: drawn.slice(texts.length) }
    }
    const [prompt, other, short] = [text(12, 24), text(13, 12), text(14, 6)]
    const alone = await scored([prompt])
    const sequence = core.open()
    for (const [i, token] of prompt.entries()) {
      const { among } = await sampleAfter(sequence, [token], settings)
      for (const [k, logprob] of among!.entries())
        expect(Math.abs(alone.logprobs[0]![i]![k]! - logprob)).toBeLessThan(0.02)
    }
    sequence.close()
    const [own, plain] = [text(15, 25), text(16, 3)]
    const company = await scored([other, prompt, short], [own, plain])
    expect(company.logprobs[1]).toEqual(alone.logprobs[0])
    expect(company.logprobs[0]).toEqual((await scored([other])).logprobs[0])
    expect(company.logprobs[2]).toEqual((await scored([short])).logprobs[0])
    for (const [i, tokens] of [own, plain].entries()) {
      const { sequence, drawn } = await fresh(tokens)
      expect(company.drawn[i]).toEqual(drawn)
      sequence.close()
    }
    expect(core.freeTokens).toBe(core.cacheTokens)
  })

  it('takes a prompt in chunks of any length', async () => {
    const prompt = text(5, 90)
    const whole = await fresh(prompt)
    for (const size of [40, 17, 64]) {
      const sequence = core.open()
      for (let at = 0; at + size < prompt.length; at += size) {
        await core.step([{ sequence, tokens: prompt.slice(at, at + size) }])
      }
      const drawn = await sampleAfter(sequence, prompt.slice(sequence.length))
      close(drawn, whole.drawn)
      expect(sequence.length).toBe(90)
      sequence.close()
    }
    whole.sequence.close()
  })

  it('clones share their pages until one of them writes', async () => {
    const prompt = text(6, 2 * PAGE + 5)
    const { sequence } = await fresh(prompt)
    const before = core.freeTokens
    const clone = sequence.clone()
    expect(core.freeTokens).toBe(before)
    const [a, b] = await Promise.all([sampleAfter(sequence, [1, 2]), sampleAfter(clone, [3, 4])])
    expect(core.freeTokens).toBe(before - PAGE)
    const [freshA, freshB] = [await fresh([...prompt, 1, 2]), await fresh([...prompt, 3, 4])]
    close(a, freshA.drawn)
    close(b, freshB.drawn)
    for (const each of [sequence, clone, freshA.sequence, freshB.sequence]) each.close()
  })

  it('forgets what is cut off, also from shared pages', async () => {
    const prompt = text(7, 60)
    const { sequence } = await fresh(prompt)
    const clone = sequence.clone()
    clone.truncate(20)
    const cut = await sampleAfter(clone, [7, 8, 9])
    const other = await fresh([...prompt.slice(0, 20), 7, 8, 9])
    close(cut, other.drawn)
    const kept = await sampleAfter(sequence, [5])
    const whole = await fresh([...prompt, 5])
    close(kept, whole.drawn)
    for (const each of [sequence, clone, other.sequence, whole.sequence]) each.close()
  })

  it('reads nothing stale from pages that were used before', async () => {
    const prompt = text(8, 50)
    const first = await fresh(prompt)
    first.sequence.close()
    const junk = [1, 2, 3, 4].map(() => core.open())
    await core.step(junk.map((sequence, i) => ({ sequence, tokens: text(20 + i, 100) })))
    for (const sequence of junk) sequence.close()
    const again = await fresh(prompt)
    expect(again.drawn).toEqual(first.drawn)
    again.sequence.close()
    expect(core.freeTokens).toBe(core.cacheTokens)
  })

  // Its weights are not quantised: a GPU in software compiles kernels for them, by default those cut for hardware.
  const whole = it.skipIf(!FULL && name.includes('software'))
  whole('a sequence that becomes no number ends alone, and leaves nothing behind in its pages', async () => {
    // A tied embedding: the token is above those that are ever sampled, so that no other logit is touched.
    const { source: plain } = randomModel(preset, 'f32', 5)
    const spoil = (data: MatrixData): MatrixData => {
      if (data.format !== 'f32' || data.rows !== 88) return data
      const values = data.data.slice()
      new Float32Array(values.buffer).fill(Number.NaN, 86 * 64, 87 * 64)
      return { ...data, data: values }
    }
    const spoiling = new Proxy(device, {
      get: (target, key) => {
        if (key === 'matrix') return (data: MatrixData, options?: object) => target.matrix(spoil(data), options)
        const value = target[key as keyof Device]
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const other = await loadCore(spoiling, plain, OPTIONS)
    const prompt = text(8, 50)
    const draw = async (tokens: readonly number[]) => {
      const sequence = other.open()
      const [drawn] = await other.step([{ sequence, tokens, sample: DRAWN }])
      return { sequence, drawn: drawn! }
    }
    const before = await draw(prompt)
    before.sequence.close()
    for (let round = 0; round < 2; round++) {
      const [bad, good] = [other.open(), other.open()]
      const [one, two] = await other.step([
        { sequence: bad, tokens: [86, ...text(30, 99)], sample: DRAWN },
        { sequence: good, tokens: prompt, sample: DRAWN },
      ])
      expect(one).toEqual({ token: UNDRAWN })
      close(two!, before.drawn)
      for (const each of [bad, good]) each.close()
    }
    const after = await draw(prompt)
    expect(after.drawn).toEqual(before.drawn)
    after.sequence.close()
    await other.close()
  })

  it('runs ahead with the same tokens as step by step, and forgets what was not taken', async () => {
    const prompts = [text(10, 12), text(11, 4)]
    const stepped: number[][] = [[], []]
    const a = prompts.map(() => core.open())
    let inputs = prompts.map((tokens) => tokens)
    for (let i = 0; i < 6; i++) {
      const sample = { ...DRAWN, index: i }
      const results = await core.step(inputs.map((tokens, k) => ({ sequence: a[k]!, tokens, sample })))
      for (const [k, result] of results.entries()) stepped[k]!.push(result!.token)
      inputs = results.map((result) => [result!.token])
    }
    const b = prompts.map(() => core.open())
    const ran: number[][] = [[], []]
    const batch = prompts.map((tokens, k) => ({ sequence: b[k]!, tokens, sample: DRAWN }))
    for await (const results of core.run(batch, 30)) {
      for (const [k, result] of results.entries()) ran[k]!.push(result.token)
      if (ran[0]!.length === 6) break
    }
    expect(ran).toEqual(stepped)
    expect(b.map(({ length }) => length)).toEqual(a.map(({ length }) => length))
    const next = { ...DRAWN, index: 6 }
    expect(await sampleAfter(b[0]!, [ran[0]![5]!], next)).toEqual(await sampleAfter(a[0]!, [ran[0]![5]!], next))
    for (const sequence of [...a, ...b]) sequence.close()
  })

  it('draws the same where each pass begins before its mask is made, and forgets what nobody drew from', async () => {
    const { follow } = core
    // What is drawn there is at hand at once.
    if (device.info.kind === 'cpu') {
      expect(follow).toBeUndefined()
      return
    }
    const prompts = [text(31, 5), text(32, 2)]
    // What may be drawn hangs on the token before.
    const drawnAfter = (token: number, index: number): SampleSettings => {
      const mask = new Uint32Array(3)
      for (let id = 0; id < 85; id++) if ((id + token) % 3 !== 0) mask[id >>> 5]! |= 1 << (id & 31)
      return { ...DRAWN, index, mask, presencePenalty: 0.3, counts: new Map([[token, 2]]) }
    }
    const a = prompts.map(() => core.open())
    const stepped: Sampled[][] = []
    let inputs = prompts
    for (let i = 0; i < 4; i++) {
      const batch = inputs.map((tokens, k) => ({ sequence: a[k]!, tokens, sample: drawnAfter(tokens.at(-1)!, i) }))
      const drawn = (await core.step(batch)) as Sampled[]
      stepped.push(drawn)
      inputs = drawn.map(({ token }) => [token])
    }
    const free = core.freeTokens
    const b = prompts.map(() => core.open())
    const tokens = follow!(
      prompts.map((each, k) => ({ sequence: b[k]!, tokens: each, sample: drawnAfter(each.at(-1)!, 0) })),
    )
    const followed: (readonly Sampled[])[] = []
    let step = await tokens.next()
    while (!step.done) {
      const drawn = step.value
      followed.push(drawn)
      // A token more than was drawn from is there already.
      expect(b.map(({ length }, k) => length - prompts[k]!.length)).toEqual(prompts.map(() => followed.length))
      if (followed.length === 4) break
      step = await tokens.next(drawn.map(({ token }) => drawnAfter(token, followed.length)))
    }
    await tokens.return()
    expect(followed).toEqual(stepped)
    expect(b.map(({ length }) => length)).toEqual(a.map(({ length }) => length))
    const next = { ...DRAWN, index: 4 }
    const last = [stepped[3]![0]!.token]
    expect(await sampleAfter(b[0]!, last, next)).toEqual(await sampleAfter(a[0]!, last, next))
    for (const sequence of b) sequence.close()
    expect(core.freeTokens).toBe(free)
    for (const sequence of a) sequence.close()
  })

  it('counts penalised tokens while it runs', async () => {
    const { sequence } = await fresh(text(12, 5))
    const sample = { ...DRAWN, temperature: 0, presencePenalty: 0, frequencyPenalty: 1000 }
    const seen: number[] = []
    for await (const [result] of core.run([{ sequence, tokens: [4], sample }], 8)) seen.push(result!.token)
    expect(new Set(seen).size).toBe(8)
    sequence.close()
  })

  it('refuses what does not fit, and changes nothing', async () => {
    const free = core.freeTokens
    const sequence = core.open()
    await expect(core.step([{ sequence, tokens: text(1, 129) }])).rejects.toMatchObject({
      code: 'context_length_exceeded',
    })
    await expect(core.step([{ sequence, tokens: [] }])).rejects.toThrow()
    await expect(core.step([{ sequence, tokens: [88] }])).rejects.toThrow()
    const many = Array.from({ length: 6 }, () => core.open())
    const batch = many.map((each, i) => ({ sequence: each, tokens: text(i, 127) }))
    await expect(core.step(batch)).rejects.toMatchObject({ status: 503, code: 'cache_full' })
    expect([sequence, ...many].map(({ length }) => length)).toEqual([0, 0, 0, 0, 0, 0, 0])
    expect(core.freeTokens).toBe(free)
    for (const each of [sequence, ...many]) each.close()
    await expect(core.step([{ sequence, tokens: [1] }])).rejects.toThrow()
  })

  it('gives back all memory, also when loading fails half-way', async () => {
    const before = device.memory
    const other = await loadCore(device, source, OPTIONS)
    const sequence = other.open()
    await other.step([{ sequence, tokens: [1, 2, 3], sample: DRAWN }])
    expect(device.memory.bytes).toBeGreaterThan(before.bytes)
    await other.close()
    expect(device.memory).toEqual(before)
    const broken = {
      ...source,
      read: async (name: string) => {
        const tensor = await source.read(name)
        return name.includes('layers.1.mlp') ? { ...tensor, shape: [3, 4] } : tensor
      },
    }
    await expect(loadCore(device, broken, OPTIONS)).rejects.toMatchObject({ code: 'malformed_weights' })
    expect(device.memory).toEqual(before)
  })
})

/** The same distribution, up to the rounding of another way of computing it. */
function close(a: Sampled, b: Sampled): void {
  for (const { token, logprob } of a.top!) {
    const other = b.top!.find((each) => each.token === token)
    if (other) expect(Math.abs(other.logprob - logprob)).toBeLessThan(0.05)
  }
  expect(a.top![0]!.token).toBe(b.top![0]!.token)
}
