/** Encoders and rerankers: their definitions against llama.cpp and against mistakes, and our core against them. */
import type { Device } from '../../src/engines/webgpu/contract.js'
import { openCpuDevice } from '../../src/engines/webgpu/cpu/index.js'
import { loadEncoderPlanned, planEncoderLoad } from '../../src/engines/webgpu/encoders/load-encoder.js'
import type { CrossCase } from './encoders/cross.js'
import { NO, YES } from './encoders/decoders.js'
import { distance, type EncoderCase, type Input, inputsOf } from './encoders/encoder-case.js'
import { encoderSource, encoderWeights } from './encoders/source.js'
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
type Form = 'f32' | 'f16'

/** Of what is held to `truth`: how far, and by which cosine where it has one. */
interface Far {
  readonly worst: number
  readonly cosine?: number
}

/** Texts of several lengths, all in one call. */
async function ours(device: Device, of: EncoderCase, form: Form, inputs: readonly Input[]): Promise<Vectors> {
  const judges = of.name === 'qwen3 reranker'
  const { sentence, ...source } = encoderSource(of, form, (name) => (judges ? `model.${name}` : name))
  const whole = sentence ? { ...source, sentence } : source
  try {
    const plan = planEncoderLoad(whole, device, { name: judges ? 'Qwen/Qwen3-Reranker-0.6B' : of.name })
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
  far(vectors: Vectors): Far
  /** By a definition with a mistake. */
  mistaken(mistake: string): Far
  readonly seen: number
  readonly bounds: Readonly<Record<Form, number>>
  llama(peers: string): Promise<Far & { readonly bound: number; readonly good: boolean }>
}

async function check({ of, inputs, far, mistaken, seen, bounds, llama }: Judged, { rows, devices, peers }: Options) {
  const family = of.name
  const row = (found: Far, bound: number, good: boolean) => ({
    ...{ tokens: inputs.length, otherTokens: 0, rms: 0, bound, good },
    ...found,
  })
  for (const form of ['f32', 'f16'] as const) {
    for (const { name, cut, open } of DEVICES) {
      if (!devices.includes(cut) || (form === 'f16' && cut !== 'cpu')) continue
      const what = `safetensors ${form.toUpperCase()}`
      await rows.once(
        { family, kind: 'vectors', what, device: name },
        cut === 'cpu' ? 'encoders on cpu' : 'encoders on gpu',
        async () => {
          const found = far(await ours(await open(), of, form, inputs))
          return row(found, bounds[form], found.worst < bounds[form])
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
  const truth = inputs.map((input) => of.reference(weights, input))
  const far = (told: Vectors) => {
    const all = truth.map((vector, i) => distance(vector, told[i]!))
    return { cosine: Math.min(...all.map(({ cosine }) => cosine)), worst: Math.max(...all.map(({ worst }) => worst)) }
  }
  await check(
    {
      ...{ of, inputs, far, seen: SEEN, bounds: { f32: SEEN / 10, f16: SEEN / 10 } },
      mistaken: (mistake) => far(inputs.map((input) => of.reference(weights, input, mistake))),
      async llama(peers) {
        const tokens = inputs.map(({ tokens }) => tokens)
        const found = far(await llamaVectors(peers, of, weights, tokens))
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
  const asked = (mistake?: string) => of.pairs.map((pair) => share(of.reference(weights, pair, mistake)[0]!))
  const truth = asked()
  const apart = (told: readonly number[], against = truth) => ({
    worst: Math.max(...told.map((score, i) => Math.abs(score - against[i]!))),
  })
  await check(
    {
      ...{ of, inputs: of.pairs, seen: 10 * SCORES, bounds: { f32: SCORES / 100, f16: SCORES / 100 } },
      far: (told) => apart(told.map((scores) => share(scores[0]!))),
      mistaken: (mistake) => apart(asked(mistake)),
      async llama(peers) {
        const tokens = of.pairs.map(({ tokens }) => tokens)
        const found = apart(await llamaScores(peers, of, weights, tokens), asked(of.peerMistake))
        return { ...found, bound: SCORES, good: found.worst < SCORES }
      },
    },
    options,
  )
}
