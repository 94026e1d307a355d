/** Encoders and rerankers: their definitions against llama.cpp and against mistakes, and our core against them. */
import type { Device } from '../../src/device/contract.js'
import { openCpuDevice } from '../../src/device/cpu/index.js'
import { loadEncoderPlanned, planEncoderLoad } from '../../src/models/encoders/load-encoder.js'
import type { CrossCase } from '../../test/oracles/encoders/cross.js'
import { NO, YES } from '../../test/oracles/encoders/decoders.js'
import { distance, type EncoderCase, type Input, inputsOf } from '../../test/oracles/encoders/encoder-case.js'
import { encoderSource, encoderWeights } from '../../test/oracles/encoders/source.js'
import type { Weights } from '../../test/oracles/family.js'
import { throughMlc } from '../../test/oracles/rounded.js'
import { llamaScores, llamaVectors } from './llama-cpp.js'
import { EXACT, GPUS, type Where } from './our-core.js'
import type { Rows } from './rows.js'

/** llama.cpp computes BERT's gelu as tanh does, some of it in f16. */
const COSINE = 0.9999
/** What a mistake must move some number of a vector of length one by. Ours are held to a tenth of it. */
const SEEN = 3e-5
/** llama.cpp's gelu is that of tanh, from a table of f16. Ours are held to float64 by a hundredth of it. */
const SCORES = 2e-3

interface Options {
  readonly rows: Rows
  readonly devices: readonly Where[]
  readonly peers?: string
}

type Vectors = readonly ArrayLike<number>[]

const FORMS = [
  { what: 'safetensors F32', type: 'f32' },
  { what: 'safetensors F16', type: 'f16' },
  { what: 'safetensors to 4 bits', type: 'f32', quantize: 'q4f16_1' },
] as const
type Form = (typeof FORMS)[number]

/** Of what is held to `truth`: how far, and by which cosine where it has one. */
interface Far {
  readonly worst: number
  readonly cosine?: number
}

function planned(device: Device, of: EncoderCase, form: Form) {
  const judges = of.name === 'qwen3 reranker'
  const prefix = judges ? 'model.' : ''
  const { sentence, ...source } = encoderSource(of, form.type, (name) => `${prefix}${name}`)
  const whole = sentence ? { ...source, sentence } : source
  const name = judges ? 'Qwen/Qwen3-Reranker-0.6B' : of.name
  const plan = planEncoderLoad(whole, device, { name, ...('quantize' in form && { quantize: form.quantize }) })
  return { judges, prefix, whole, plan }
}

/** What is left of the weights in a form. */
async function heldBy(of: EncoderCase, form: Form): Promise<Weights> {
  const weights = encoderWeights(of)
  if (!('quantize' in form)) return weights
  const device = await openCpuDevice({ threads: 1 })
  const { plan, prefix } = planned(device, of, form)
  device.destroy()
  const four = new Set(matricesIn(plan.body).flatMap(({ quantize, parts }) => (quantize ? parts : [])))
  const names = new Set([...four].map(({ name }) => `${name.slice(prefix.length)}.weight`))
  if (names.size === 0) throw new Error(`${of.name} has nothing that four bits are made of.`)
  return (name) => (names.has(name) ? throughMlc(weights(name)) : weights(name))
}

interface Matrix {
  readonly quantize: boolean
  readonly parts: readonly { readonly name: string }[]
}

/** Wherever a plan has them. */
function matricesIn(plan: unknown): Matrix[] {
  if (typeof plan !== 'object' || plan === null) return []
  if ('quantize' in plan && 'parts' in plan) return [plan as Matrix]
  return Object.values(plan).flatMap(matricesIn)
}

/** Texts of several lengths, all in one call. */
async function ours(device: Device, of: EncoderCase, form: Form, inputs: readonly Input[]): Promise<Vectors> {
  try {
    const { judges, whole, plan } = planned(device, of, form)
    const model = await loadEncoderPlanned(device, whole, plan, judges ? { words: [YES, NO] } : {})
    try {
      return await model.vectors(inputs)
    } finally {
      await model.close()
    }
  } finally {
    if (device.info.kind === 'cpu') device.destroy()
  }
}

