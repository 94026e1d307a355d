/** What rounding activations to 8 bits on a GPU costs nano, in nats a token: on SwiftShader, with kernels cut for hardware. */
import { fileURLToPath } from 'node:url'
import { TASKS } from '../../src/bench/prompts.js'
import type { Device } from '../../src/device/contract.js'
import { openCpuDevice } from '../../src/device/cpu/index.js'
import { openWebGpuDevice } from '../../src/device/gpu/index.js'
import { CUTS } from '../../src/device/gpu/kernels/cuts.js'
import { GREEDY } from '../../src/generate/answer/sampling.js'
import { Tokenizer } from '../../src/generate/tokenizer/tokenizer.js'
import { openRepository } from '../../src/models/index.js'
import { loadCore } from '../../src/models/load.js'
import { softwareGpu } from '../../test/support/swiftshader.js'

const FOLDER = fileURLToPath(new URL('../../models/nano', import.meta.url))

function nano() {
  const options = { report: () => {}, signal: new AbortController().signal }
  return openRepository({ kind: 'folder', path: FOLDER }, options)
}

export interface Loss {
  readonly tokens: number
  /** Of the log probability of the text's next token, beside that with activations in f32. */
  readonly mean: number
  readonly rms: number
  /** Tokens of which the likeliest is another. */
  readonly others: number
}

/** Log probabilities of a text's own tokens, and the likeliest instead of each, row by row: prompts are not packed. */
async function read(device: Device, tokens: readonly number[]) {
  const core = await loadCore(device, (await nano()).weights, { contextLength: 512, maxBatch: 1 })
  const sequence = core.open()
  const rows: { own: number; best: number }[] = []
  for (const [i, token] of tokens.slice(0, -1).entries()) {
    const sample = { ...GREEDY, index: i, topLogprobs: 1, among: [tokens[i + 1]!] }
    const [row] = await core.step([{ sequence, tokens: [token], sample }])
    rows.push({ own: row!.among![0]!, best: row!.token })
  }
  await core.close()
  device.destroy()
  return rows
}

export async function lossOfPacking(most: number): Promise<Readonly<Record<string, Loss>>> {
  const { text } = await nano()
  const tokenizer = new Tokenizer(text.tokenizer, text.tokenizerConfig)
  const tokens = tokenizer.encode(TASKS.map(({ text }) => text).join('\n')).slice(0, most)
  const gpu = await softwareGpu()
  const open = (packed: boolean) =>
    openWebGpuDevice({ gpu, serial: false, half: false, cuts: { vectors: { ...CUTS.vectors, packed } } })
  const before = await read(await open(false), tokens)
  const others = {
    'in 8 bits on the GPU': await open(true),
    'in 8 bits on the CPU': await openCpuDevice({ threads: 1 }),
  }
  const found: Record<string, Loss> = {}
  for (const [name, device] of Object.entries(others)) {
    const after = await read(device, tokens)
    const lost = after.map(({ own }, i) => before[i]!.own - own)
    const sum = (of: (value: number) => number) => lost.reduce((all, value) => all + of(value), 0) / lost.length
    found[name] = {
      ...{ tokens: lost.length, mean: sum((value) => value), rms: Math.sqrt(sum((value) => value ** 2)) },
      others: after.filter(({ best }, i) => best !== before[i]!.best).length,
    }
  }
  return found
}
