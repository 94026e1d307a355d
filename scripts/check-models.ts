/**
 * Whether the definitions of architectures in `scripts/models` hold: each in float64 against llama.cpp on the same made-up
 * model, and against itself with one usual mistake in it; and whether our core is where they are, on the processor and on a
 * GPU in software, in every form of weights, however its sequences are fed.
 */
import process from 'node:process'
import { Command } from 'commander'
import { openCpuDevice } from '../src/engines/webgpu/cpu/index.js'
import { loadEncoderPlanned, planEncoderLoad } from '../src/engines/webgpu/encoders/load-encoder.js'
import { type CrossCase, RERANKERS } from './models/encoders/cross.js'
import { NO, YES } from './models/encoders/decoders.js'
import { distance, type EncoderCase, type Input, inputsOf } from './models/encoders/encoder-case.js'
import { ENCODERS } from './models/encoders/index.js'
import { encoderSource, encoderWeights } from './models/encoders/source.js'
import { CASES } from './models/families/index.js'
import { answerOf, compare, retold, type Verdict } from './models/judge.js'
import { llamaCpp, llamaScores, llamaVectors } from './models/llama-cpp.js'
import { checkOurCore, FORMS, type FormName } from './models/our-core.js'
import { weightsOf } from './models/weights.js'

/** llama.cpp computes in f32, gelu from a table of f16: so far it may be from float64, in nats. */
const BOUND = 2e-3
/** What a mistake must move the log probabilities by, else nothing would find it. */
const VISIBLE = 10 * BOUND

const tally = { passed: 0, failed: 0 }

function report(name: string, { wrongTokens, rms, worst }: Verdict, good: boolean): void {
  tally[good ? 'passed' : 'failed']++
  const figures = `${wrongTokens} other tokens, rms ${rms.toExponential(1)}, worst ${worst.toExponential(1)} nats`
  console.log(`${good ? 'ok  ' : 'FAIL'} ${name}: ${figures}`)
}

/** llama.cpp computes BERT's gelu as tanh does, some of it in f16. */
const COSINE = 0.9999
/** What a mistake must move some number of a vector of length one by. Ours are held to a tenth of it. */
const SEEN = 3e-5

/** On the CPU, in f32, all in one call; scores where its files say so, or its name does. */
async function ourVectors(of: EncoderCase, inputs: readonly Input[]): Promise<readonly ArrayLike<number>[]> {
  const device = await openCpuDevice({ threads: 1 })
  const judges = of.name === 'qwen3 reranker'
  const { sentence, ...source } = encoderSource(of, 'f32', (name) => (judges ? `model.${name}` : name))
  const whole = sentence ? { ...source, sentence } : source
  const plan = planEncoderLoad(whole, device, { name: judges ? 'Qwen/Qwen3-Reranker-0.6B' : of.name })
  const model = await loadEncoderPlanned(device, whole, plan, judges ? { words: [YES, NO] } : {})
  try {
    return await model.vectors(inputs)
  } finally {
    await model.close()
    device.destroy()
  }
}

/** Vectors of texts of several lengths. */
async function checkEncoder(of: EncoderCase, peers: string | undefined): Promise<void> {
  const weights = encoderWeights(of)
  const inputs = inputsOf(of)
  const truth = inputs.map((input) => of.reference(weights, input))
  const judged = (
    name: string,
    told: readonly ArrayLike<number>[],
    good: (cosine: number, worst: number) => boolean,
  ) => {
    const far = truth.map((vector, i) => distance(vector, told[i]!))
    const cosine = Math.min(...far.map((one) => one.cosine))
    const worst = Math.max(...far.map((one) => one.worst))
    const passed = good(cosine, worst)
    tally[passed ? 'passed' : 'failed']++
    console.log(
      `${passed ? 'ok  ' : 'FAIL'} ${of.name} ${name}: cosine ${cosine.toFixed(7)}, worst ${worst.toExponential(1)}`,
    )
  }
  if (peers && of.gguf) {
    const told = await llamaVectors(
      peers,
      of,
      weights,
      inputs.map(({ tokens }) => tokens),
    )
    judged('in float64 and by llama.cpp', told, (cosine) => cosine > COSINE)
  }
  judged('in float64 and by our core', await ourVectors(of, inputs), (_, worst) => worst < SEEN / 10)
  for (const mistake of of.mistakes) {
    const told = inputs.map((input) => of.reference(weights, input, mistake))
    judged(`that ${mistake} is found out`, told, (_, worst) => worst > SEEN)
  }
}

