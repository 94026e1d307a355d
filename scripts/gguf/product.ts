/**
 * Every architecture in every type: made-up models, which llama.cpp's own quantiser puts into the mixtures of types that
 * files have. Our core multiplies the blocks as they lie; llama.cpp is given the numbers that they stand for, in f32, so
 * that neither rounds activations. What llama.cpp makes of the blocks themselves is beside it: it rounds activations to
 * 8 bits. Keys and values are kept in f16 by us, in f32 by llama.cpp, which takes gelu from a table of f16: where experts nearly
 * tie either alone chooses another one. So where the two are farther apart than usual, float64 judges, given llama.cpp's
 * numbers, keys in f16 and the very experts that we chose.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openCpuDevice } from '../../src/device/cpu/index.js'
import { GREEDY } from '../../src/models/architectures/cases.test-helper.js'
import { loadEncoderPlanned, planEncoderLoad } from '../../src/models/encoders/load-encoder.js'
import { openRepository } from '../../src/models/files/open.js'
import { loadCore } from '../../src/models/load.js'
import { distance, type EncoderCase, type Input, inputsOf } from '../../test/oracles/encoders/encoder-case.js'
import { encoderWeights } from '../../test/oracles/encoders/source.js'
import type { Case, Weights } from '../../test/oracles/family.js'
import { writeGguf } from '../../test/oracles/files/gguf.js'
import { inHalves } from '../../test/oracles/float64.js'
import { promptOf, retold } from '../../test/oracles/judge.js'
import { weightsOf } from '../../test/oracles/weights.js'
import { probabilitiesOf, vectorsOf } from '../models/llama-cpp.js'
import { alike, compared, type Likely } from '../models/ties.js'
import { numbersIn } from './numbers.js'

/** As llama.h numbers the types of files: of each kind of block one, whose tensors are of several types. */
export const FILE_TYPES: Readonly<Record<string, number>> = {
  ...{ F32: 0, F16: 1, BF16: 32, Q8_0: 7, Q4_0: 2, Q4_1: 3, Q5_0: 8, Q5_1: 9, IQ4_NL: 25, IQ4_XS: 30 },
  ...{ Q2_K: 10, Q3_K_M: 12, Q4_K_M: 15, Q5_K_M: 17, Q6_K: 18 },
}

const TOKENS = 24

/** Nats. Of two tokens that are closer, either may be the greedy one. */
const BOUND = 3e-2
/** Of float64, which rounds as we do. */
const OF_FLOAT64 = 5e-3
/** Times that we chose the other one of two experts that tie: 24 tokens make few choices, and fewer ties. */
const MOST_OTHERS = 1

export interface Cell {
  readonly type: string
  readonly judge: 'llama.cpp' | 'float64'
  /** Of 24 greedy tokens, those that the judge would not take, given the same numbers. */
  readonly wrong: number
  /** Nats, over the 20 likeliest tokens of every step. */
  readonly worst: number
  /** The same beside llama.cpp on the blocks themselves: greedy tokens that are the same, and the root of the mean square. */
  readonly same: number
  readonly rms: number
  readonly good: boolean
}

export async function checkTypes(
  of: Case,
  types: readonly string[],
  peers: string,
  report: (cell: Cell) => void,
): Promise<void> {
  await quantised(of, weightsOf(of), types, peers, async (type, folder) => {
    report(await checkType(of, type, folder, peers))
  })
}

export interface VectorCell {
  readonly type: string
  /** The least cosine to llama.cpp's vectors, given the same numbers; and given the blocks themselves. */
  readonly cosine: number
  readonly onBlocks: number
  readonly good: boolean
}

/** llama.cpp computes BERT's gelu as tanh does, some of it in f16. */
const COSINE = 0.9999

/** Models that make vectors, pooled as their files say. */
export async function checkVectorTypes(
  of: EncoderCase,
  types: readonly string[],
  peers: string,
  report: (cell: VectorCell) => void,
): Promise<void> {
  const inputs = inputsOf(of)
  const texts = inputs.map(({ tokens }) => tokens)
  await quantised(of, encoderWeights(of), types, peers, async (type, folder) => {
    const path = join(folder, `${type}.gguf`)
    const ours = await vectorsByUs(path, inputs)
    const least = async (file: string) => {
      const theirs = await vectorsOf(peers, file, texts)
      return Math.min(...theirs.map((vector, i) => distance(vector, ours[i]!).cosine))
    }
    const cosine = await least(join(folder, `${type}.f32.gguf`))
    report({ type, cosine, onBlocks: await least(path), good: cosine > COSINE })
  })
}

async function vectorsByUs(path: string, inputs: readonly Input[]) {
  const { weights } = await opened(path)
  const device = await openCpuDevice({ exact: true, threads: 1 })
  const model = await loadEncoderPlanned(device, weights, planEncoderLoad(weights, device))
  try {
    return await model.vectors(inputs)
  } finally {
    await model.close()
    device.destroy()
  }
}

