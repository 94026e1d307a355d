/**
 * Our core on a case: on the processor and on a GPU in software with the kernels cut in both ways, its weights in files of
 * both formats and of every width, its prompt fed in every way.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Device } from '../../src/device/contract.js'
import { openCpuDevice } from '../../src/device/cpu/index.js'
import { DEVICES } from '../../src/device/operations/devices.test-helper.js'
import { openRepository } from '../../src/models/files/open.js'
import type { WeightSource } from '../../src/models/files/source.js'
import { loadPlanned } from '../../src/models/load.js'
import { type LoadPlan, planModel } from '../../src/models/plan-model.js'
import { storedName } from '../../src/models/planned.js'
import type { Case, FolderType, Weights } from '../../test/oracles/family.js'
import { type GgufType, isQuantised, writeGguf } from '../../test/oracles/files/gguf.js'
import { mlxConfig, mlxTensors, throughMlx } from '../../test/oracles/files/mlx.js'
import { safetensors, safetensorsFile } from '../../test/oracles/files/safetensors.js'
import {
  inHalves,
  inQ4_0,
  inQ4_0OfNext,
  inQ8_0,
  inQ8_0OfNext,
  type Kept,
  type Vector,
} from '../../test/oracles/float64.js'
import {
  type Allowance,
  type Answer,
  answerOf,
  apart,
  compare,
  OF_F32,
  retold,
  steadyLimit,
} from '../../test/oracles/judge.js'
import { throughMlc, throughMxfp4, throughQ4_0 } from '../../test/oracles/rounded.js'
import type { Code } from './code.js'
import { eachWay, waysAtOnce } from './feeds.js'
import { type LlamaCache, llamaCpp } from './llama-cpp.js'
import type { Rows } from './rows.js'

export const FORMS = [
  { name: 'safetensors F32', format: 'safetensors', type: 'F32', onGpu: true },
  { name: 'safetensors BF16', format: 'safetensors', type: 'BF16', onGpu: false },
  { name: 'safetensors F16', format: 'safetensors', type: 'F16', onGpu: true },
  { name: 'safetensors to 4 bits', format: 'safetensors', type: 'BF16', quantize: 'q4f16_1', onGpu: true },
  { name: 'MLX 4 bits', format: 'MLX', type: 'BF16', onGpu: true },
  { name: 'GGUF F32', format: 'GGUF', type: 'F32', onGpu: false },
  { name: 'GGUF F16', format: 'GGUF', type: 'F16', onGpu: false },
  { name: 'GGUF Q4_0', format: 'GGUF', type: 'Q4_0', onGpu: true },
  { name: 'safetensors MXFP4', format: 'safetensors', type: 'MXFP4', onGpu: true },
  { name: 'GGUF MXFP4', format: 'GGUF', type: 'MXFP4', onGpu: false },
  { name: 'F16, 8-bit cache', format: 'safetensors', type: 'F16', cacheType: 'q8_0', onGpu: true },
  { name: 'F16, 4-bit cache', format: 'safetensors', type: 'F16', cacheType: 'q4_0', onGpu: true },
] as const
export type Form = (typeof FORMS)[number]

/** Each kind of layer that keeps keys and values: all, with normed heads, those of a window, beside others that keep states. */
const PACKED_IN: readonly string[] = ['llama', 'qwen3', 'gemma3', 'qwen3_5']

/** mlx-lm gives routers eight bits, which is refused. */
const hasExperts = ({ config }: Case) => Boolean(config.num_experts ?? config.num_local_experts)

export const formsOf = (of: Case): Form[] =>
  FORMS.filter((form) => {
    if (form.format === 'GGUF' && !of.gguf) return false
    if (form.format === 'MLX' && hasExperts(of)) return false
    if (form.type === 'MXFP4' && of.name !== 'gpt_oss') return false
    return !('cacheType' in form) || PACKED_IN.includes(of.name)
  })

type CacheType = LoadPlan['size']['cacheType']

/**
 * Nats, of float64 that keeps keys and values as the core says it does. f32 alone is as far off as llama.cpp is. What it
 * leaves of a key may be rounded to the next number of f16, so that every layer adds some of what rounding costs at all;
 * of 8 bits the next is eight times as far, of 4 bits sixteen times as far as of 8.
 */
const BOUNDS: Readonly<Record<CacheType, number>> = { f32: 2e-3, f16: 1e-2, q8_0: 8e-2, q4_0: 1.3 }
const KEPT: Readonly<Record<CacheType, Kept | undefined>> = {
  ...{ f32: undefined, f16: inHalves, q8_0: inQ8_0, q4_0: inQ4_0 },
}
/** As who takes the scale of the next block. */
const OF_NEXT: Readonly<Partial<Record<CacheType, Kept>>> = { q8_0: inQ8_0OfNext, q4_0: inQ4_0OfNext }