/** llama.cpp's gelu is that of tanh, from a table of f16. Ours are held to float64 by a hundredth of it. */
const SCORES = 2e-3

/** Scores of pairs, between 0 and 1. */
async function checkReranker(of: CrossCase, peers: string | undefined): Promise<void> {
  const weights = encoderWeights(of)
  const asked = (mistake?: string) =>
    of.pairs.map((pair) => 1 / (1 + Math.exp(-of.reference(weights, pair, mistake)[0]!)))
  const truth = asked()
  const judged = (
    name: string,
    told: readonly number[],
    against: readonly number[],
    good: (far: number) => boolean,
  ) => {
    const far = Math.max(...told.map((score, i) => Math.abs(score - against[i]!)))
    const passed = good(far)
    tally[passed ? 'passed' : 'failed']++
    console.log(`${passed ? 'ok  ' : 'FAIL'} ${of.name} ${name}: worst ${far.toExponential(1)}`)
  }
  if (peers && of.gguf) {
    const told = await llamaScores(
      peers,
      of,
      weights,
      of.pairs.map(({ tokens }) => tokens),
    )
    judged('in float64 and by llama.cpp', told, asked(of.peerMistake), (far) => far < SCORES)
  }
  const ours = (await ourVectors(of, of.pairs)).map((scores) => 1 / (1 + Math.exp(-scores[0]!)))
  judged('in float64 and by our core', ours, truth, (far) => far < SCORES / 100)
  for (const mistake of of.mistakes) {
    judged(`that ${mistake} is found out`, asked(mistake), truth, (far) => far > 10 * SCORES)
  }
}

interface Options {
  readonly peers?: string
  readonly tokens: string
  readonly device: ('cpu' | 'webgpu')[]
  readonly form: FormName[]
}

await new Command('check:models')
  .argument('[architectures...]', 'only these')
  .option('--peers <folder>', 'where node-llama-cpp is installed')
  .option('--tokens <n>', 'how many are generated', '128')
  .option('--device <name...>', 'where our core runs: cpu, webgpu (SwiftShader), none', ['cpu', 'webgpu'])
  .option('--form <name...>', `in what: ${FORMS.join(', ')}`, FORMS)
  .action(async (names: string[], { peers, tokens, device: devices, form: forms }: Options) => {
    for (const of of CASES) {
      if (names.length > 0 && !names.includes(of.name)) continue
      const weights = weightsOf(of)
      const count = Number(tokens)
      const answer = answerOf(of, weights, count)
      await checkOurCore(of, weights, answer, { devices, forms, count, report })
      if (peers && of.gguf) {
        const told = await llamaCpp(peers, of, weights, answer.tokens.slice(0, -1), count)
        const theirs = told.map((shares) => (token: number) => Math.log(shares.get(token) ?? 0))
        const verdict = compare(answer.logprobs, theirs)
        report(`${of.name} in float64 and by llama.cpp`, verdict, verdict.wrongTokens === 0 && verdict.worst < BOUND)
      }
      for (const mistake of of.mistakes) {
        const told = retold(of, weights, answer, mistake).map((logprobs) => (token: number) => logprobs[token]!)
        const verdict = compare(answer.logprobs, told)
        report(`${of.name} that ${mistake} is found out`, verdict, verdict.worst > VISIBLE)
      }
    }
    for (const of of ENCODERS) {
      if (names.length > 0 && !names.includes(of.name)) continue
      await checkEncoder(of, peers)
    }
    for (const of of RERANKERS) {
      if (names.length > 0 && !names.includes(of.name)) continue
      await checkReranker(of, peers)
    }
  })
  .parseAsync()
console.log(`${tally.passed} passed, ${tally.failed} failed`)
// llama.cpp keeps threads that would keep the process.
process.exit(tally.failed > 0 ? 1 : 0)
