/** A head that makes rows in place of logits: all that are asked for come of as few steps as their tokens take. */
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { llama } from '../../../test/oracles/families/llama.js'
import { qwen35 } from '../../../test/oracles/families/qwen3-5.js'
import { Random } from '../../../test/oracles/random.js'
import { ownFolder } from '../../../test/support/own-folder.js'
import { DEVICES } from '../../device/operations/devices.test-helper.js'
import { readQuestions } from '../../generate/decide/reading.js'
import { Rows } from '../../generate/decide/rows.js'
import { Scheduler } from '../../generate/run/scheduler.js'
import { openRepository } from '../../models/files/open.js'
import { loadCore } from '../../models/load.js'
import { writeMade } from './made.test-helper.js'

/** Of a query, and of a key. */
const WIDTH = 16
const GREEDY = { temperature: 0, topP: 1, seed: 0, index: 0, presencePenalty: 0, frequencyPenalty: 0 }

/** Compiling what is cut for hardware takes minutes in software. */
const SOME = new Set(['cpu', 'webgpu, cut for software'])

const folder = ownFolder()

describe.each([
  ['attention alone', llama],
  ['layers that keep a state', qwen35],
] as const)('rows of a head, of %s', (name, of) => {
  const hidden = Number(of.config.hidden_size)
  const random = new Random(`rows ${name}`)
  const head = Float64Array.from({ length: 2 * WIDTH * hidden }, () => Math.fround(random.normal() / Math.sqrt(hidden)))
  const { architecture } = of.gguf!
  const path = () => join(folder, `${architecture}.gguf`)
  beforeAll(() =>
    writeMade(path(), {
      ...{ of, type: 'kev', template: '<s>', texts: ['some words'] },
      metadata: (out) => out.u32(`${architecture}.embedding_length_out`, 2 * WIDTH),
      tensors: [
        { name: 'cls.output.weight', dims: [hidden, 2 * WIDTH], values: head },
        { name: 'cls.output.bias', dims: [2 * WIDTH], values: new Float64Array(2 * WIDTH) },
      ],
    }),
  )

  it.each(DEVICES.filter(({ name }) => SOME.has(name)))('come side by side on $name', async ({ open }) => {
    const device = await open()
    const signal = new AbortController().signal
    const { weights } = await openRepository({ kind: 'folder', path: path() }, { report: () => {}, signal })
    const model = await loadCore(device, weights)
    // As many as a question may have options; a GPU in software has fewer.
    const count = device.info.kind === 'cpu' ? 255 : 12
    const stem = Array.from({ length: 3 * count + 20 }, () => 3 + random.below(200))
    const last = stem.length - 1
    const places = [...Array.from({ length: count }, (_, i) => 12 + 3 * i), last]
    const rows = new Rows(places)
    let steps = 0
    const step = model.step.bind(model)
    model.step = (batch) => {
      steps++
      return step(batch)
    }
    const scheduler = new Scheduler(model, 1)
    await readQuestions(stem.slice(0, 5), [{ stem, rows }], { model, scheduler }, { signal })
    // What is before the first of them, and before all questions, is read by itself.
    expect(steps).toBeLessThanOrEqual(2 + Math.ceil(stem.length / model.maxChunk))
    const alone = new Rows(places)
    const sequence = model.open()
    for (let from = 0; from <= last; ) {
      const to = places.find((place) => place >= from)!
      const tokens = stem.slice(from, Math.min(to + 1, from + model.maxChunk))
      const asks = from + tokens.length === to + 1
      const [sampled] = await step([{ sequence, tokens, ...(asks && { sample: GREEDY }) }])
      from += tokens.length
      if (sampled) alone.take(to, sampled.row!)
    }
    // As one a step tells them; a GPU computes few tokens in another way than many.
    if (device.limits.fewRows === undefined) expect(rows.scores()).toEqual(alone.scores())
    else alone.scores().forEach((score, i) => void expect(rows.scores()[i]).toBeCloseTo(score, 4))
    sequence.close()
    scheduler.stop(new Error('over'))
    await scheduler.stopped()
    await model.close()
    device.destroy()
  })
})
