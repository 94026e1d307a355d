/**
 * `npm run bench:drafts -- --head`: a made-up Qwen 3.5 whose multi-token head is mostly right, with guesses and without, in
 * one run: passes of free text, by chance, and how often the head was right.
 */
import { openCpuDevice } from '../../src/device/cpu/index.js'
import { DecodeLoop } from '../../src/generate/decode-loop.js'
import type { DraftMode } from '../../src/generate/drafts/mode.js'
import { call, collect, smallText } from '../../src/generate/testing/call.test-helper.js'
import { goodHead } from '../../src/models/draft-head.test-helper.js'
import { loadCore } from '../../src/models/load.js'

const MODES: readonly DraftMode[] = ['never', 'gaining', 'always']
const TOKENS = 300
const SEEDS = [1, 2, 3]

export async function compareHead(threads: number): Promise<boolean> {
  const device = await openCpuDevice({ threads })
  console.log(`${SEEDS.length} texts of ${TOKENS} tokens, on ${device.info.kind} (${device.info.name})\n`)
  console.log('| guesses | passes a text | tokens a pass | ms of processor a text | speed by the processor | right |')
  console.log('|---|--:|--:|--:|--:|--:|')
  const told: string[] = []
  let first = 0
  for (const drafts of MODES) {
    const core = await loadCore(device, goodHead(), {
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
      const asked = call({ maxTokens: TOKENS, ignoreEnds: true, sampling: { ...sampling, temperature: 0.7, seed } })
      return (await collect(loop.generate(asked), 1)).texts[0]!
    }
    // The first warms up.
    await write(0)
    passes = 0
    const before = process.cpuUsage()
    const texts: string[] = []
    for (const seed of SEEDS) texts.push(await write(seed))
    const { user, system } = process.cpuUsage(before)
    const each = (user + system) / 1000 / SEEDS.length
    first ||= each
    const { right = 0, wrong = 0 } = loop.guesses?.model ?? {}
    const share = right + wrong === 0 ? '' : `${((100 * right) / (right + wrong)).toFixed(0)} % of ${right + wrong}`
    console.log(
      `| ${drafts} | ${(passes / SEEDS.length).toFixed(1)} | ${((TOKENS * SEEDS.length) / passes).toFixed(2)} | ${each.toFixed(1)} | ${(first / each).toFixed(2)} | ${share} |`,
    )
    told.push(texts.join('\n'))
    await loop.close()
  }
  device.destroy()
  const same = told.every((text) => text === told[0])
  console.log(`\nThe texts are ${same ? 'the same, letter for letter' : 'different'}.`)
  return same
}
