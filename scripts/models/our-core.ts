/**
 * Our core on a case, on the CPU and on a GPU in software with the kernels cut in both ways, in every form that weights
 * come in: its prompt in chunks of several sizes, in company, and going on from what another sequence has read.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Sequence, StepInput } from '../../src/decode/token-model.js'
import { GREEDY, sourceOf } from '../../src/engines/webgpu/architectures/cases.test-helper.js'
import type { Device } from '../../src/engines/webgpu/contract.js'
import type { Core } from '../../src/engines/webgpu/core.js'
import { openCpuDevice } from '../../src/engines/webgpu/cpu/index.js'
import { loadCore } from '../../src/engines/webgpu/model/load.js'
import { planModel } from '../../src/engines/webgpu/model/plan-model.js'
import { quantize } from '../../src/engines/webgpu/model/quantize.js'
import { DEVICES } from '../../src/engines/webgpu/operations/devices.test-helper.js'
import { halfToFloat } from '../../src/platform/half.js'
import { openRepository } from '../../src/repository/open.js'
import type { WeightSource } from '../../src/repository/source.js'
import type { Case, Weights } from './family.js'
import { type Answer, answerOf, compare, type Verdict } from './judge.js'
import { writeGguf } from './llama-cpp.js'

/** Nats. f32 alone is as far off as llama.cpp is; keys and values in f16 add to it. */
const BOUNDS = { f32: 2e-3, f16: 3e-2, 'four bits': 2e-3, GGUF: 2e-3 } as const
export type FormName = keyof typeof BOUNDS
export const FORMS = Object.keys(BOUNDS) as FormName[]

export type Report = (name: string, verdict: Verdict, good: boolean) => void

export interface OursOptions {
  readonly devices: readonly ('cpu' | 'webgpu')[]
  readonly forms: readonly FormName[]
  /** Tokens after the prompt, on the CPU. */
  readonly count: number
  readonly report: Report
}

/** Tokens on a GPU in software, where a step takes its time. */
const ON_GPU = 12