const DEVICES = [{ name: EXACT, cut: 'cpu', open: () => openCpuDevice({ threads: 1, exact: true }) }, ...GPUS] as const

interface Judged {
  readonly of: EncoderCase
  readonly inputs: readonly Input[]
  /** Of the definition with these weights. */
  far(vectors: Vectors, weights: Weights): Far
  /** By a definition with a mistake. */
  mistaken(mistake: string): Far
  readonly seen: number
  readonly bound: number
  llama(peers: string): Promise<Far & { readonly bound: number; readonly good: boolean }>
}

async function check({ of, inputs, far, mistaken, seen, bound, llama }: Judged, { rows, devices, peers }: Options) {
  const family = of.name
  const row = (found: Far, bound: number, good: boolean) => ({
    ...{ tokens: inputs.length, otherTokens: 0, rms: 0, bound, good },
    ...found,
  })
  for (const form of FORMS) {
    for (const { name, cut, open } of DEVICES) {
      if (!devices.includes(cut)) continue
      await rows.once(
        { family, kind: 'vectors', what: form.what, device: name },
        cut === 'cpu' ? 'encoders on cpu' : 'encoders on gpu',
        async () => {
          const found = far(await ours(await open(), of, form, inputs), await heldBy(of, form))
          return row(found, bound, found.worst < bound)
        },
      )
    }
  }
  if (peers !== undefined && of.gguf) {
    await rows.once({ family, kind: 'llama.cpp', what: '', device: '' }, 'encoders', async () => {
      const { bound, good, ...found } = await llama(peers)
      return row(found, bound, good)
    })
  }
  for (const mistake of of.mistakes) {
    await rows.once({ family, kind: 'mistake', what: mistake, device: '' }, 'encoders', async () => {
      const found = mistaken(mistake)
      return row(found, seen, found.worst > seen)
    })
  }
}

export async function checkEncoder(of: EncoderCase, options: Options): Promise<void> {
  const weights = encoderWeights(of)
  const inputs = inputsOf(of)
  const far = (vectors: Vectors, held: Weights) => {
    const all = inputs.map((input, i) => distance(of.reference(held, input), vectors[i]!))
    return { cosine: Math.min(...all.map(({ cosine }) => cosine)), worst: Math.max(...all.map(({ worst }) => worst)) }
  }
  await check(
    {
      ...{ of, inputs, far, seen: SEEN, bound: SEEN / 10 },
      mistaken: (mistake) =>
        far(
          inputs.map((input) => of.reference(weights, input, mistake)),
          weights,
        ),
      async llama(peers) {
        const tokens = inputs.map(({ tokens }) => tokens)
        const found = far(await llamaVectors(peers, of, weights, tokens), weights)
        return { ...found, bound: COSINE, good: found.cosine > COSINE }
      },
    },
    options,
  )
}

/** Scores of pairs, between 0 and 1. */
export async function checkReranker(of: CrossCase, options: Options): Promise<void> {
  const weights = encoderWeights(of)
  const share = (score: number) => 1 / (1 + Math.exp(-score))
  const sharesOf = (held: Weights, mistake?: string) =>
    of.pairs.map((pair) => share(of.reference(held, pair, mistake)[0]!))
  const apart = (scores: readonly number[], against: readonly number[]) => ({
    worst: Math.max(...scores.map((score, i) => Math.abs(score - against[i]!))),
  })
  await check(
    {
      ...{ of, inputs: of.pairs, seen: 10 * SCORES, bound: SCORES / 100 },
      far: (vectors, held) =>
        apart(
          vectors.map((scores) => share(scores[0]!)),
          sharesOf(held),
        ),
      mistaken: (mistake) => apart(sharesOf(weights, mistake), sharesOf(weights)),
      async llama(peers) {
        const tokens = of.pairs.map(({ tokens }) => tokens)
        const found = apart(await llamaScores(peers, of, weights, tokens), sharesOf(weights, of.peerMistake))
        return { ...found, bound: SCORES, good: found.worst < SCORES }
      },
    },
    options,
  )
}