/** The processor, and SwiftShader with the kernels cut for hardware and for software. */
export type Where = 'cpu' | 'hardware' | 'software'

export const EXACT = 'CPU'
/** Activations beside 4-bit matrices have 8 bits there, as they do in llama.cpp. */
export const AS_USED = 'CPU as used'
/** In software a step takes its time, and more where groups of threads wait for each other. */
const IN_SOFTWARE = { first: 6, last: 2, several: 13 }
export const GPUS = DEVICES.filter(({ name }) => name.startsWith('webgpu')).map(({ name, open }) => {
  let device: Promise<Device> | undefined
  // Kept: the most of a short check is spent on compiling its shaders.
  const cut = name.includes('hardware') ? 'hardware' : 'software'
  return { name, cut, open: () => (device ??= open()) } as const
})

export interface OursOptions {
  readonly rows: Rows
  readonly devices: readonly Where[]
  /** Parts of their names; none: all. */
  readonly forms: readonly string[]
  /** Tokens after the prompt. */
  readonly tokens: number
  /** And on a GPU in software. */
  readonly onGpu: number
  /** Where llama.cpp is. */
  readonly peers?: string
}

export async function checkOurCore(of: Case, weights: Weights, options: OursOptions): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'local-v1-core-'))
  try {
    for (const form of formsOf(of)) {
      if (options.forms.length > 0 && !options.forms.some((part) => form.name.includes(part))) continue
      await checkForm(of, form, weights, await written(of, form, weights, folder), options)
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** What is said of a text, by float64 and by llama.cpp. */
interface Truth {
  readonly cacheType: CacheType
  /** By float64 that keeps keys and values as the core does. */
  readonly answer: Answer
  /** By llama.cpp, whose keys and values are kept as they are, or in 8 or 4 bits as the core's. */
  readonly theirs?: readonly Vector[]
  /** By float64 that keeps keys and values as they are. */
  readonly plain: readonly Vector[]
  /** By how much what becomes of keys and values moves leads. */
  readonly moved: Allowance
}

async function checkForm(of: Case, form: Form, plain: Weights, source: WeightSource, options: OursOptions) {
  const { rows, devices, tokens, onGpu, peers } = options
  const weights = once(await heldBy(of, form, plain, source))
  const row = (device: string, code: Code, count: number, check: Parameters<Rows['once']>[2]) =>
    rows.once({ family: of.name, kind: 'text', what: form.name, device }, code, check, count)
  const device = await openCpuDevice({ threads: 1 })
  const { cacheType } = planned(device, of, form, source, of.prompt + tokens).size
  device.destroy()
  const truth = (count: number) => truthOf(of, cacheType, weights, count, peers)
  const check = async (device: Device, truth: Truth) => {
    const ways = await answersOf(device, of, form, source, truth.answer)
    const verdict = asSteady(checkOn(ways, truth), truth, of, weights)
    const ofNext = OF_NEXT[cacheType]
    return ofNext ? inBlocks(verdict, ways, truth, of, weights, ofNext) : verdict
  }
  if (devices.includes('cpu')) {
    await row(EXACT, 'decoders on cpu', tokens, async () =>
      check(await openCpuDevice({ threads: 1, exact: true }), await truth(tokens)),
    )
  }
  if (devices.includes('cpu') && peers !== undefined && form.type === 'Q4_0') {
    await row(AS_USED, 'decoders on cpu', tokens, () =>
      checkAsUsed(peers, of, form, source, weights, answerOf(of, weights, tokens)),
    )
  }
  if (!form.onGpu) return
  for (const { name, cut, open } of GPUS) {
    if (!devices.includes(cut)) continue
    await row(name, 'decoders on gpu', onGpu, async () => check(await open(), await truth(onGpu)))
  }
}

const truths = new WeakMap<Weights, Map<CacheType, Truth>>()

/** Asked for once: fewer tokens are the beginning of more. */
async function truthOf(
  of: Case,
  cacheType: CacheType,
  weights: Weights,
  count: number,
  peers?: string,
): Promise<Truth> {
  const byType = truths.get(weights) ?? new Map<CacheType, Truth>()
  truths.set(weights, byType)
  const found = byType.get(cacheType)
  if (found && found.answer.logprobs.length >= count) {
    const { tokens, logprobs } = found.answer
    const answer = { tokens: tokens.slice(0, of.prompt + count), logprobs: logprobs.slice(0, count) }
    return {
      ...found,
      answer,
      plain: found.plain.slice(0, count),
      ...(found.theirs && { theirs: found.theirs.slice(0, count) }),
    }
  }
  const kept = KEPT[cacheType]
  const answer = answerOf(of, weights, count, kept)
  const plain = kept ? retold(of, weights, answer) : answer.logprobs
  const cache = cacheType === 'q8_0' ? 'Q8_0' : cacheType === 'q4_0' ? 'Q4_0' : 'F32'
  const theirs = peers !== undefined && of.gguf ? await toldByLlamaCpp(peers, of, weights, answer, cache) : undefined
  const truth = { cacheType, answer, plain, moved: apart(answer.logprobs, plain), ...(theirs && { theirs }) }
  byType.set(cacheType, truth)
  return truth
}

async function toldByLlamaCpp(
  peers: string,
  of: Case,
  weights: Weights,
  { tokens, logprobs }: Answer,
  cache: LlamaCache,
): Promise<Vector[]> {
  const all = await llamaCpp(peers, of, weights, tokens.slice(0, -1), logprobs.length, 'F32', cache)
  return all.map((logprobOf) => Float64Array.from({ length: of.config.vocab_size }, (_, token) => logprobOf(token)))
}

type Ways = Awaited<ReturnType<typeof answersOf>>

function checkOn(ways: Ways, truth: Truth) {
  const { answer, theirs, moved } = truth
  const bound = BOUNDS[truth.cacheType]
  // In 4 bits a number between two codes moves leads by as much as rounding does at all.
  const allowed = truth.cacheType === 'q4_0' ? moved : undefined
  const verdicts = Object.entries(ways).map(([way, predicted]) => {
    return { way, ...compare(answer.logprobs.slice(0, predicted.length), predicted, allowed) }
  })
  const besideTheirs =
    theirs &&
    Object.values(ways).map((predicted) => compare(theirs.slice(0, predicted.length), predicted, moved).wrongTokens)
  const otherTokens = Math.max(...verdicts.map(({ wrongTokens }) => wrongTokens))
  const otherThanPeer = besideTheirs && Math.max(...besideTheirs)
  const worst = Math.max(...verdicts.map(({ worst }) => worst))
  return {
    tokens: answer.logprobs.length,
    otherTokens,
    ...(otherThanPeer !== undefined && { otherThanPeer }),
    rms: Math.max(...verdicts.map(({ rms }) => rms)),
    worst,
    bound,
    good: worst < bound && otherTokens === 0 && !otherThanPeer,
    ways: Object.fromEntries(verdicts.map(({ way, worst }) => [way, worst])),
  }
}

/** Where float64 itself moves by more if keys and values are off as those of f32 are, that is the limit. */
function asSteady(verdict: ReturnType<typeof checkOn>, { cacheType, answer }: Truth, of: Case, weights: Weights) {
  const { worst, otherTokens, otherThanPeer } = verdict
  if (cacheType !== 'f16' || worst < verdict.bound || otherTokens > 0 || otherThanPeer) return verdict
  const bound = steadyLimit(verdict.bound, of, weights, answer, OF_F32, inHalves)
  return { ...verdict, bound, good: worst < bound }
}

/**
 * Of a packed cache: llama.cpp rounds queries beside it too, and so may take another token; what is asked is that ours
 * costs no more. And that the scale of the next block would have been seen.
 */
function inBlocks(
  verdict: ReturnType<typeof checkOn>,
  ways: Ways,
  truth: Truth,
  of: Case,
  weights: Weights,
  ofNext: Kept,
) {
  const { answer, plain, theirs } = truth
  const { otherThanPeer: _, ...rest } = verdict
  const of64 = (all: readonly Vector[]) => all.map((each) => (token: number) => each[token]!)
  const mistaken = compare(answer.logprobs, of64(retold(of, weights, answer, undefined, ofNext))).worst
  const costs = (predicted: Parameters<typeof compare>[1]) => compare(plain.slice(0, predicted.length), predicted).rms
  const asGood = (predicted: Ways[string]) =>
    !theirs || costs(predicted) < AS_FAR * costs(of64(theirs.slice(0, predicted.length)))
  const good = rest.worst < rest.bound && rest.otherTokens === 0 && mistaken > rest.bound
  return { ...rest, good: good && Object.values(ways).every(asGood) }
}

/** How much further from float64 than llama.cpp, which rounds activations too, the core may be. */
export const AS_FAR = 1.5

async function checkAsUsed(
  peers: string,
  of: Case,
  form: Form,
  source: WeightSource,
  weights: Weights,
  answer: Answer,
) {
  const { tokens, logprobs } = answer
  const ours = await answersOf(await openCpuDevice({ threads: 1 }), of, form, source, answer)
  const theirs = await llamaCpp(peers, of, weights, tokens.slice(0, -1), logprobs.length, 'Q4_0')
  const bound = AS_FAR * compare(logprobs, theirs).rms
  const verdicts = Object.entries(ours).map(([way, predicted]) => ({ way, ...compare(logprobs, predicted) }))
  const rms = Math.max(...verdicts.map(({ rms }) => rms))
  return {
    tokens: logprobs.length,
    otherTokens: Math.max(...verdicts.map(({ wrongTokens }) => wrongTokens)),
    rms,
    worst: Math.max(...verdicts.map(({ worst }) => worst)),
    bound,
    good: rms < bound,
    ways: Object.fromEntries(verdicts.map(({ way, rms }) => [way, rms])),
  }
}

async function answersOf(device: Device, of: Case, form: Form, source: WeightSource, { tokens, logprobs }: Answer) {
  const text = { tokens, count: logprobs.length }
  const onCpu = device.info.kind === 'cpu'
  const core = await loadPlanned(device, source, planned(device, of, form, source, tokens.length))
  try {
    return onCpu ? await eachWay(core, text, [core.maxChunk, 24, 7]) : await waysAtOnce(core, text, IN_SOFTWARE)
  } finally {
    await core.close()
    if (onCpu) device.destroy()
  }
}

export function planned(device: Device, of: Case, form: Form, source: WeightSource, length: number): LoadPlan {
  return planModel(source, device, {
    contextLength: Math.max(of.context ?? 0, length + 8),
    cacheTokens: 5 * (length + 64),
    maxBatch: 16,
    draftHead: of.config.mtp_num_hidden_layers !== undefined,
    ...('quantize' in form && { quantize: form.quantize }),
    ...('cacheType' in form && { cacheType: form.cacheType }),
  })
}

/** As a folder or a file that somebody may have downloaded. */
export async function written(of: Case, form: Form, weights: Weights, within: string): Promise<WeightSource> {
  const at = join(within, form.name.replaceAll(' ', '-'))
  const path = form.format === 'GGUF' ? `${at}.gguf` : at
  if (form.format === 'GGUF') await writeGguf(path, of, weights, form.type satisfies GgufType)
  else if (form.format === 'MLX') await writeFolder(path, mlxConfig(of), safetensorsFile(mlxTensors(of, weights)))
  else await writeFolder(path, folderConfig(of, form.type), transformersFile(of, weights, form.type))
  const options = { report: () => {}, signal: new AbortController().signal, cache: false } as const
  return (await openRepository({ kind: 'folder', path }, options)).weights
}

/** Transformers' files in MXFP4 say so. */
const folderConfig = ({ config }: Case, type: FolderType) =>
  type === 'MXFP4' ? { ...config, quantization_config: { quant_method: 'mxfp4' } } : config

function transformersFile(of: Case, weights: Weights, type: FolderType): Uint8Array {
  if (of.folder) return safetensorsFile(of.folder(weights, type))
  if (type === 'MXFP4') throw new Error(`${of.name} has no form in MXFP4.`)
  return safetensors(of.tensors, weights, type)
}

async function writeFolder(folder: string, config: object, tensors: Uint8Array): Promise<void> {
  await mkdir(folder)
  await writeFile(join(folder, 'config.json'), JSON.stringify(config))
  await writeFile(join(folder, 'tokenizer.json'), '{}')
  await writeFile(join(folder, 'model.safetensors'), tensors)
}

/** What is left of the weights in a form. */
async function heldBy(of: Case, form: Form, plain: Weights, source: WeightSource): Promise<Weights> {
  if (form.type === 'Q4_0' || form.type === 'MXFP4') {
    const through = form.type === 'Q4_0' ? throughQ4_0 : throughMxfp4
    const whole = new Set(
      of.tensors
        .filter(({ name, shape }) => shape.length > 1 && shape.at(-1)! % 32 === 0 && isQuantised(name, form.type))
        .map(({ name }) => name),
    )
    return (name) => (whole.has(name) ? through(plain(name)) : plain(name))
  }
  if (form.format === 'MLX') return throughMlx(of, plain)
  if (!('quantize' in form)) return plain
  const device = await openCpuDevice({ threads: 1 })
  const { tensors } = planModel(source, device, { quantize: form.quantize })
  device.destroy()
  const { embedding, head, perLayer, layers } = tensors
  const matrices = [embedding, ...(head ? [head] : []), ...(perLayer ? [...perLayer.tables, perLayer.product] : [])]
  const all = matrices.concat(layers.flatMap(({ matrices }) => Object.values(matrices)))
  const four = new Set(all.filter(({ quantize }) => quantize).flatMap(({ parts }) => parts.map(storedName)))
  return (name) => (four.has(name) ? throughMlc(plain(name)) : plain(name))
}

const kept = new WeakMap<Weights, Weights>()
function once(weights: Weights): Weights {
  const found = kept.get(weights)
  if (found) return found
  const known = new Map<string, ReturnType<Weights>>()
  const all: Weights = (name) => {
    const values = known.get(name) ?? weights(name)
    known.set(name, values)
    return values
  }
  kept.set(weights, all)
  return all
}
