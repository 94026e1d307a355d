/** The heads of Qwen3.5 that guess, fed by an MLP or by experts, say on every device what their definition says in float64. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  HEAD_MISTAKES,
  type HeadCase,
  headReference,
  qwen35Head,
  qwen35MoeHead,
  underHead,
} from '../../test/oracles/families/qwen3-5-head.js'
import { writeGguf } from '../../test/oracles/files/gguf.js'
import { argmax, logSoftmax, type Vector } from '../../test/oracles/float64.js'
import { compare, promptOf } from '../../test/oracles/judge.js'
import { weightsOf } from '../../test/oracles/weights.js'
import { FULL } from '../../test/support/full.js'
import type { Guessing, Sampled, StepInput } from '../contract/index.js'
import type { Device } from '../device/contract.js'
import { DEVICES } from '../device/operations/devices.test-helper.js'
import { getOrMake } from '../platform/maps.js'
import { GREEDY, sourceOf } from './architectures/cases.test-helper.js'
import type { Core } from './core.js'
import { openRepository } from './files/open.js'
import { loadCore } from './load.js'
import { planModel } from './plan-model.js'

const GUESSES = 3
const HEADS = [qwen35Head, qwen35MoeHead] as const
const prompt = promptOf(qwen35Head).slice(0, 40)
/** Of a prompt of so many tokens, the last of which the model has not read, what the head says to it and to its guesses. */
interface Truth {
  readonly guessed: readonly number[]
  readonly logprobs: readonly Vector[]
}

const truths = new Map<string, Truth>()

/** Without a mistake: once for all devices. */
function truthOf(of: HeadCase, length: number): Truth {
  const key = `${of.name} ${length}`
  const truth = truths.get(key) ?? toldBy(of, length)
  truths.set(key, truth)
  return truth
}

const rows = new Map<HeadCase, readonly Vector[]>()

/** What a case's model makes of the prompt, read once for all that its head makes of it. */
function rowsOf(of: HeadCase): readonly Vector[] {
  const model = underHead(of, weightsOf(of))
  return getOrMake(rows, of, () => prompt.map((token) => model.row(token, false)))
}

function toldBy(of: HeadCase, length: number, mistake?: string, given?: readonly number[]): Truth {
  const known = rowsOf(of).values()
  const reference = headReference(of, weightsOf(of), mistake, { row: () => known.next().value! })
  for (const token of prompt.slice(0, length - 1)) reference.step(token)
  const logprobs: Vector[] = []
  const guessed: number[] = []
  let token = prompt[length - 1]!
  for (let i = 0; i < GUESSES; i++) {
    logprobs.push(logSoftmax(reference.guess(token)))
    token = given?.[i] ?? argmax(logprobs[i]!)
    guessed.push(token)
  }
  return { guessed, logprobs }
}

const seen = ({ top }: Sampled) => {
  const known = new Map(top!.map(({ token, logprob }) => [token, logprob]))
  return (token: number) => known.get(token) ?? Math.min(...known.values())
}

/** Guesses of several sequences side by side, each given the tokens that it is to go on by. */
async function guesses(core: Core, batch: readonly StepInput[], by: readonly (readonly number[])[]) {
  const drawn: Sampled[][] = batch.map(() => [])
  const guessing: Guessing = core.guess!(batch)
  let next = await guessing.next()
  for (let i = 0; !next.done; i++) {
    for (const [k, sampled] of next.value.entries()) if (sampled) drawn[k]!.push(sampled)
    const given = by.map((tokens) => (i < GUESSES - 1 ? { tokens: [tokens[i]!], sample: GREEDY } : undefined))
    next = await guessing.next(given)
  }
  return drawn
}

async function expectGuesses(of: HeadCase, core: Core): Promise<void> {
  const { guessed, logprobs } = truthOf(of, 12)
  const sequence = core.open()
  await core.step([{ sequence, tokens: prompt.slice(0, 11) }])
  const [drawn] = await guesses(core, [{ sequence, tokens: [prompt[11]!], sample: GREEDY }], [guessed])
  expect(compare(logprobs, drawn!.map(seen)).worst).toBeLessThan(2e-3)
  await core.close()
}

describe.each(HEADS)('the definition of $name', (of) => {
  it('every mistake that people make is seen', () => {
    const { guessed, logprobs } = truthOf(of, 12)
    for (const mistake of HEAD_MISTAKES) {
      const { logprobs: other } = toldBy(of, 12, mistake, guessed)
      const off = compare(
        logprobs,
        other.map((row) => (token: number) => row[token]!),
      )
      expect([mistake, off.worst > 0.05]).toEqual([mistake, true])
    }
  })
})