/** Each type's file, as llama.cpp's quantiser makes it, in a folder that is then removed. */
async function quantised(
  of: Parameters<typeof writeGguf>[1],
  weights: Weights,
  types: readonly string[],
  peers: string,
  action: (type: string, folder: string) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'local-v1-gguf-'))
  try {
    const plain = join(folder, 'plain')
    await writeGguf(plain, of, weights)
    const script = fileURLToPath(new URL('quantise.py', import.meta.url))
    const wanted = types.map((type) => `${type}=${FILE_TYPES[type]}`)
    await promisify(execFile)('python3', [script, await libraryOf(peers), plain, folder, ...wanted], {
      maxBuffer: 2 ** 27,
    })
    for (const type of types) await action(type, folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function checkType(of: Case, type: string, folder: string, peers: string): Promise<Cell> {
  const path = join(folder, `${type}.gguf`)
  const { tokens, ours } = await answered(of, path)
  const request = { of, tokens: tokens.slice(0, -1), count: TOKENS }
  const exact = await probabilitiesOf(peers, join(folder, `${type}.f32.gguf`), request)
  const rounded = await probabilitiesOf(peers, path, request)
  const chosen = tokens.slice(-TOKENS)
  let [wrong, worst, same, squares] = [0, 0, 0, 0]
  chosen.forEach((token, i) => {
    const best = (shares: Map<number, number>) => [...shares].sort((a, b) => b[1] - a[1])[0]!
    const [truth, beside] = [exact[i]!, rounded[i]!]
    const nats = (shares: Map<number, number>, of: number) => Math.log(shares.get(of) ?? 0)
    if (Math.log(best(truth)[1]) - nats(truth, token) > BOUND) wrong++
    if (best(beside)[0] === token) same++
    const least = Math.min(...ours[i]!.values())
    for (const each of [...truth.keys()].sort((a, b) => truth.get(b)! - truth.get(a)!).slice(0, GREEDY.topLogprobs)) {
      worst = Math.max(worst, Math.abs(nats(truth, each) - (ours[i]!.get(each) ?? least)))
    }
    squares += (nats(beside, token) - ours[i]!.get(token)!) ** 2
  })
  const beside = { type, same, rms: Math.sqrt(squares / TOKENS) }
  if (wrong === 0 && worst < BOUND) return { ...beside, judge: 'llama.cpp', wrong, worst, good: true }
  return { ...beside, ...(await besideFloat64(of, join(folder, `${type}.f32.gguf`), tokens, ours)) }
}

async function besideFloat64(of: Case, path: string, tokens: readonly number[], ours: readonly Likely[]) {
  const { weights: source } = await opened(path)
  const weights = await numbersIn(source, of)
  const steps = { tokens, logprobs: ours.map(() => new Float64Array()) }
  const answer = { tokens, logprobs: retold(of, weights, steps, undefined, inHalves) }
  const { truth, otherExperts } = alike(of, weights, answer, ours, OF_FLOAT64)
  const { wrongTokens: wrong, worst } = compared(truth, ours)
  return {
    judge: 'float64',
    wrong,
    worst,
    good: wrong === 0 && worst < OF_FLOAT64 && otherExperts <= MOST_OTHERS,
  } as const
}

const opened = (path: string) =>
  openRepository({ kind: 'folder', path }, { report: () => {}, signal: new AbortController().signal })

/** The prompt and our greedy tokens behind it, and what we think of each. */
async function answered(of: Case, path: string) {
  const { weights } = await opened(path)
  const device = await openCpuDevice({ exact: true, threads: 1 })
  const tokens = promptOf(of)
  const length = tokens.length + TOKENS
  const core = await loadCore(device, weights, { contextLength: Math.max(of.context ?? 0, length + 8) })
  try {
    const ours: Likely[] = []
    const sequence = core.open(length)
    let fresh = [...tokens]
    while (ours.length < TOKENS) {
      const [sampled] = await core.step([{ sequence, tokens: fresh, sample: GREEDY }])
      ours.push(new Map(sampled!.top!.map(({ token, logprob }) => [token, logprob])))
      fresh = [sampled!.token]
      tokens.push(sampled!.token)
    }
    return { tokens, ours }
  } finally {
    await core.close()
    device.destroy()
  }
}

/** The folder of llama.cpp's libraries for this machine. */
async function libraryOf(peers: string): Promise<string> {
  const all = join(
    peers,
    'node_modules/@node-llama-cpp',
    `${process.platform === 'darwin' ? 'mac' : 'linux'}-${process.arch}`,
    'bins',
  )
  const [found] = await readdir(all)
  return join(all, found!)
}
