/** Texts that grow past the border of LongRoPE, held to the float64 definition, which computes them anew there. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Sampled } from '../../src/contract/token-model.js'
import { openCpuDevice } from '../../src/device/cpu/index.js'
import { ReadLane } from '../../src/generate/answer/reading-lane.js'
import { GREEDY } from '../../src/generate/answer/sampling.js'
import { Scheduler } from '../../src/generate/run/scheduler.js'
import type { Core } from '../../src/models/core.js'
import { loadPlanned } from '../../src/models/load.js'
import { phi3 } from '../../test/oracles/families/phi3.js'
import { promptOf } from '../../test/oracles/judge.js'
import { weightsOf } from '../../test/oracles/weights.js'
import { ownFolder } from '../../test/support/own-folder.js'
import { FORMS, planned, written } from './our-core.js'

const FORM = FORMS.find(({ name }) => name === 'safetensors F32')!
const BORDER = 64
const TOLD = { ...GREEDY, topLogprobs: 8 }
const weights = weightsOf(phi3)

const folder = ownFolder()
let device: Awaited<ReturnType<typeof openCpuDevice>>
let core: Core
beforeAll(async () => {
  device = await openCpuDevice({ threads: 1, exact: true })
  const source = await written(phi3, FORM, weights, folder)
  core = await loadPlanned(device, source, planned(device, phi3, FORM, source, 128))
})
afterAll(async () => {
  await core.close()
  device.destroy()
})

/** An answer whose tokens are known: what is told before each of them is noted. */
class Told extends ReadLane {
  readonly seen: Sampled[] = []
  override readonly tokens: number[]
  readonly #text: readonly number[]

  constructor(text: readonly number[], prompt: number, done: () => void) {
    super(text.slice(0, prompt), TOLD, done, done)
    this.tokens = text.slice(0, prompt)
    this.#text = text
  }

  override get promptLength(): number {
    return this.#text.length - 1
  }

  override take(sampled: Sampled): void {
    this.seen.push(sampled)
    if (this.tokens.length === this.#text.length) super.take(sampled)
    else this.tokens.push(this.#text[this.tokens.length]!)
  }
}

/** What is told of each text by itself, with the others beside it. */
async function sampledOf(texts: readonly (readonly [text: readonly number[], prompt: number])[]): Promise<Sampled[][]> {
  const scheduler = new Scheduler(core, 1)
  const lanes: Told[] = []
  await Promise.all(
    texts.map(
      ([text, prompt]) =>
        new Promise<void>((resolve) => {
          lanes.push(new Told(text, prompt, resolve))
          scheduler.add([lanes.at(-1)!])
        }),
    ),
  )
  scheduler.stop(new Error('over'))
  await scheduler.stopped()
  return lanes.map(({ seen }) => seen)
}

/** By how much what was told is off, at most; in nats. */
function apart(text: readonly number[], prompt: number, seen: readonly Sampled[]): number {
  const reference = phi3.reference(weights)
  const logits = text.map((token) => reference.step(token)).slice(prompt - 1)
  expect(seen).toHaveLength(logits.length)
  const off = seen.flatMap(({ top }, i) => {
    const most = Math.max(...logits[i]!)
    const sum = Math.log(logits[i]!.reduce((all, logit) => all + Math.exp(logit - most), 0)) + most
    return top!.map(({ token, logprob }) => Math.abs(logprob - (logits[i]![token]! - sum)))
  })
  return Math.max(...off)
}

describe('a text that grows past the border', () => {
  const [one, two] = [promptOf(phi3), [...promptOf(phi3)].reverse()] as const
  const grows = [one.slice(0, BORDER + 8), BORDER - 6] as const
  const stays = [two.slice(0, BORDER - 10), BORDER - 24] as const
  const begins = [two.slice(0, BORDER + 9), BORDER + 1] as const
  const reaches = [one.slice(0, BORDER), BORDER - 3] as const

  it.each([
    ['alone', [grows]],
    ['beside short and long ones', [stays, grows, begins]],
    ['in a cache that holds its beginning, of a short text and of a long one', [reaches, begins, grows, stays]],
  ])('is what it is to transformers, and so are the others: %s', async (_, texts) => {
    const seen = await sampledOf(texts)
    for (const [i, [text, prompt]] of texts.entries()) expect(apart(text, prompt, seen[i]!), `${i}`).toBeLessThan(2e-3)
  })

  it('which the same factors for all would not be', async () => {
    const long = phi3.reference(weights, 'keeps the short factors')
    const logits = one.slice(0, BORDER + 8).map((token) => long.step(token))
    const [seen] = await sampledOf([grows])
    const last = seen!.at(-1)!.top!
    const far = last.map(({ token, logprob }) =>
      Math.abs(logprob - last[0]!.logprob - (logits.at(-1)![token]! - logits.at(-1)![last[0]!.token]!)),
    )
    expect(Math.max(...far)).toBeGreaterThan(0.05)
  })
})