/**
 * Experts are compared on every device with the families; here without a GPU in software, on which they take long to compile.
 * Cut for software `draft-head-answers.test.ts` has the head by default.
 */
const ON = HEADS.flatMap((of) =>
  DEVICES.filter(({ name }) => FULL || name.startsWith('cpu') || (of === qwen35Head && name.includes('hardware'))).map(
    (device) => ({
      ...device,
      ...{ of, name: `${device.name}: ${of.name}` },
    }),
  ),
)

describe.each(ON)('on $name', ({ open, of }) => {
  let device: Device
  let core: Core
  beforeAll(async () => {
    device = await open()
    core = await loadCore(device, sourceOf(of, 'f32'), { contextLength: 144, maxBatch: 2, draftHead: true })
  })
  afterAll(async () => {
    await core?.close()
    device.destroy()
  })

  it('guesses are those of float64: behind prompts of any cut, side by side, and after a text was cut', async () => {
    const lengths = [39, 7]
    const truth = lengths.map((length) => truthOf(of, length))
    const sequences = await Promise.all(
      lengths.map(async (length, i) => {
        const sequence = core.open()
        for (let at = 0; at < length - 1; ) {
          // In chunks, and token by token.
          const tokens = prompt.slice(at, Math.min(length - 1, at + (i === 0 ? 17 : 1)))
          await core.step([{ sequence, tokens }])
          at += tokens.length
        }
        return sequence
      }),
    )
    const batch = lengths.map((length, i) => {
      return { sequence: sequences[i]!, tokens: [prompt[length - 1]!], sample: GREEDY }
    })
    const free = core.freeTokens
    for (let round = 0; round < 2; round++) {
      const drawn = await guesses(
        core,
        batch,
        truth.map(({ guessed }) => guessed),
      )
      for (const [i, { logprobs }] of truth.entries()) {
        const { worst, wrongTokens } = compare(logprobs, drawn[i]!.map(seen))
        expect(worst).toBeLessThan(2e-3)
        expect(wrongTokens).toBe(0)
      }
      // Nothing is left of them.
      expect(core.freeTokens).toBe(free)
      expect(sequences.map(({ length }) => length)).toEqual(lengths.map((length) => length - 1))
    }
    // What was guessed is no part of the text: the model goes on as if nobody had guessed.
    const plain = core.open()
    await core.step([{ sequence: plain, tokens: prompt.slice(0, 38) }])
    const [own] = await core.step([{ sequence: plain, tokens: [prompt[38]!], sample: GREEDY }])
    const [after] = await core.step([{ ...batch[0]! }])
    expect(after!.token).toBe(own!.token)
    for (const each of [...sequences, plain]) each.close()
  })

  it('of guesses that were wrong nothing is left, in the head either', async () => {
    const sequence = core.open()
    await core.step([{ sequence, tokens: prompt.slice(0, 30) }])
    const drafts = [GREEDY, GREEDY, GREEDY]
    const tokens = [...prompt.slice(30, 32), 300, 301]
    await core.step([{ sequence, tokens, drafts, sample: GREEDY, guessed: true }])
    sequence.truncate(32)
    expect(sequence.length).toBe(32)
    const { guessed, logprobs } = truthOf(of, 33)
    const next = { sequence, tokens: [prompt[32]!], sample: GREEDY }
    const [drawn] = await guesses(core, [next], [guessed])
    expect(compare(logprobs, drawn!.map(seen)).worst).toBeLessThan(2e-3)
    const plain = core.open()
    await core.step([{ sequence: plain, tokens: prompt.slice(0, 32) }])
    const [own] = await core.step([{ ...next, sequence: plain }])
    const [after] = await core.step([next])
    expect(after!.token).toBe(own!.token)
    for (const each of [sequence, plain]) each.close()
  })
})

