/**
 * `npm run bench:drafts -- --head`: a made-up Qwen 3.5 whose multi-token head is mostly right, with guesses and without, in
 * one run: passes of free text, by chance, and how often the head was right. Then what it costs that the head reads along,
 * in a model as large as Qwen 3.5 of 0.8B, with its 24 layers and 32,768 words; and what is left of that where it is always wrong.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Device } from '../../src/device/contract.js'
import { openCpuDevice } from '../../src/device/cpu/index.js'
import { DecodeLoop } from '../../src/generate/decode-loop.js'
import type { DraftMode } from '../../src/generate/drafts/mode.js'
import { call, collect, smallText } from '../../src/generate/testing/call.test-helper.js'
import { GREEDY } from '../../src/models/architectures/cases.test-helper.js'
import { goodHead } from '../../src/models/draft-head.test-helper.js'
import { openRepository } from '../../src/models/files/open.js'
import { loadCore } from '../../src/models/load.js'
import { GUESSING, writeFamily } from '../families/models.js'

const MODES: readonly { readonly drafts: DraftMode; readonly wrong?: true }[] = [
  { drafts: 'never' },
  { drafts: 'gaining' },
  { drafts: 'always' },
  { drafts: 'gaining', wrong: true },
]
const TOKENS = 300
const SEEDS = [1, 2, 3, 4, 5, 6]

const milliseconds = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

export async function compareHead(threads: number): Promise<boolean> {
  const device = await openCpuDevice({ threads })
  console.log(`${SEEDS.length} texts of ${TOKENS} tokens, on ${device.info.kind} (${device.info.name})\n`)
  console.log(
    '| guesses | passes a text | tokens a pass | processor time a text, ms | speed by processor time | right |',
  )
  console.log('|---|--:|--:|--:|--:|--:|')
  const outputs: string[] = []
  let first = 0
  for (const { drafts, wrong } of MODES) {
    const core = await loadCore(device, goodHead(wrong), {
      ...{ contextLength: 1024, tokens: smallText.tokenizer.size, draftHead: drafts !== 'never' },
    })
    const { step } = core
    let passes = 0
    core.step = (batch) => {
      passes++
      return step.call(core, batch)
    }
    const loop = new DecodeLoop(core, smallText, { drafts })
    const { sampling } = call()
    const write = async (seed: number) => {
      const seededCall = call({
        maxTokens: TOKENS,
        ignoreEnds: true,
        sampling: { ...sampling, temperature: 0.7, seed },
      })
      return (await collect(loop.generate(seededCall), 1)).texts[0]!
    }
    // These warm up, and find out what gains.
    for (const seed of SEEDS) await write(100 + seed)
    passes = 0
    const { right: before = 0, wrong: missed = 0 } = { ...loop.guesses?.model }
    const began = milliseconds()
    const texts: string[] = []
    for (const seed of SEEDS) texts.push(await write(seed))
    const each = (milliseconds() - began) / SEEDS.length
    first ||= each
    const { right = 0, wrong: all = 0 } = loop.guesses?.model ?? {}
    const [hits, misses] = [right - before, all - missed]
    const share = hits + misses === 0 ? '' : `${((100 * hits) / (hits + misses)).toFixed(0)} % of ${hits + misses}`
    const name = wrong ? `${drafts}, by a head that is wrong` : drafts
    console.log(
      `| ${name} | ${(passes / SEEDS.length).toFixed(1)} | ${((TOKENS * SEEDS.length) / passes).toFixed(2)} | ${each.toFixed(1)} | ${(first / each).toFixed(2)} | ${share} |`,
    )
    outputs.push(texts.join('\n'))
    await loop.close()
  }
  await readingAlong(device)
  device.destroy()
  const same = outputs.every((text) => text === outputs[0])
  console.log(`\nThe texts are ${same ? 'the same, letter for letter' : 'different'}.`)
  return same
}

const ROUNDS = 9
const PROMPT = Array.from({ length: 256 }, (_, i) => 300 + i)
const STEPS = 24

/** The price of a head that is loaded: the same model with it and without it, in turns. */
async function readingAlong(device: Device): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'local-v1-head-'))
  const path = join(folder, 'model.gguf')
  await writeFamily(path, GUESSING, 'Q4_K')
  const options = { report: () => {}, signal: new AbortController().signal, cache: false } as const
  const { weights } = await openRepository({ kind: 'folder', path }, options)
  const core = await loadCore(device, weights, { contextLength: 512, maxBatch: 2, draftHead: true })
  const { topLogprobs: _, ...sample } = GREEDY
  const taken = {
    prompt: { true: [] as number[], false: [] as number[] },
    token: { true: [] as number[], false: [] as number[] },
  }
  for (let round = 0; round <= 2 * ROUNDS; round++) {
    const along = `${round % 2 === 0}` as const
    core.readsAlong = along === 'true'
    const sequence = core.open()
    const began = milliseconds()
    for (let at = 0; at < PROMPT.length; at += core.maxChunk) {
      await core.step([{ sequence, tokens: PROMPT.slice(at, at + core.maxChunk) }])
    }
    const read = milliseconds()
    for (let i = 0; i < STEPS; i++) await core.step([{ sequence, tokens: [7 * i], sample }])
    const end = milliseconds()
    sequence.close()
    // The first warms up.
    if (round === 0) continue
    taken.prompt[along].push((read - began) / PROMPT.length)
    taken.token[along].push((end - read) / STEPS)
  }
  console.log(`\n| ${GUESSING.like} in Q4_K, processor time a token, ms | without the head | with it | added |`)
  console.log('|---|--:|--:|--:|')
  for (const [name, { true: along, false: alone }] of Object.entries(taken)) {
    const [more, less] = [median(along), median(alone)]
    console.log(`| ${name} | ${less.toFixed(2)} | ${more.toFixed(2)} | ${(100 * (more / less - 1)).toFixed(1)} % |`)
  }
  await core.close()
  await rm(folder, { recursive: true })
}

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1]!