export async function checkOurCore(of: Case, weights: Weights, answer: Answer, options: OursOptions): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'local-v1-core-'))
  try {
    for (const form of options.forms) {
      if (form === 'GGUF' && !of.gguf) continue
      const source = form === 'GGUF' ? await ggufOf(of, weights, folder) : sourceOf(of, form === 'f16' ? 'f16' : 'f32')
      const truth = form === 'four bits' ? await rounded(of, weights, source, options.count) : answer
      for (const { name, open, tokens } of devicesFor(form, options)) {
        const report: Report = (what, verdict, good) =>
          options.report(`${of.name} in ${form} on ${name}: ${what}`, verdict, good)
        await checkOn(await open(), of, source, shortened(truth, tokens), form, report)
      }
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}

function devicesFor(form: FormName, { devices, count }: OursOptions) {
  const cpu = { name: 'the CPU', open: () => openCpuDevice({ threads: 1, exact: true }), tokens: count }
  // SwiftShader has no f16, and what a file is called does not matter there.
  const both = form === 'f32' || form === 'four bits' ? DEVICES.filter(({ name }) => name.startsWith('webgpu')) : []
  const gpus = both.map(({ name, open }) => ({ name, open, tokens: Math.min(count, ON_GPU) }))
  return [...(devices.includes('cpu') ? [cpu] : []), ...(devices.includes('webgpu') ? gpus : [])]
}

const shortened = ({ tokens, logprobs }: Answer, count: number): Answer => ({
  tokens: tokens.slice(0, tokens.length - logprobs.length + count),
  logprobs: logprobs.slice(0, count),
})

async function checkOn(device: Device, of: Case, source: WeightSource, answer: Answer, form: FormName, report: Report) {
  const { tokens, logprobs } = answer
  const count = logprobs.length
  const prompt = tokens.length - count
  const core = await loadCore(device, source, {
    contextLength: Math.max(of.context ?? 0, tokens.length + 8),
    cacheTokens: 4 * (tokens.length + 64),
    maxBatch: 4,
    ...(form === 'four bits' && { quantize: 'q4f16_1' }),
  })
  const judged = (what: string, told: readonly Told[]) => {
    const verdict = compare(logprobs, told)
    report(what, verdict, verdict.wrongTokens === 0 && verdict.worst < BOUNDS[form])
  }
  try {
    for (const chunk of device.info.kind === 'cpu' ? [core.maxChunk, 24, 7] : [core.maxChunk, 24]) {
      judged(`its prompt by ${chunk}`, await told(core, core.open(), tokens, count, chunk))
    }
    judged('in company', await inCompany(core, tokens, count))
    // Somewhere within the prompt, at no multiple of anything.
    const part = Math.floor(prompt * 0.6) | 1
    const first = core.open()
    await core.step([{ sequence: first, tokens: tokens.slice(0, part) }])
    const copy = first.clone()
    judged('resumed from a copy', await told(core, copy, tokens, count, 24))
    await core.step([{ sequence: first, tokens: tokens.slice(0, 9).reverse(), sample: GREEDY }])
    first.truncate(part)
    judged('resumed from what was cut', await told(core, first, tokens, count, 24))
  } finally {
    await core.close()
    device.destroy()
  }
}

type Told = (token: number) => number

/** Feeds what the sequence has not read yet, and closes it. */
async function told(core: Core, sequence: Sequence, tokens: readonly number[], count: number, chunk: number) {
  const prompt = tokens.length - count
  const seen: Told[] = []
  for (let at = sequence.length; at < tokens.length - 1; ) {
    const fed = at < prompt ? tokens.slice(at, Math.min(prompt, at + chunk)) : [tokens[at]!]
    at += fed.length
    const wanted = at >= prompt
    const [sampled] = await core.step([{ sequence, tokens: fed, ...(wanted && { sample: GREEDY }) }])
    if (wanted) seen.push(shares(sampled!.top!))
  }
  sequence.close()
  return seen
}

/** Beside a sequence that is a token ahead of it and one that is as long as a window less. */
async function inCompany(core: Core, tokens: readonly number[], count: number) {
  const prompt = tokens.length - count
  const sequences = [core.open(), core.open(), core.open()]
  const [ours, ahead, short] = sequences as [Sequence, Sequence, Sequence]
  const texts = [tokens, [...tokens.slice(1), tokens[0]!], [...tokens].reverse()]
  await core.step([
    { sequence: ahead, tokens: texts[1]!.slice(0, prompt) },
    { sequence: short, tokens: texts[2]!.slice(0, 5) },
  ])
  const seen: Told[] = []
  let fed = tokens.slice(0, prompt)
  for (let i = 0; i < count; i++) {
    const others: StepInput[] = [
      { sequence: ahead, tokens: [texts[1]![prompt + i]!], sample: GREEDY },
      { sequence: short, tokens: [texts[2]![5 + i]!], sample: GREEDY },
    ]
    const [first, second] = others as [StepInput, StepInput]
    // Where it stands among the others does not matter either.
    const batch =
      i % 2 === 0
        ? [first, { sequence: ours, tokens: fed, sample: GREEDY }, second]
        : [{ sequence: ours, tokens: fed, sample: GREEDY }, first]
    const results = await core.step(batch)
    seen.push(shares(results[i % 2 === 0 ? 1 : 0]!.top!))
    fed = [tokens[prompt + i]!]
  }
  for (const sequence of sequences) sequence.close()
  return seen
}

function shares(top: readonly { readonly token: number; readonly logprob: number }[]): Told {
  const known = new Map(top.map(({ token, logprob }) => [token, logprob]))
  const least = Math.min(...known.values())
  return (token) => known.get(token) ?? least
}

async function ggufOf(of: Case, weights: Weights, folder: string): Promise<WeightSource> {
  const path = join(folder, 'model.gguf')
  await writeGguf(path, of, weights)
  const options = { report: () => {}, signal: new AbortController().signal, cache: false } as const
  return (await openRepository({ kind: 'folder', path }, options)).weights
}

/** What float64 answers with the weights that the loader makes four bits of. */
async function rounded(of: Case, plain: Weights, source: WeightSource, count: number): Promise<Answer> {
  const device = await openCpuDevice({ threads: 1 })
  const { tensors } = planModel(source, device, { quantize: 'q4f16_1' })
  device.destroy()
  const { embedding, head, beside, layers } = tensors
  const all = [embedding, ...(head ? [head] : []), ...(beside ? [...beside.tables, beside.product] : [])].concat(
    layers.flatMap(({ matrices }) => Object.values(matrices)),
  )
  const four = new Set(
    all.filter(({ quantize }) => quantize).flatMap(({ parts }) => parts.map(({ name }) => `${name}.weight`)),
  )
  const known = new Map<string, ReturnType<Weights>>()
  return answerOf(
    of,
    (name) => {
      const values = known.get(name) ?? (four.has(name) ? toFourBitsAndBack(plain(name)) : plain(name))
      known.set(name, values)
      return values
    },
    count,
  )
}

export function toFourBitsAndBack(values: ReturnType<Weights>): ReturnType<Weights> {
  const { codes, scales } = quantize(Float32Array.from(values))
  const [words, halves] = [new Uint32Array(codes.buffer), new Uint16Array(scales.buffer)]
  return values.map((_, i) => (((words[i >> 3]! >>> (4 * (i & 7))) & 15) - 7) * halfToFloat(halves[i >> 5]!))
}