describe('a head that guesses', () => {
  let device: Device
  beforeAll(async () => {
    device = await DEVICES.at(-1)!.open()
  })
  afterAll(() => device.destroy())
  const source = sourceOf(qwen35Head, 'f32')

  it('is planned where it is asked for, is there and is all there is to it, and counted', () => {
    const plan = planModel(source, device, { draftHead: true })
    const without = planModel(source, device)
    expect(plan.model.draftHead).toBeDefined()
    expect([without.model.draftHead, without.tensors.draftHead]).toEqual([undefined, undefined])
    expect(plan.size.bytes.weights).toBeGreaterThan(without.size.bytes.weights)
    expect(plan.size.bytes.states).toBeGreaterThan(without.size.bytes.states)
    const none = { ...source, names: source.names.filter((name) => !name.startsWith('mtp.')) }
    const several = { ...source, chatConfig: { ...source.chatConfig, mtp_num_hidden_layers: 2 } }
    const own = { ...source, names: [...source.names, 'mtp.embed_tokens.weight'] }
    for (const [outline, why] of [
      [none, undefined],
      [several, expect.stringContaining('2 layers')],
      [own, expect.stringContaining('tables of its own')],
    ] as const) {
      const { model, tensors } = planModel(outline, device, { draftHead: true })
      expect([model.draftHead, tensors.draftHeadUnused]).toEqual([undefined, why])
      // Unasked, nothing is said of it.
      expect(planModel(outline, device).tensors.draftHeadUnused).toBeUndefined()
    }
    expect(plan.tensors.draftHeadUnused).toBeUndefined()
  })

  it('is found in a checkpoint that sees, where the layers have other names', async () => {
    const { tie_word_embeddings, ...text_config } = qwen35Head.config
    const inner = (name: string) => name.replace('model.language_model.', 'model.')
    const core = await loadCore(
      device,
      {
        ...source,
        chatConfig: { model_type: 'qwen3_5', tie_word_embeddings, text_config, vision_config: { depth: 2 } },
        names: [
          ...source.names.map((name) => name.replace(/^model\./, 'model.language_model.')),
          ...['model.visual.blocks.0.attn.qkv.weight', 'model.visual.patch_embed.proj.bias'],
        ],
        describe: (name) => source.describe(inner(name)),
        read: (name, ...more) => source.read(inner(name), ...more),
      },
      { contextLength: 144, maxBatch: 1, draftHead: true },
    )
    await expectGuesses(qwen35Head, core)
  })

  it('has its experts in one tensor, or in one each, whatever the layers of its model have', async () => {
    const plain = sourceOf(qwen35MoeHead, 'f32')
    const { num_experts: count } = qwen35MoeHead.config as { num_experts?: number }
    const at = 'mtp.layers.0.mlp.experts'
    const own = new RegExp(`^${at}\\.\\d+\\.`)
    const partsOf = (name: string) => {
      const parts = name.endsWith('gate_up_proj') ? ['gate', 'up'] : ['down']
      const expert = (_: unknown, e: number) => parts.map((part) => `${at}.${e}.${part}_proj.weight`)
      return Array.from({ length: count! }, expert).flat()
    }
    const joined = [`${at}.gate_up_proj`, `${at}.down_proj`]
    const core = await loadCore(
      device,
      {
        ...plain,
        names: [...plain.names.filter((name) => !own.test(name)), ...joined],
        describe(name) {
          if (!joined.includes(name)) return plain.describe(name)
          const [first, ...others] = partsOf(name).map((part) => plain.describe(part).shape as [number, number])
          const rows = [first!, ...others].reduce((sum, [rows]) => sum + rows, 0)
          return { name, shape: [count!, rows / count!, first![1]], dtype: 'f32' }
        },
        async read(name, ...more) {
          if (!joined.includes(name)) return plain.read(name, ...more)
          const parts = await Promise.all(partsOf(name).map(async (part) => (await plain.read(part)).data))
          return { ...this.describe(name), data: new Uint8Array(Buffer.concat(parts)) }
        },
      },
      { contextLength: 144, maxBatch: 1, draftHead: true },
    )
    await expectGuesses(qwen35MoeHead, core)
  })

  it.each(HEADS)(
    'is read from a GGUF file of $name as llama.cpp writes it, where its block counts with the layers',
    async (of) => {
      const folder = await mkdtemp(join(tmpdir(), 'local-v1-draft-head-'))
      try {
        const path = join(folder, 'head.gguf')
        await writeGguf(path, of, weightsOf(of))
        const options = { report: () => {}, signal: new AbortController().signal, cache: false } as const
        const { weights: file } = await openRepository({ kind: 'folder', path }, options)
        expect(planModel(file, device).model).toMatchObject({ layers: { length: of.config.num_hidden_layers } })
        const core = await loadCore(device, file, { contextLength: 144, maxBatch: 1, draftHead: true })
        await expectGuesses(of, core)
      } finally {
        await rm(folder, { recursive: true })
      }
    },
  )

  it('is refused by name where a part of it is missing or has another shape', () => {
    for (const [from, name] of [
      [source, 'mtp.norm.weight'],
      [source, 'mtp.layers.0.mlp.up_proj.weight'],
      [sourceOf(qwen35MoeHead, 'f32'), 'mtp.layers.0.mlp.experts.3.up_proj.weight'],
    ] as const) {
      const outline = { ...from, names: from.names.filter((other) => other !== name) }
      expect(() => planModel(outline, device, { draftHead: true })).toThrow(name)
    }
  })
})
