/** A head that guesses changes how many passes an answer takes, and not a bit of what it says. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HeadCase, qwen35Head, qwen35MoeHead } from '../../test/oracles/families/qwen3-5-head.js'
import { FULL } from '../../test/support/full.js'
import type { ChatCall, StepInput } from '../contract/index.js'
import type { Device } from '../device/contract.js'
import { DEVICES } from '../device/operations/devices.test-helper.js'
import { DecodeLoop } from '../generate/decode-loop.js'
import type { DraftMode } from '../generate/drafts/mode.js'
import { call, collect, smallText } from '../generate/testing/call.test-helper.js'
import { compile } from '../grammar/structured.js'
import { goodHead } from './draft-head.test-helper.js'
import { loadCore } from './load.js'

const { sampling } = call()
const grammar = compile({
  type: 'object',
  properties: { name: { type: 'string', maxLength: 12 }, kind: { enum: ['first', 'second'] } },
  required: ['name', 'kind'],
  additionalProperties: false,
})
const KINDS: Readonly<Record<string, Partial<ChatCall>>> = {
  greedily: { sampling: { ...sampling, temperature: 0 } },
  'by chance': { sampling: { ...sampling, temperature: 0.7, topP: 0.9, seed: 4 } },
  'under a schema': { output: { type: 'json_schema', name: 'x', strict: true, schema: {} }, grammar },
  'three times, with what was likely': { n: 3, topLogprobs: 2 },
  'a long prompt': { messages: [{ role: 'user', content: 'word '.repeat(60) }] },
}

async function answers(of: HeadCase, device: Device, drafts: DraftMode, kinds: readonly string[], wrong = false) {
  const core = await loadCore(device, goodHead(wrong, of), {
    ...{ contextLength: 512, tokens: smallText.tokenizer.size, maxBatch: 4 },
    ...(drafts !== 'never' && { draftHead: true }),
  })
  let passes = 0
  const { step } = core
  core.step = (batch: readonly StepInput[]) => {
    passes++
    return step.call(core, batch)
  }
  const loop = new DecodeLoop(core, smallText, { drafts })
  const free = core.freeTokens
  const results = await Promise.all(
    kinds.map((kind) => {
      const request = call({ maxTokens: 24, ignoreEnds: kind !== 'under a schema', ...KINDS[kind]! })
      return collect(loop.generate(request), request.n)
    }),
  )
  const { guesses, metadata } = loop
  expect(core.freeTokens).toBeLessThanOrEqual(free)
  await loop.close()
  return {
    outputs: results.map(({ texts, logprobs, reasons }) => ({ texts, logprobs, reasons })),
    passes,
    guesses,
    metadata,
  }
}

/**
 * Of a GPU in software one way and one kind: compiling shaders takes long there. On the CPU by default one head in each kind
 * of numbers: what both have in common is the loop.
 */
const onCpu = (name: string) => name.startsWith('cpu')
const ON = [qwen35Head, qwen35MoeHead].flatMap((of) =>
  DEVICES.filter(({ name }) => {
    if (!onCpu(name)) return name !== 'webgpu, cut for hardware' && of === qwen35Head
    return FULL || (name === 'cpu') === (of === qwen35MoeHead)
  }).map((device) => ({ ...device, of })),
)

describe.each(ON)('of $of.name on $name', ({ name, open, of }) => {
  let device: Device
  beforeAll(async () => {
    device = await open()
  })
  afterAll(() => device.destroy())

  it.each(onCpu(name) ? Object.keys(KINDS) : ['by chance'])('the answer is the same: %s', async (kind) => {
    const without = await answers(of, device, 'never', [kind])
    const guessed = await answers(of, device, 'always', [kind])
    expect(guessed.outputs).toEqual(without.outputs)
    expect(guessed.guesses!.model.right).toBeGreaterThan(guessed.guesses!.model.wrong)
    // A GPU takes several passes in one call.
    if (onCpu(name)) expect(guessed.passes).toBeLessThan(without.passes)
    expect([without.metadata.draft_head, guessed.metadata.draft_head]).toEqual([undefined, true])
  })
})

describe.each(ON.filter(({ name }) => onCpu(name)))('where that of $of.name is wrong, on $name', ({ open, of }) => {
  it('the same is said, in company', async () => {
    const device = await open()
    const kinds = Object.keys(KINDS)
    const { outputs } = await answers(of, device, 'never', kinds)
    for (const drafts of ['always', 'gaining'] as const) {
      expect((await answers(of, device, drafts, kinds, true)).outputs).toEqual(outputs)
    }
    // In company all draws are taken; alone it guesses.
    const alone = await answers(of, device, 'always', [kinds[1]!], true)
    expect(alone.outputs).toEqual(outputs.slice(1, 2))
    expect(alone.guesses!.model.wrong).toBeGreaterThan(0)
    device.destroy()
  })
})
