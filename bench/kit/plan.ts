/** What the kit does, part by part; each in a process of its own, with a time limit of its own. */
import type { Settings } from '../../src/bench/scenarios/scenario.js'

/** All of these take their GPU from test/support/swiftshader.ts, which the kit replaces. */
export const TEST_FILES = [
  'src/engines/webgpu/operations/project.test.ts',
  'src/engines/webgpu/operations/blocks.test.ts',
  'src/engines/webgpu/gpu/half.test.ts',
  'src/engines/webgpu/operations/attention.test.ts',
  'src/engines/webgpu/operations/sample.test.ts',
  'src/engines/webgpu/operations/twins.test.ts',
  'src/engines/webgpu/operations/overflow.test.ts',
  'src/engines/webgpu/operations/rows.test.ts',
  'src/engines/webgpu/operations/growing.test.ts',
  'src/engines/webgpu/model/decoder.test.ts',
  'src/engines/webgpu/model/kept-on-gpu.test.ts',
  'src/engines/webgpu/architectures/families.test.ts',
  'src/engines/webgpu/encoders/blocks.test.ts',
  'src/engines/webgpu/encoders/encoders.test.ts',
  'src/engines/webgpu/encoders/gguf.test.ts',
  'src/engines/webgpu/core.test.ts',
  'src/engines/webgpu/gpu/device.test.ts',
] as const

export type Job =
  | { readonly kind: 'tests'; readonly file: number; readonly names: string }
  | { readonly kind: 'answers'; readonly requests: number }
  | {
      readonly kind: 'bench'
      readonly model: string
      readonly cacheTokens: number
      readonly settings: Partial<Settings>
    }
  | {
      readonly kind: 'profile'
      readonly model: string
      readonly steps: number
      readonly runs: readonly { readonly prompt: number; readonly batch: number }[]
    }

export interface Part {
  readonly name: string
  readonly seconds: number
  /** Kept for it, whatever the parts before it take. */
  readonly least: number
  readonly job: Job
}

/** All of it, tables and files included. */
export const MINUTES = 8

/** Of a part's seconds, so many are for what is under way when it should end, and for telling of it. */
export const ENDING = 15

/** The seconds of the first of `parts` when so many are left for all of them. */
export function limitOf([part, ...later]: readonly Pick<Part, 'seconds' | 'least'>[], left: number): number {
  return Math.min(part!.seconds, left - later.reduce((sum, { least }) => sum + least, 0))
}

const MODELS = ['made-up/Llama-3.2-1B-like', 'made-up/SmolLM2-135M-like']
const PROMPTS = [512, 4096]
const BATCHES = [1, 8]

/** The processor has been tried everywhere else, and its tests would take the time of those that need the GPU. */
const ON_GPU = "^(?!.* on ('|the )?(cpu|CPU))"
/** The way of cutting the work that a GPU in software is quick at, and the files that need few compiled kernels. */
const IN_SOFTWARE = 'cut for software'
const QUICK_FILES = /(attention|sample|decoder)\.test/

/** `quick`: small shapes and few tests, for a GPU in software. */
export function plan(quick: boolean): Part[] {
  return [
    ...TEST_FILES.flatMap((path, file): Part[] => {
      if (quick && !QUICK_FILES.test(path)) return []
      const name = `tests of ${path.split('/').at(-1)!.replace('.test.ts', '')}`
      return [{ name, seconds: 100, least: 15, job: { kind: 'tests', file, names: quick ? IN_SOFTWARE : ON_GPU } }]
    }),
    { name: 'answers through /v1', seconds: 60, least: 15, job: { kind: 'answers', requests: quick ? 2 : 24 } },
    ...(quick ? quickMeasures() : MODELS.flatMap(measures)),
  ]
}

function measures(model: string): Part[] {
  const longest = Math.max(...PROMPTS)
  const settings: Partial<Settings> = {
    only: ['prompt', 'decode', 'json'],
    promptLengths: PROMPTS,
    batches: BATCHES,
    tokens: 64,
    rounds: 2,
    leastSeconds: 0,
  }
  // Prompts come out a little longer than asked for.
  const cacheTokens = Math.max(...BATCHES) * Math.ceil(longest * 1.1 + 128)
  const runs = PROMPTS.flatMap((prompt) => BATCHES.map((batch) => ({ prompt, batch })))
  return [
    { name: `bench of ${model}`, seconds: 100, least: 50, job: { kind: 'bench', model, cacheTokens, settings } },
    { name: `profile of ${model}`, seconds: 80, least: 50, job: { kind: 'profile', model, steps: 8, runs } },
  ]
}

function quickMeasures(): Part[] {
  const model = 'made-up/nano-like'
  const settings: Partial<Settings> = {
    only: ['prompt', 'decode'],
    promptLengths: [32],
    batches: [1],
    tokens: 4,
    rounds: 1,
    leastSeconds: 0,
  }
  return [
    { name: `bench of ${model}`, seconds: 100, least: 50, job: { kind: 'bench', model, cacheTokens: 512, settings } },
    {
      name: `profile of ${model}`,
      seconds: 100,
      least: 50,
      job: { kind: 'profile', model, steps: 1, runs: [{ prompt: 4, batch: 1 }] },
    },
  ]
}
